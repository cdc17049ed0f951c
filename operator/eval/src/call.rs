//! Function calls.
//!
//! Arity first, then the arguments, then the call; a fault of the call is placed by the argument it blames. Rules:
//! hcl `FunctionCallExpr`. Forms that need expressions (`try`, …) are in `forms`.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_funcs::{Builtin, Code, Fault, FuncError, Purity};
use ashlar_syntax::{Call, Expr};
use ashlar_value::{Data, Dialect, Type, Value, convert, ops};

use crate::{
    evaluate::{Eval, Frame, Functions},
    provider_call::PREFIX,
    suggest::hint,
};

/// An argument: its value and the places to blame.
pub(crate) struct Arg {
    pub(crate) value: Value,
    pub(crate) start: Span,
    /// How many faults of the call were told once it was evaluated.
    pub(crate) told: usize,
}

impl Eval<'_> {
    pub(crate) fn call(&self, expr: &Expr, call: &Call, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        if self.functions == Functions::None {
            let detail = "Only constant values can stand here: no function calls.";
            diags.push(Diag::error("Function calls not allowed", detail).at(expr.span));
            return Value::dynamic();
        }
        let mut faults = Diags::new();
        let name = &*call.name.name;
        let builtin = ashlar_funcs::find(name, self.dialect()).filter(|builtin| self.offers(builtin));
        let result = if let Some(builtin) = builtin {
            if matches!(builtin.code, Code::Form) {
                self.form(builtin, expr, call, frame, &mut faults)
            } else {
                self.builtin(builtin, expr, call, frame, &mut faults)
            }
        } else if name.starts_with(PREFIX) {
            self.provider_function(expr, call, frame, &mut faults)
        } else {
            self.unknown_function(expr, call, &mut faults)
        };
        diags.extend(faults);
        result.unwrap_or_else(Value::dynamic)
    }

    fn builtin(
        &self,
        builtin: &'static Builtin,
        expr: &Expr,
        call: &Call,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Value> {
        let names = Parameters::of(builtin);
        let args = self.arguments(expr, call, &names, frame, diags)?;
        if diags.has_errors() {
            // The call is off, but arguments of a wrong type are still told, each after its own faults.
            let mut told = std::mem::take(diags).into_iter();
            let mut taken = 0;
            for (at, arg) in args.iter().enumerate() {
                diags.extend(told.by_ref().take(arg.told.saturating_sub(taken)));
                taken = taken.max(arg.told);
                let ty = builtin
                    .param(at)
                    .map_or(Type::Dynamic, |param| param.ty.to_type());
                if let Err(error) = convert(&arg.value, &ty) {
                    diags.push(bad_argument(expr, call, names.at(at), &error.message, arg.start));
                }
            }
            diags.extend(told);
            return None;
        }
        if let Some(error) = self.refused(builtin) {
            diags.push(placed(&error, expr, call, &names, &args));
            return None;
        }
        let values: Vec<Value> = args.iter().map(|arg| arg.value.clone()).collect();
        match ashlar_funcs::call(builtin, &values, self.caps()) {
            Ok(value) => Some(value),
            Err(errors) => {
                if errors.iter().any(|error| error.fault == Fault::Memory) {
                    self.exhaust();
                }
                diags.extend(
                    errors
                        .iter()
                        .map(|error| placed(error, expr, call, &names, &args)),
                );
                None
            }
        }
    }

    /// `type` is only for consoles, and a console plans nothing.
    fn offers(&self, builtin: &Builtin) -> bool {
        let console = self.scope().is_some_and(|scope| scope.is_console());
        match builtin.name {
            "type" => console,
            "plantimestamp" => !console,
            _ => true,
        }
    }

    /// Functions that templates must not call. In OpenTofu they may call all.
    pub(crate) fn refused(&self, builtin: &Builtin) -> Option<FuncError> {
        let template = matches!(builtin.name, "templatefile" | "templatestring");
        let message = match self.functions {
            Functions::TemplateFile | Functions::TemplateString if template => {
                format!(
                    "{} cannot be called inside a template that another template function renders",
                    builtin.name
                )
            }
            Functions::TemplateString if builtin.purity == Purity::Files => {
                format!(
                    "{} reads files, which templates of templatestring cannot; pass its result as a template variable",
                    builtin.name
                )
            }
            _ => return None,
        };
        Some(FuncError {
            fault: Fault::Call,
            arg: None,
            message,
        })
    }

    /// Checks the number of arguments and evaluates them; `None` after a fault that makes going on useless.
    pub(crate) fn arguments(
        &self,
        expr: &Expr,
        call: &Call,
        names: &Parameters<'_>,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Vec<Arg>> {
        let mut plain: &[Expr] = &call.args;
        let mut expanded = Vec::new();
        if call.expand_last
            && let Some((last, before)) = call.args.split_last()
        {
            plain = before;
            expanded = self.expand(expr, last, frame, diags)?;
        }
        names.check(
            expr,
            call,
            plain,
            expanded.len(),
            || expanded.first().map(|arg| arg.start),
            diags,
        )?;
        let mut args: Vec<Arg> = plain
            .iter()
            .map(|arg| Arg {
                value: self.expr(arg, frame, diags),
                start: arg.start(),
                told: diags.iter().count(),
            })
            .collect();
        args.append(&mut expanded);
        Some(args)
    }

    /// The elements that `last...` stands for; `None` if they are not known, or at fault.
    pub(crate) fn expand(
        &self,
        expr: &Expr,
        last: &Expr,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Vec<Arg>> {
        let mut faults = Diags::new();
        let value = self.expr(last, frame, &mut faults);
        let failed = faults.has_errors();
        diags.extend(faults);
        if failed {
            return None;
        }
        let ty = value.ty();
        let (value, marks) = value.unmark();
        let why = match (&ty, value.is_null()) {
            (Type::Tuple(_) | Type::List(_) | Type::Set(_) | Type::Dynamic, false) => {
                if !value.is_known() {
                    return None;
                }
                let args = ops::elements(&value);
                return Some(
                    args.map(|(_, item)| Arg {
                        value: item.with_marks(marks),
                        start: last.span,
                        told: 0,
                    })
                    .collect(),
                );
            }
            (Type::Tuple(_) | Type::List(_) | Type::Set(_) | Type::Dynamic, true) => "it is null",
            _ => "it is none of these",
        };
        let detail = format!("The argument before ... must be a list, a set or a tuple; {why}.");
        diags.push(
            Diag::error("Invalid expanding argument value", detail)
                .at(last.span)
                .within(expr.span),
        );
        None
    }

    fn unknown_function(&self, expr: &Expr, call: &Call, diags: &mut Diags) -> Option<Value> {
        let name = &*call.name.name;
        let blame = |summary, detail| Diag::error(summary, detail).at(call.name.span).within(expr.span);
        let dialect = self.dialect();
        let all = || ashlar_funcs::all().filter(move |builtin| builtin.is_in(dialect));
        let (summary, plain) = match name.rsplit_once("::") {
            None => ("Call to unknown function", Some(name)),
            Some(("core", function)) if dialect == Dialect::OpenTofu => {
                ("Call to unknown function", Some(function))
            }
            Some(("core", function)) => ("Unknown provider function", Some(function)),
            Some(_) if dialect == Dialect::OpenTofu => ("Unknown function namespace", None),
            Some(_) => ("Unknown provider function", None),
        };
        if let Some(function) = plain.filter(|function| {
            let has = |dialect| ashlar_funcs::find(function, dialect).is_some();
            !has(dialect) && has(dialect.other())
        }) {
            let other = dialect.other();
            let word = other.name().to_lowercase();
            let detail = format!(
                "The function {function:?} is one of {other}'s, and this module is read as {dialect} reads it. To have it read as \
                 {other} does, set spec.dialect: {other} (or --dialect {word} on the command line)."
            );
            diags.push(blame(summary, detail));
            return None;
        }
        let Some((namespace, function)) = name.rsplit_once("::") else {
            let known = all()
                .filter(|builtin| self.offers(builtin))
                .map(|builtin| builtin.name);
            let detail = format!("There is no function named {name:?}.{}", hint(name, known));
            diags.push(blame("Call to unknown function", detail));
            return None;
        };
        if namespace == "core" {
            let known = all().map(|builtin| builtin.name);
            let detail = format!(
                "There is no builtin function named {function:?}.{}",
                hint(function, known)
            );
            diags.push(blame(summary, detail));
            return None;
        }
        if self
            .scope()
            .is_some_and(|scope| scope.tolerates_unknown_functions())
        {
            return None;
        }
        let detail = format!(
            "{namespace:?} is no namespace of functions. Those of providers begin with \"{PREFIX}\"."
        );
        diags.push(blame(summary, detail));
        None
    }
}

/// The names of a function's parameters.
pub(crate) struct Parameters<'n> {
    pub(crate) names: Vec<&'n str>,
    pub(crate) variadic: Option<&'n str>,
}

