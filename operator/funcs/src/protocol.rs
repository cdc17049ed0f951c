//! One table entry per function, and the one way to call it.
//!
//! [`call`] does what go-cty's `Function.Call` and HCL's call expression do around an implementation: arity, conversion to the
//! parameter's type, null, not-yet-known types, marks, unknown arguments, the refinement of the result. An entry
//! opts out by a flag of its [`Param`], never by checks of its own. Code in tables must not look at marks it was not given.
//!
//! What a result takes of the run's memory is charged here, once it is made. Code whose result can be far larger than its
//! arguments asks for the memory first, by [`Args::reserve`].

use std::{cell::Cell, fmt::Display};

use ashlar_value::{Data, Dialect, Mark, Marks, Number, Type, Value, convert, ops};

use crate::{Caps, Fault, FuncError, NoCaps};

/// What an element of a collection takes besides its own content, in bytes, for [`Args::reserve`].
pub(crate) const CELL: usize = 64;

/// A builtin function.
pub struct Builtin {
    /// What the language calls it.
    pub name: &'static str,
    /// One sentence for the manual.
    pub doc: &'static str,
    /// The one dialect that has the function, or has it like this; `None` means both.
    pub only: Option<Dialect>,
    /// The positional parameters.
    pub params: &'static [Param],
    /// The parameter that any further arguments are for.
    pub variadic: Option<Param>,
    /// The type of the result.
    pub result: Rule,
    /// Is the result certainly not null, also while unknown?
    pub not_null: bool,
    /// What the result depends on besides the arguments.
    pub purity: Purity,
    /// Expressions that are true.
    pub examples: &'static [&'static str],
    /// How the result is made.
    pub code: Code,
}

/// The beginning of most entries: nothing outside is used, the result is never null.
pub(crate) const PURE: Builtin = Builtin {
    name: "",
    doc: "",
    only: None,
    params: &[],
    variadic: None,
    result: Rule::Is(Ty::Any),
    not_null: true,
    purity: Purity::Pure,
    examples: &[],
    code: Code::Form,
};

/// A parameter. Without flags, null is refused, and an unknown argument or one of unknown type makes the result unknown
/// before the code runs; marks are taken off, inside and out, and put on the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name used in diagnostics.
    pub name: &'static str,
    /// Arguments are converted to this.
    pub ty: Ty,
    /// Null reaches the code.
    pub null: bool,
    /// Unknown values reach the code.
    pub unknown: bool,
    /// Values whose type is not known yet reach the code.
    pub dynamic: bool,
    /// Marks reach the code, which sees to them itself.
    pub marked: bool,
}

/// A parameter of any type.
pub(crate) const fn any(name: &'static str) -> Param {
    param(name, Ty::Any)
}

/// A string parameter.
pub(crate) const fn text(name: &'static str) -> Param {
    param(name, Ty::String)
}

/// A number parameter.
pub(crate) const fn number(name: &'static str) -> Param {
    param(name, Ty::Number)
}

/// A parameter of this type.
pub(crate) const fn param(name: &'static str, ty: Ty) -> Param {
    Param {
        name,
        ty,
        null: false,
        unknown: false,
        dynamic: false,
        marked: false,
    }
}

impl Param {
    pub(crate) const fn null(self) -> Self {
        Self { null: true, ..self }
    }

    pub(crate) const fn unknown(self) -> Self {
        Self {
            unknown: true,
            ..self
        }
    }

    pub(crate) const fn dynamic(self) -> Self {
        Self {
            dynamic: true,
            ..self
        }
    }

    pub(crate) const fn marked(self) -> Self {
        Self { marked: true, ..self }
    }
}

