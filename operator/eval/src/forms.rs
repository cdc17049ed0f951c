//! Calls that need the expression of an argument, not only its value: `try`, `can`, `convert`, `templatefile`,
//! `templatestring`.
//!
//! Arity and names of parameters come from the tables of `ashlar-funcs`, so the manual lists them too. Rules: hcl
//! `ext/tryfunc`, Terraform `lang/funcs`.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_funcs::{Builtin, Fault, FuncError};
use ashlar_syntax::{Call, Expr, ExprKind};
use ashlar_value::{Dialect, Marks, Type, Value, convert, ops};

use crate::{
    call::{Arg, Parameters, is_dynamic_unknown, placed},
    console,
    constraint::type_constraint,
    evaluate::{Eval, Frame, Functions},
    render,
};

/// A fault of the call as a whole.
pub(crate) fn call_error(message: impl Into<String>) -> FuncError {
    FuncError {
        fault: Fault::Call,
        arg: None,
        message: message.into(),
    }
}

/// A fault of one argument.
pub(crate) fn arg_error(at: usize, message: impl Into<String>) -> FuncError {
    FuncError {
        fault: Fault::Argument,
        arg: Some(at),
        message: message.into(),
    }
}

/// What a form that has no value has instead.
enum Failure {
    /// Told already.
    Told,
    /// To be placed at the call.
    Func(FuncError),
}

impl From<FuncError> for Failure {
    fn from(error: FuncError) -> Self {
        Failure::Func(error)
    }
}