impl<'n> Parameters<'n> {
    pub(crate) fn of(builtin: &Builtin) -> Parameters<'static> {
        Parameters {
            names: builtin.params.iter().map(|param| param.name).collect(),
            variadic: builtin.variadic.as_ref().map(|param| param.name),
        }
    }

    pub(crate) fn at(&self, at: usize) -> &'n str {
        self.names.get(at).copied().or(self.variadic).unwrap_or_default()
    }

    /// Is the number of arguments right? `None` if not, which is then told.
    pub(crate) fn check(
        &self,
        expr: &Expr,
        call: &Call,
        plain: &[Expr],
        expanded: usize,
        first_expanded: impl FnOnce() -> Option<Span>,
        diags: &mut Diags,
    ) -> Option<()> {
        let name = &*call.name.name;
        let given = plain.len() + expanded;
        let wanted = self.names.len();
        let blame =
            |fault: Fault, detail, span| Diag::error(fault.summary(), detail).at(span).within(expr.span);
        // As in hcl, a wrong number of arguments hides faults of the expanded argument.
        if let Some(missing) = self.names.get(given) {
            let least = if self.variadic.is_some() { "at least " } else { "" };
            let detail =
                format!("{name} takes {least}{wanted} arguments; the argument {missing:?} is missing.");
            *diags = Diags::from(blame(Fault::TooFew, detail, call.close));
            return None;
        }
        if self.variadic.is_none() && given > wanted {
            let span = plain
                .get(wanted)
                .map(Expr::start)
                .or_else(first_expanded)
                .unwrap_or(expr.span);
            let detail = format!("{name} takes only {wanted} arguments.");
            *diags = Diags::from(blame(Fault::TooMany, detail, span));
            return None;
        }
        Some(())
    }
}

