//! Templates held as text: what `templatefile` and `templatestring` render.
//!
//! A template sees its own variables and nothing else of the module. Source: Terraform `makeRenderTemplateFunc`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::Sources;
use ashlar_funcs::FuncError;
use ashlar_syntax::{Expr, is_identifier, parse_template};
use ashlar_value::{Dialect, Value};

use crate::{
    evaluate::{Eval, Functions, evaluate_plain},
    finder,
    forms::{arg_error, call_error},
};

/// A parsed template with the text it came from.
pub(crate) struct Template {
    expr: Expr,
    sources: Sources,
}

/// Parses a template; the error tells the first fault and its place.
pub(crate) fn parse(name: &str, text: &str) -> Result<Template, String> {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let (expr, diags) = parse_template(&sources, file);
    match diags.iter().find(|diag| diag.is_error()) {
        Some(diag) => Err(told(diag, &sources)),
        None => Ok(Template { expr, sources }),
    }
}

/// Renders a template with the variables of a known, unmarked map or object.
pub(crate) fn run(
    template: &Template,
    vars: &Value,
    caller: &Eval<'_>,
    functions: Functions,
) -> Result<Value, FuncError> {
    let Some(entries) = vars.as_entries() else {
        return Err(arg_error(1, "template variables are given as a map or an object"));
    };
    let names: &BTreeMap<Arc<str>, Value> = entries;
    if let Some(name) = names.keys().find(|name| !is_identifier(name)) {
        let why = "names begin with a letter and go on with letters, digits and underscores";
        return Err(arg_error(
            1,
            format!("{name:?} is no name for a template variable: {why}"),
        ));
    }
    for traversal in finder::traversals(&template.expr) {
        let root = &traversal.root;
        if !names.contains_key(&root.name) {
            let place = at(root.span, &template.sources);
            return Err(arg_error(
                1,
                format!(
                    "no value is given for {:?}, which the template uses{place}",
                    &*root.name
                ),
            ));
        }
    }
    let (value, diags) = evaluate_plain(&template.expr, names, caller, functions);
    if let Some(diag) = diags.iter().find(|diag| diag.is_error()) {
        return Err(call_error(told(diag, &template.sources)));
    }
    if value.is_null() && caller.dialect() == Dialect::Terraform {
        return Err(call_error("the template gives null, which is no result"));
    }
    Ok(value)
}

fn told(diag: &ashlar_diag::Diag, sources: &Sources) -> String {
    let place = diag.subject.map_or_else(String::new, |span| at(span, sources));
    format!("{diag}{place}")
}

fn at(span: ashlar_diag::Span, sources: &Sources) -> String {
    sources.place(span).map_or_else(String::new, |place| {
        format!(" (at {}:{},{})", place.file, place.start.line, place.start.column)
    })
}