impl Eval<'_> {
    pub(crate) fn form(
        &self,
        builtin: &Builtin,
        expr: &Expr,
        call: &Call,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Value> {
        let names = Parameters::of(builtin);
        let args = self.form_arguments(&names, expr, call, frame, diags)?;
        let result = match builtin.name {
            "try" => self.try_form(&args, frame).map_err(Failure::Func),
            "can" => Ok(self.can_form(&args, frame)),
            "convert" => self.convert_form(&args, frame, diags),
            "templatefile" => self.templatefile(builtin, &args, frame, diags),
            "templatestring" => match self.dialect() {
                Dialect::Terraform => self.templatestring(builtin, &args, frame, diags),
                Dialect::OpenTofu => self.template_of_any_string(&args, frame, diags),
            },
            _ => Ok(self.type_form(&args, frame, diags)),
        };
        match result {
            Ok(value) => Some(value),
            Err(Failure::Told) => None,
            Err(Failure::Func(error)) => {
                let places: Vec<Arg> = args
                    .iter()
                    .map(|arg| Arg {
                        value: Value::dynamic(),
                        start: arg.start(),
                        told: 0,
                    })
                    .collect();
                diags.push(placed(&error, expr, call, &names, &places));
                None
            }
        }
    }

    /// The arguments, not evaluated but for an expanded last one.
    fn form_arguments<'c>(
        &self,
        names: &Parameters<'_>,
        expr: &Expr,
        call: &'c Call,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Vec<Given<'c>>> {
        let mut given: Vec<Given<'c>> = Vec::new();
        match call.args.split_last().filter(|_| call.expand_last) {
            None => {
                names.check(expr, call, &call.args, 0, || None, diags)?;
                given.extend(call.args.iter().map(Given::Written));
            }
            Some((last, before)) => {
                let expanded = self.expand(expr, last, frame, diags)?;
                names.check(expr, call, before, expanded.len(), || Some(last.span), diags)?;
                given.extend(before.iter().map(Given::Written));
                given.extend(
                    expanded
                        .into_iter()
                        .map(|arg| Given::Expanded(arg.value, last.span)),
                );
            }
        }
        Some(given)
    }

    fn given(&self, arg: &Given<'_>, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        match arg {
            Given::Written(expr) => self.expr(expr, frame, diags),
            Given::Expanded(value, _) => value.clone(),
        }
    }

    /// The first expression without a fault. What is not wholly known may yet fail, so nothing is promised of it.
    fn try_form(&self, args: &[Given<'_>], frame: &Frame<'_>) -> Result<Value, FuncError> {
        if args.is_empty() {
            return Err(call_error("at least one argument is required"));
        }
        let mut faults = Diags::new();
        for arg in args {
            let mut diags = Diags::new();
            let value = self.given(arg, frame, &mut diags);
            if !diags.has_errors() {
                return Ok(if value.is_wholly_known() {
                    value
                } else {
                    Value::dynamic()
                });
            }
            faults.extend(diags);
        }
        let mut message = "no expression succeeded:".to_owned();
        for fault in &faults {
            message.push_str("\n- ");
            message.push_str(&fault.summary);
            if !fault.detail.is_empty() {
                message.push_str("\n  ");
                message.push_str(&fault.detail);
            }
        }
        message.push_str("\n\nOne expression at least must give a result");
        Err(call_error(message))
    }

    fn type_form(&self, args: &[Given<'_>], frame: &Frame<'_>, diags: &mut Diags) -> Value {
        args.first().map_or_else(Value::dynamic, |arg| {
            console::type_of(&self.given(arg, frame, diags))
        })
    }

    fn can_form(&self, args: &[Given<'_>], frame: &Frame<'_>) -> Value {
        let mut diags = Diags::new();
        let Some(arg) = args.first() else {
            return Value::bool(false);
        };
        let value = self.given(arg, frame, &mut diags);
        if diags.has_errors() {
            Value::bool(false)
        } else if value.is_wholly_known() {
            Value::bool(true)
        } else {
            Value::unknown(Type::Bool)
        }
    }

    fn convert_form(
        &self,
        args: &[Given<'_>],
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Result<Value, Failure> {
        let [value, ty] = args else {
            return Err(Failure::Told);
        };
        let value = self.given(value, frame, diags);
        let constraint = match ty {
            Given::Written(expr) => diags.take(type_constraint(expr)),
            Given::Expanded(_, span) => {
                diags.push(
                    Diag::error("Invalid type specification", "A type is written, not computed.").at(*span),
                );
                None
            }
        };
        let Some((ty, defaults)) = constraint.filter(|_| !diags.has_errors()) else {
            return Err(Failure::Told);
        };
        // The protocol takes marks off, inside and out, and puts all of them on the result.
        let (value, marks) = value.unmark_deep();
        if !value.is_known() {
            return Ok(Value::unknown(ty.without_optional()).with_marks(marks));
        }
        let mut value = convert(&value, &ty).map_err(|error| arg_error(0, error.message))?;
        if let Some(defaults) = &defaults {
            value = defaults.apply(&value);
        }
        Ok(value.with_marks(marks))
    }

    /// Evaluates an argument that is a plain value; null is refused.
    fn plain(
        &self,
        at: usize,
        arg: &Given<'_>,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Result<Value, Failure> {
        let mut faults = Diags::new();
        let value = self.given(arg, frame, &mut faults);
        let failed = faults.has_errors();
        diags.extend(faults);
        if failed {
            return Err(Failure::Told);
        }
        if value.is_null() {
            return Err(arg_error(at, "argument must not be null").into());
        }
        Ok(value)
    }

    fn templatefile(
        &self,
        builtin: &Builtin,
        args: &[Given<'_>],
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Result<Value, Failure> {
        let [path, vars] = args else {
            return Err(Failure::Told);
        };
        // Both arguments are evaluated and converted before either is judged.
        let path = self.given(path, frame, diags);
        let path = convert(&path, &Type::String).map_err(|error| arg_error(0, error.message))?;
        let vars = self.given(vars, frame, diags);
        if diags.has_errors() {
            return Err(Failure::Told);
        }
        for (at, value) in [&path, &vars].into_iter().enumerate() {
            if value.is_null() {
                return Err(arg_error(at, "argument must not be null").into());
            }
            if is_dynamic_unknown(value) {
                return Ok(Value::dynamic());
            }
        }
        if let Some(error) = self.refused(builtin) {
            return Err(error.into());
        }
        let path_marks = path.marks();
        let (vars, vars_marks) = vars.unmark_deep();
        if !path.is_known() || !vars.is_known() {
            return Ok(Value::dynamic().with_marks(path_marks.union(vars_marks)));
        }
        let text = self.read(&path)?;
        let (text, text_marks) = text.unmark();
        let name = path.as_str().map_or("", |path| &**path);
        let name = if path_marks.is_empty() {
            name
        } else {
            "(sensitive path)"
        };
        let source = text.as_str().map_or("", |text| &**text);
        let template = render::parse(name, source)
            .map_err(|why| call_error(format!("{name} is no valid template: {why}")))?;
        let functions = match self.dialect() {
            Dialect::Terraform => Functions::TemplateFile,
            Dialect::OpenTofu => Functions::All,
        };
        let value = render::run(&template, &vars, self, functions)?;
        Ok(value.with_marks(text_marks.union(vars_marks)))
    }

    /// OpenTofu's `templatestring`: the template is any string, may call any function and give a value of any type.
    fn template_of_any_string(
        &self,
        args: &[Given<'_>],
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Result<Value, Failure> {
        let [text, vars] = args else {
            return Err(Failure::Told);
        };
        let text = self.given(text, frame, diags);
        let text = convert(&text, &Type::String).map_err(|error| arg_error(0, error.message))?;
        let vars = self.given(vars, frame, diags);
        if diags.has_errors() {
            return Err(Failure::Told);
        }
        for (at, value) in [&text, &vars].into_iter().enumerate() {
            if value.is_null() {
                return Err(arg_error(at, "argument must not be null").into());
            }
        }
        let (text, text_marks) = text.unmark();
        let (vars, vars_marks) = vars.unmark_deep();
        let marks: Marks = text_marks.union(vars_marks);
        let Some(text) = text.as_str().filter(|_| vars.is_known()) else {
            return Ok(Value::dynamic().with_marks(marks));
        };
        let template = render::parse("<templatestring argument>", text)
            .map_err(|why| call_error(format!("it is no valid template: {why}")))?;
        let value = render::run(&template, &vars, self, Functions::All)?;
        Ok(value.with_marks(marks))
    }

    /// The file's text, by the builtin that reads files, with its checks.
    fn read(&self, path: &Value) -> Result<Value, FuncError> {
        let Some(file) = ashlar_funcs::find("file", self.dialect()) else {
            return Err(call_error("files cannot be read here"));
        };
        ashlar_funcs::call(file, std::slice::from_ref(path), self.caps()).map_err(|errors| {
            errors
                .into_iter()
                .next()
                .unwrap_or_else(|| call_error("the file cannot be read"))
        })
    }

    fn templatestring(
        &self,
        builtin: &Builtin,
        args: &[Given<'_>],
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Result<Value, Failure> {
        let [reference, vars] = args else {
            return Err(Failure::Told);
        };
        let vars = self.plain(1, vars, frame, diags)?;
        if let Some(error) = self.refused(builtin) {
            return Err(error.into());
        }
        let (vars, vars_marks) = vars.unmark_deep();
        if is_dynamic_unknown(&vars) {
            return Ok(Value::dynamic().with_marks(vars_marks));
        }
        let unknown = || ops::refine_not_null(Value::unknown(Type::String));
        if !vars.is_known() {
            return Ok(unknown().with_marks(vars_marks));
        }
        check_template_reference(reference)?;
        let mut faults = Diags::new();
        let template = self.given(reference, frame, &mut faults);
        if let Some(fault) = faults.iter().find(|fault| fault.is_error()) {
            return Err(arg_error(0, format!("the template cannot be had: {fault}")).into());
        }
        let (template, template_marks) = template.unmark();
        if !template.is_known() {
            return Ok(unknown().with_marks(vars_marks));
        }
        let Some(text) = template.as_str() else {
            return Err(arg_error(0, "a template is a string").into());
        };
        let template = render::parse("<templatestring argument>", text)
            .map_err(|why| arg_error(0, format!("it is no valid template: {why}")))?;
        let value = render::run(&template, &vars, self, Functions::TemplateString)?;
        let value = convert(&value, &Type::String)
            .map_err(|error| call_error(format!("the template gives no string: {}", error.message)))?;
        Ok(ops::refine_not_null(value).with_marks(template_marks.union(vars_marks)))
    }
}

/// An argument of a form.
enum Given<'c> {
    /// As an expression.
    Written(&'c Expr),
    /// As an element of an expanded last argument, with the place of that.
    Expanded(Value, Span),
}

impl Given<'_> {
    fn start(&self) -> Span {
        match self {
            Given::Written(expr) => expr.start(),
            Given::Expanded(_, span) => *span,
        }
    }
}

/// The template of `templatestring` must be a reference: people who write it in place mean a plain template.
fn check_template_reference(arg: &Given<'_>) -> Result<(), FuncError> {
    let mut inner = match arg {
        Given::Written(expr) => Some(*expr),
        Given::Expanded(..) => None,
    };
    let hint = match inner.map(|expr| &expr.kind) {
        Some(ExprKind::Wrap(_)) => "write the reference alone, without ${ }",
        Some(ExprKind::Template(_)) => "a template written in place needs no function: write it as a string",
        _ => "put the expression into a local value and refer to that",
    };
    while let Some(expr) = inner {
        inner = match &expr.kind {
            ExprKind::Traversal(_) => return Ok(()),
            ExprKind::Relative { source, .. } | ExprKind::Splat { source, .. } => Some(source),
            ExprKind::Index { collection, .. } => Some(collection),
            _ => None,
        };
    }
    Err(arg_error(
        0,
        format!("only a direct reference to a string held elsewhere is rendered; {hint}"),
    ))
}