/// A type as tables write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `any`
    Any,
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `list(…)`
    List(&'static Ty),
    /// `set(…)`
    Set(&'static Ty),
    /// `map(…)`
    Map(&'static Ty),
}

impl Ty {
    /// The type itself.
    pub fn to_type(self) -> Type {
        match self {
            Ty::Any => Type::Dynamic,
            Ty::Bool => Type::Bool,
            Ty::Number => Type::Number,
            Ty::String => Type::String,
            Ty::List(element) => Type::list(element.to_type()),
            Ty::Set(element) => Type::set(element.to_type()),
            Ty::Map(element) => Type::map(element.to_type()),
        }
    }
}

/// The type of a function's result.
#[derive(Clone, Copy)]
pub enum Rule {
    /// Always this.
    Is(Ty),
    /// Worked out from arguments that may be unknown and then also refuses what can never work. Only asked where the
    /// code does not run, so the code has to refuse the same.
    By(fn(&Args<'_>) -> Result<Type, FuncError>),
}

/// What a result depends on besides the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purity {
    /// Nothing.
    Pure,
    /// Files, which must be the same when planning and applying.
    Files,
    /// The time of the plan.
    PlanTime,
    /// The clock or randomness: unknown while planning.
    Impure,
}

/// How the result is made.
#[derive(Clone, Copy)]
pub enum Code {
    /// By this function.
    Run(fn(&Args<'_>) -> Result<Value, FuncError>),
    /// By the evaluator, which needs the argument's expression (`try`, `can`, `convert`, `templatefile`, …).
    Form,
}

/// The arguments of one call, after the protocol has seen to them.
pub struct Args<'a> {
    values: &'a [Value],
    marks: &'a [Marks],
    caps: &'a dyn Caps,
    /// Bytes granted already.
    reserved: Cell<usize>,
}

impl<'a> Args<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// One of them. The protocol has checked that every positional parameter has its argument.
    pub(crate) fn get(&self, index: usize) -> &'a Value {
        &self.values[index]
    }

    /// All from this one on.
    pub(crate) fn rest(&self, from: usize) -> &'a [Value] {
        &self.values[from..]
    }

    /// A known string.
    pub(crate) fn text(&self, index: usize) -> Result<&'a str, FuncError> {
        match self.get(index).data() {
            Data::String(text) => Ok(text),
            _ => Err(FuncError::argument(index, "a known string is required")),
        }
    }

    /// A known number.
    pub(crate) fn number(&self, index: usize) -> Result<&'a Number, FuncError> {
        match self.get(index).data() {
            Data::Number(number) => Ok(number),
            _ => Err(FuncError::argument(index, "a known number is required")),
        }
    }

    /// A known whole number in the range of 64 bits.
    pub(crate) fn int(&self, index: usize) -> Result<i64, FuncError> {
        self.number(index)?.to_i64().ok_or_else(|| {
            FuncError::call(format!(
                "a whole number between {} and {} is required",
                i64::MIN,
                i64::MAX
            ))
        })
    }

    /// A known number as a 64-bit float.
    pub(crate) fn float(&self, index: usize) -> Result<f64, FuncError> {
        let number = self.number(index)?;
        let float = number.to_f64();
        if float.is_infinite() && !number.is_infinite() {
            return Err(FuncError::call(format!(
                "a number between -{0:e} and {0:e} is required",
                f64::MAX
            )));
        }
        Ok(float)
    }

    /// The marks that all arguments from this one on have on themselves.
    pub(crate) fn shallow_marks(&self, from: usize) -> Marks {
        self.rest(from)
            .iter()
            .fold(Marks::NONE, |marks, value| marks.union(value.marks()))
    }

    /// Asks for memory before it is taken: so many bytes more.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), FuncError> {
        self.reserved.set(self.reserved.get().saturating_add(bytes));
        if bytes == 0 || self.caps.grant(bytes) {
            Ok(())
        } else {
            Err(FuncError::memory())
        }
    }

    /// Asks for what a result takes beyond what was asked for before.
    fn charge(&self, result: &Value) -> Result<(), FuncError> {
        let size = usize::try_from(result.own_size()).unwrap_or(usize::MAX);
        self.reserve(size.saturating_sub(self.reserved.get()))
    }

    /// The outside.
    pub(crate) fn caps(&self) -> &'a dyn Caps {
        self.caps
    }

    /// Something taken from an argument, for a message: withheld if the argument is sensitive or ephemeral.
    pub(crate) fn show(&self, index: usize, shown: impl Display) -> String {
        let marks = self.marks[index];
        if marks.contains(Mark::Sensitive) {
            "(sensitive value)".to_owned()
        } else if marks.contains(Mark::Ephemeral) {
            "(ephemeral value)".to_owned()
        } else {
            shown.to_string()
        }
    }

    /// As [`Args::show`], in quotes.
    pub(crate) fn quote(&self, index: usize, shown: &str) -> String {
        self.show(index, format_args!("{shown:?}"))
    }
}

/// Is its type not known yet?
pub(crate) fn is_dynamic(value: &Value) -> bool {
    matches!(
        value.data(),
        Data::Null(Type::Dynamic) | Data::Unknown(Type::Dynamic, _)
    )
}

/// Calls a function. Several arguments may be wrong at once; otherwise there is one error.
pub fn call(builtin: &Builtin, args: &[Value], caps: &dyn Caps) -> Result<Value, Vec<FuncError>> {
    check_arity(builtin, args.len()).map_err(|error| vec![error])?;
    let values = convert_all(builtin, args)?;
    call_converted(builtin, values, caps).map_err(|error| vec![normalise(builtin, error, args.len())])
}

fn check_arity(builtin: &Builtin, given: usize) -> Result<(), FuncError> {
    let wanted = builtin.params.len();
    if let Some(missing) = builtin.params.get(given) {
        let least = if builtin.variadic.is_some() {
            "at least "
        } else {
            ""
        };
        return Err(FuncError {
            fault: Fault::TooFew,
            arg: None,
            message: format!(
                "{} takes {least}{wanted} argument(s); {:?} is missing",
                builtin.name, missing.name
            ),
        });
    }
    if builtin.variadic.is_none() && given > wanted {
        return Err(FuncError {
            fault: Fault::TooMany,
            arg: Some(wanted),
            message: format!("{} takes only {wanted} argument(s)", builtin.name),
        });
    }
    Ok(())
}

