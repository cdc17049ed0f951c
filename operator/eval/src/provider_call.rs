//! Calls of providers' functions: `provider::NAME::FUNCTION`, NAME being what the module calls the provider.
//!
//! The provider is asked only what its signature allows: arguments of the parameters' types, without marks, neither null
//! nor unknown at any depth where the parameter takes no such. Rules: Terraform `providers/functions.go`, cty `function`,
//! `lang/eval.go`; OpenTofu `providers/functions.go`.

use std::sync::Arc;

use ashlar_addr::Provider;
use ashlar_diag::{Diag, Diags};
use ashlar_funcs::{Fault, FuncError};
use ashlar_syntax::{Call, Expr};
use ashlar_value::{
    Dialect, Marks, Value, convert,
    schema::{Function, ProviderSchema},
};

use crate::{
    call::{Arg, Parameters, bad_argument, placed},
    evaluate::{Eval, Frame},
    suggest::hint,
};

/// What the names of all these functions begin with.
pub(crate) const PREFIX: &str = "provider::";

/// A function that was found.
struct Found<'n> {
    provider: Provider,
    schema: Arc<ProviderSchema>,
    name: &'n str,
}

impl Found<'_> {
    fn signature(&self) -> Option<&Function> {
        self.schema.functions.get(self.name)
    }
}

impl Eval<'_> {
    pub(crate) fn provider_function(
        &self,
        expr: &Expr,
        call: &Call,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Option<Value> {
        let found = match self.find(&call.name.name) {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            Err(fault) => {
                let tolerated = self
                    .scope()
                    .is_some_and(|scope| scope.tolerates_unknown_functions());
                let fault = fault.at(call.name.span).within(expr.span);
                match self.dialect() {
                    _ if tolerated => {}
                    Dialect::Terraform => diags.push(fault),
                    // A fault of the reference, which `try` cannot make good.
                    Dialect::OpenTofu => self.refuse(fault),
                }
                return None;
            }
        };
        let signature = found.signature()?;
        let names = Parameters {
            names: signature.params.iter().map(|param| &*param.name).collect(),
            variadic: signature.variadic.as_ref().map(|param| &*param.name),
        };
        let args = self.arguments(expr, call, &names, frame, diags)?;
        let mut told = std::mem::take(diags).into_iter();
        let mut taken = 0;
        let mut values = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            // As with builtin functions, each argument's own faults come first.
            diags.extend(told.by_ref().take(arg.told.saturating_sub(taken)));
            taken = taken.max(arg.told);
            let param = signature.param(at)?;
            match convert(&arg.value, &param.ty) {
                Ok(value) => values.push(value),
                Err(error) => {
                    diags.push(bad_argument(expr, call, &param.name, &error.message, arg.start));
                }
            }
        }
        diags.extend(told);
        if diags.has_errors() {
            return None;
        }
        match self.ask(&found, signature, values) {
            Ok(value) => {
                let size = usize::try_from(value.own_size()).unwrap_or(usize::MAX);
                self.charge(size, expr.span, diags).then_some(value)
            }
            Err(error) => {
                let error = self.blamed(error, &found.provider);
                diags.push(placed(
                    &in_range(signature, error, &args),
                    expr,
                    call,
                    &names,
                    &args,
                ));
                None
            }
        }
    }

    /// Calls with arguments of the right types.
    fn ask(&self, found: &Found<'_>, signature: &Function, values: Vec<Value>) -> Result<Value, FuncError> {
        let params = || (0..values.len()).filter_map(|at| signature.param(at));
        let mut given = params().zip(&values).enumerate();
        if let Some((at, _)) = given.find(|(_, (param, value))| value.is_null() && !param.null) {
            return Err(FuncError {
                fault: Fault::Argument,
                arg: Some(at),
                message: "it must not be null".to_owned(),
            });
        }
        let unknown = params()
            .zip(&values)
            .any(|(param, value)| !param.unknown && !value.is_wholly_known());
        let mut marks = Marks::NONE;
        let bare: Vec<Value> = values
            .into_iter()
            .map(|value| {
                let (value, its_marks) = value.unmark_deep();
                marks = marks.union(its_marks);
                value
            })
            .collect();
        let result = if unknown {
            Value::unknown(signature.result.clone())
        } else {
            self.caps().call_provider(&found.provider, found.name, &bare)?
        };
        Ok(result.with_marks(marks))
    }

    /// OpenTofu takes a plugin's fault that blames no argument for one that blames the first.
    fn blamed(&self, error: FuncError, provider: &Provider) -> FuncError {
        match error.fault {
            Fault::Call if self.dialect() == Dialect::OpenTofu && !provider.is_builtin() => FuncError {
                fault: Fault::Argument,
                arg: Some(0),
                ..error
            },
            _ => error,
        }
    }

    /// The function that is called; `None` if it may yet turn out to be there.
    fn find<'n>(&self, name: &'n str) -> Result<Option<Found<'n>>, Diag> {
        let dialect = self.dialect();
        let rest = name.strip_prefix(PREFIX).unwrap_or(name);
        let parts: Vec<&str> = rest.split("::").collect();
        let (local, function) = match (&*parts, dialect) {
            ([local, function], _) => (*local, *function),
            // With the alias of a configuration; functions are the same in each.
            ([local, _, function], Dialect::OpenTofu) => (*local, *function),
            (_, Dialect::OpenTofu) => {
                let detail = format!(
                    "{name:?} is not of the form provider::NAME::FUNCTION or provider::NAME::ALIAS::FUNCTION."
                );
                return Err(Diag::error("Unable to parse provider function", detail));
            }
            (_, Dialect::Terraform) => {
                let detail = format!("{name:?} is not of the form provider::NAME::FUNCTION.");
                return Err(Diag::error("Unknown provider function", detail));
            }
        };
        let Some((provider, schema)) = self.scope().and_then(|scope| scope.provider(local)) else {
            let summary = match dialect {
                Dialect::Terraform => "Unknown provider function",
                Dialect::OpenTofu => "Unknown function provider",
            };
            let detail = format!(
                "This module's required_providers have no provider {local:?}. Add it there, with its source."
            );
            return Err(Diag::error(summary, detail));
        };
        let found = Found {
            provider,
            schema,
            name: function,
        };
        if found.signature().is_none() {
            // A provider of OpenTofu may offer more once it is configured.
            if dialect == Dialect::OpenTofu && self.scope().is_some_and(|scope| scope.is_early()) {
                return Ok(None);
            }
            let summary = match dialect {
                Dialect::Terraform => "Unknown provider function",
                Dialect::OpenTofu => "Function not found in provider",
            };
            let known = found.schema.functions.keys().map(|known| &**known);
            let detail = format!(
                "The provider {local:?} ({}) has no function {function:?}.{}",
                found.provider.for_display(),
                hint(function, known)
            );
            return Err(Diag::error(summary, detail));
        }
        Ok(Some(found))
    }
}

/// A provider may blame an argument that was not given; then the call as a whole is blamed.
fn in_range(signature: &Function, error: FuncError, args: &[Arg]) -> FuncError {
    match error.arg {
        Some(at) if signature.param(at).is_none() => FuncError {
            fault: Fault::Call,
            arg: None,
            ..error
        },
        Some(at) if at >= args.len() => FuncError { arg: None, ..error },
        _ => error,
    }
}