/// A failed call as a diagnostic.
pub(crate) fn placed(
    error: &FuncError,
    expr: &Expr,
    call: &Call,
    names: &Parameters<'_>,
    args: &[Arg],
) -> Diag {
    match (error.fault, error.arg) {
        (Fault::Argument, Some(at)) => {
            let start = args.get(at).map_or(expr.span, |arg| arg.start);
            bad_argument(expr, call, names.at(at), &error.message, start)
        }
        (Fault::Argument, None) => bad_argument(
            expr,
            call,
            names.variadic.unwrap_or_default(),
            &error.message,
            expr.span,
        ),
        (fault, _) => {
            let detail = format!("The call of {} failed: {}.", &*call.name.name, error.message);
            Diag::error(fault.summary(), detail)
                .at(expr.start())
                .within(expr.span)
        }
    }
}

pub(crate) fn bad_argument(expr: &Expr, call: &Call, param: &str, why: &str, span: Span) -> Diag {
    let detail = format!(
        "The argument {param:?} of {} does not suit: {why}.",
        &*call.name.name
    );
    Diag::error(Fault::Argument.summary(), detail)
        .at(span)
        .within(expr.span)
}

/// Is it a value of which not even the type is known?
pub(crate) fn is_dynamic_unknown(value: &Value) -> bool {
    matches!(value.data(), Data::Unknown(Type::Dynamic, _))
}