impl Builtin {
    /// Does the dialect have it?
    pub fn is_in(&self, dialect: Dialect) -> bool {
        self.only.is_none_or(|only| only == dialect)
    }

    /// The type of the result as far as it is known without arguments. As Terraform tells it, a function that needs the type
    /// of an argument for anything gives no certain type.
    pub fn result_type(&self) -> Type {
        let params: Vec<&Param> = self.params.iter().chain(&self.variadic).collect();
        let waits = params.iter().any(|param| param.ty == Ty::Any && !param.dynamic);
        if waits && matches!(self.code, Code::Run(_)) {
            return Type::Dynamic;
        }
        match self.result {
            Rule::Is(ty) => ty.to_type(),
            Rule::By(rule) => {
                let values: Vec<Value> = params
                    .iter()
                    .map(|param| Value::unknown(param.ty.to_type()))
                    .collect();
                let args = Args {
                    values: &values,
                    marks: &vec![Marks::NONE; values.len()],
                    caps: &NoCaps,
                    reserved: Cell::new(0),
                };
                rule(&args).unwrap_or(Type::Dynamic)
            }
        }
    }

    /// The parameter that the argument of this index is for, if there is one.
    pub fn param(&self, index: usize) -> Option<&Param> {
        self.params.get(index).or(self.variadic.as_ref())
    }
}

fn convert_all(builtin: &Builtin, args: &[Value]) -> Result<Vec<Value>, Vec<FuncError>> {
    let mut values = Vec::with_capacity(args.len());
    let mut errors = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        match builtin.param(index).map(|param| param.ty) {
            None | Some(Ty::Any) => values.push(arg.clone()),
            Some(ty) => match convert(arg, &ty.to_type()) {
                Ok(value) => values.push(value),
                Err(error) => errors.push(FuncError::argument(index, error.message)),
            },
        }
    }
    if errors.is_empty() {
        Ok(values)
    } else {
        Err(errors)
    }
}

fn call_converted(builtin: &Builtin, mut values: Vec<Value>, caps: &dyn Caps) -> Result<Value, FuncError> {
    let mut type_unknown = false;
    for (index, value) in values.iter().enumerate() {
        let Some(param) = builtin.param(index) else {
            continue;
        };
        if value.is_null() && !param.null {
            return Err(FuncError::argument(index, "argument must not be null"));
        }
        if is_dynamic(value) && !param.dynamic {
            type_unknown = true;
            break;
        }
        // A set that may yet lose members becomes a list of its own elements' type, whatever type was asked for.
        if let (false, Ty::List(element)) = (value.is_known(), param.ty) {
            let (wanted, got) = (element.to_type(), value.ty());
            if wanted != Type::Dynamic && got.element() != Some(&wanted) {
                let message = format!("a list of {} is required", wanted.friendly_name());
                // cty counts the arguments of a repeated parameter from its first here.
                let at = index.checked_sub(builtin.params.len()).unwrap_or(index);
                return Err(FuncError::argument(at, message));
            }
        }
    }
    let marks: Vec<Marks> = values.iter().map(Value::marks_deep).collect();
    let mut result_marks = Marks::NONE;
    let mut unknown = false;
    for (index, value) in values.iter_mut().enumerate() {
        let Some(param) = builtin.param(index) else {
            continue;
        };
        if !param.marked && !marks[index].is_empty() {
            result_marks = result_marks.union(marks[index]);
            *value = value.clone().unmark_deep().0;
        }
        unknown |= !value.is_known() && !param.unknown;
    }
    if type_unknown {
        return Ok(Value::dynamic().with_marks(result_marks));
    }
    let args = Args {
        values: &values,
        marks: &marks,
        caps,
        reserved: Cell::new(0),
    };
    let result = if unknown {
        Value::unknown(match builtin.result {
            Rule::Is(ty) => ty.to_type(),
            Rule::By(rule) => rule(&args)?,
        })
    } else {
        match builtin.code {
            Code::Run(run) => {
                let result = run(&args)?;
                args.charge(&result)?;
                result
            }
            Code::Form => {
                return Err(FuncError::call(format!(
                    "{} cannot be used as a plain function",
                    builtin.name
                )));
            }
        }
    };
    let result = if builtin.not_null {
        ops::refine_not_null(result)
    } else {
        result
    };
    Ok(result.with_marks(result_marks))
}

/// An index past the arguments given blames the whole call, or the function where no parameter has that index.
fn normalise(builtin: &Builtin, error: FuncError, given: usize) -> FuncError {
    match error.arg {
        Some(index) if builtin.param(index).is_none() => FuncError {
            fault: Fault::Call,
            arg: None,
            ..error
        },
        Some(index) if index >= given => FuncError { arg: None, ..error },
        _ => error,
    }
}
