//! Evaluates a case and compares.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, FileId, Sources, Span};
use ashlar_eval::{Given, Variable, evaluate, evaluate_constant, evaluate_for_console, undeclared};
use ashlar_syntax::{Body, Expr, parse_expression, parse_file};
use ashlar_value::{Mark, Value};
use serde_json::{Map, Value as Json, json};

use crate::{
    expressions::{
        Case, Via,
        module::{Base, Module, Phase},
        shape,
    },
    report::Miss,
};

const HEAD: &str = "locals {\n  subject = ";

/// What came of a case.
struct Outcome {
    value: Option<Value>,
    /// Console text.
    text: Option<String>,
    diags: Diags,
    sources: Sources,
    main: FileId,
}

/// Does the case come out as recorded?
pub(crate) fn judge(base: &Base, case: &Case) -> Result<(), Miss> {
    let outcome = if case.group == "console" {
        console(base, case)
    } else {
        plan(base, case)
    };
    if case.result.get("crash").is_some() {
        return Ok(());
    }
    let got = told(base, case, &outcome);
    let expected = normal(&case.result);
    if same(&expected, &got, expected.get("unknown_paths").is_some()) {
        Ok(())
    } else {
        let details: String = outcome
            .diags
            .iter()
            .map(|diag| format!("\n           {diag}"))
            .collect();
        Err(Miss::new(
            format!("{expected}\n           {}", case.expr.escape_debug()),
            format!("{got}{details}"),
        ))
    }
}

fn plan(base: &Base, case: &Case) -> Outcome {
    let mut sources = Sources::new();
    let main = sources.add("main.tf", format!("{HEAD}{}\n}}\n", case.expr));
    let (body, mut diags) = parse_file(&sources, main);
    let locals = {
        let text: String = case
            .locals
            .iter()
            .map(|(name, text)| format!("  {name} = {text}\n"))
            .collect();
        let file = sources.add("locals.tf", format!("locals {{\n{text}}}\n"));
        let (body, faults) = parse_file(&sources, file);
        diags.extend(faults);
        entries(&body)
    };
    let value = run(base, case, &locals, subject(&body), &mut sources, &mut diags);
    Outcome {
        value,
        text: None,
        diags,
        sources,
        main,
    }
}

/// Reads the variables, validates, then plans; each only if nothing was wrong before.
fn run(
    base: &Base,
    case: &Case,
    locals: &BTreeMap<Arc<str>, Expr>,
    subject: Option<Expr>,
    sources: &mut Sources,
    diags: &mut Diags,
) -> Option<Value> {
    let variables = Variables::read(case, sources, diags)?;
    let subject = subject.filter(|_| !diags.has_errors())?;
    let mut value = None;
    for phase in [Phase::Validate, Phase::Plan] {
        let mut module = Module::new(base, phase, locals.clone());
        variables.set(&mut module, diags);
        if diags.has_errors() {
            return None;
        }
        diags.extend(undeclared::own_local("subject", &subject));
        if diags.has_errors() {
            return None;
        }
        let (got, faults) = evaluate(&subject, &module);
        diags.extend(module.told());
        diags.extend(faults);
        if diags.has_errors() {
            return None;
        }
        value = Some(got);
    }
    value
}

fn entries(body: &Body) -> BTreeMap<Arc<str>, Expr> {
    let items = body.blocks_of("locals").flat_map(|block| &block.body.attributes);
    items
        .map(|item| (item.name.name.clone(), item.expr.clone()))
        .collect()
}

fn subject(body: &Body) -> Option<Expr> {
    entries(body).remove("subject")
}

/// The variables of a case, and those of the base that it may give other values.
struct Variables {
    declared: BTreeMap<Arc<str>, Variable>,
    base: BTreeMap<Arc<str>, Variable>,
    given: BTreeMap<Arc<str>, Given>,
}

impl Variables {
    /// Reads declarations and the values given; `None` if something is wrong.
    fn read(case: &Case, sources: &mut Sources, diags: &mut Diags) -> Option<Self> {
        let file = sources.add("variables.tf", case.variables.clone().unwrap_or_default());
        let (body, faults) = parse_file(sources, file);
        diags.extend(faults);
        let mut declared: BTreeMap<Arc<str>, Variable> = BTreeMap::new();
        for block in body.blocks_of("variable") {
            if let Some(extra) = block.labels.get(1) {
                diags.push(Diag::error("Extraneous label for variable", "One label.").at(extra.span));
                continue;
            }
            let (variable, faults) = Variable::read(block);
            diags.extend(faults);
            let Some(variable) = variable else { continue };
            if declared.contains_key(&variable.name) {
                diags.push(
                    Diag::error("Duplicate variable declaration", "Declared already.").at(variable.declared),
                );
            }
            declared.insert(variable.name.clone(), variable);
        }
        if diags.has_errors() {
            return None;
        }
        let base = base_variables(sources);
        let given = given(case, &declared, &base, sources, diags);
        for (name, variable) in &declared {
            if variable.default.is_none() && !given.contains_key(name) {
                let detail = format!("{name} is not set.");
                diags.push(Diag::error("No value for required variable", detail).at(variable.declared));
            }
        }
        (!diags.has_errors()).then_some(Self {
            declared,
            base,
            given,
        })
    }

    /// Gives them their values, checked, or while validating their types alone.
    fn set(&self, module: &mut Module<'_>, diags: &mut Diags) {
        if module.phase == Phase::Validate {
            module.forget_values();
        }
        for variable in self.base.values().chain(self.declared.values()) {
            let given = self.given.get(&variable.name);
            if given.is_none() && !self.declared.contains_key(&variable.name) {
                continue;
            }
            if module.phase == Phase::Validate {
                let value = Value::unknown(variable.ty.without_optional());
                module.set(variable.name.clone(), variable.marked(value));
                for rule in &variable.validations {
                    diags.extend(rule.validate_early(module, variable.declared));
                }
                continue;
            }
            let (value, faults) = variable.value(given);
            let failed = faults.has_errors();
            diags.extend(faults);
            module.set(variable.name.clone(), variable.marked(value));
            if !failed {
                let place = given.and_then(|given| given.place).unwrap_or(variable.declared);
                for rule in &variable.validations {
                    diags.extend(rule.validate_variable(module, place));
                }
            }
        }
    }
}

/// The variables of the base that cases give other values.
fn base_variables(sources: &mut Sources) -> BTreeMap<Arc<str>, Variable> {
    let text = "variable \"str\" {\n  type = string\n  default = \"text\"\n}\nvariable \"names\" {\n  type = list(string)\n  \
                default = [\"ann\", \"bob\", \"cy\"]\n}\nvariable \"any\" {\n  type = any\n  default = { a = 1, b = [\"x\"] \
                }\n}\nvariable \"none\" {\n  type = string\n  default = null\n}\nvariable \"secret\" {\n  type = string\n  \
                sensitive = true\n  default = \"s3cr3t\"\n}\n";
    let file = sources.add("base.tf", text);
    let (body, _) = parse_file(sources, file);
    let read = body
        .blocks_of("variable")
        .filter_map(|block| Variable::read(block).0);
    read.map(|variable| (variable.name.clone(), variable)).collect()
}

fn given(
    case: &Case,
    declared: &BTreeMap<Arc<str>, Variable>,
    base: &BTreeMap<Arc<str>, Variable>,
    sources: &mut Sources,
    diags: &mut Diags,
) -> BTreeMap<Arc<str>, Given> {
    let mut given = BTreeMap::new();
    let of = |via: Via| case.inputs.iter().filter(move |(_, input)| input.via == via);
    let text: String = of(Via::Tfvars)
        .map(|(name, input)| format!("{name} = {}\n", input.text))
        .collect();
    let file = sources.add("terraform.tfvars", text);
    let (body, faults) = parse_file(sources, file);
    diags.extend(faults);
    for item in &body.attributes {
        let (value, faults) = evaluate_constant(&item.expr);
        let failed = faults.has_errors();
        diags.extend(faults);
        if !failed {
            given.insert(
                item.name.name.clone(),
                Given {
                    value,
                    place: Some(item.expr.span),
                },
            );
        }
    }
    for (name, input) in of(Via::Arg) {
        if let Some(variable) = declared.get(&**name).or_else(|| base.get(&**name)) {
            let (value, faults) = variable.parse_text(&input.text, sources);
            let failed = faults.has_errors();
            diags.extend(faults);
            if !failed {
                given.insert(variable.name.clone(), Given { value, place: None });
            }
        }
    }
    given
}

fn console(base: &Base, case: &Case) -> Outcome {
    let mut sources = Sources::new();
    let main = sources.add("<console-input>", case.expr.as_str());
    let (expr, mut diags) = parse_expression(&sources, main);
    let module = Module::new(base, Phase::Console, BTreeMap::new());
    let mut text = None;
    if !diags.has_errors() {
        let (shown, faults) = evaluate_for_console(&expr, &module);
        diags.extend(faults);
        text = Some(format!("{shown}\n"));
    }
    Outcome {
        value: None,
        text,
        diags,
        sources,
        main,
    }
}

/// What came out, in recorded form.
fn told(base: &Base, case: &Case, outcome: &Outcome) -> Json {
    let errors: Vec<&Diag> = outcome.diags.iter().filter(|diag| diag.is_error()).collect();
    if let Some((first, rest)) = errors.split_first() {
        let mut out = Map::new();
        out.insert("error".into(), error(case, first, outcome));
        if !rest.is_empty() {
            // The record holds each fault once, also where it was met for several elements.
            let mut more: Vec<Json> = Vec::new();
            for diag in rest {
                let next = error(case, diag, outcome);
                let told = |known: &Json| same_fault(case, known, &next);
                if !told(&out["error"]) && !more.iter().any(told) {
                    more.push(next);
                }
            }
            if !more.is_empty() {
                out.insert("more_errors".into(), Json::Array(more));
            }
        }
        // Newer records also say how many there were with those told again.
        if case.result.get("errors").is_some() {
            out.insert("errors".into(), json!(errors.len()));
        }
        return Json::Object(out);
    }
    if let Some(text) = &outcome.text {
        return json!({"console": text.replace("\r\n", "\n")});
    }
    let Some(value) = &outcome.value else {
        return json!("nothing");
    };
    if value.marks_deep().contains(Mark::Ephemeral) {
        return json!({"ephemeral": true});
    }
    let cwd = base.files.root.to_string_lossy();
    replaced(&shape::write(value), &cwd)
}

fn replaced(json: &Json, cwd: &str) -> Json {
    match json {
        Json::String(text) => json!(text.replace(cwd, "<cwd>")),
        Json::Array(items) => items.iter().map(|item| replaced(item, cwd)).collect(),
        Json::Object(entries) => entries
            .iter()
            .map(|(name, item)| (name.clone(), replaced(item, cwd)))
            .collect(),
        other => other.clone(),
    }
}

fn error(case: &Case, diag: &Diag, outcome: &Outcome) -> Json {
    let mut out = Map::new();
    out.insert("summary".into(), json!(diag.summary));
    if case.group == "console" {
        return Json::Object(out);
    }
    let name = |span: Span| {
        outcome
            .sources
            .get(span.file)
            .map(|source| source.name.to_string())
    };
    match diag.subject {
        Some(span) if span.file == outcome.main => {
            let (start, end) = (i64::from(span.start), i64::from(span.end));
            // Terraform's JSON diagnostics give an empty range one byte.
            let end = if end == start { end + 1 } else { end };
            let head = i64::try_from(HEAD.len()).unwrap_or(0);
            out.insert("span".into(), json!([start - head, end - head]));
        }
        Some(span) => {
            out.insert("in".into(), json!(name(span)));
        }
        None => {}
    }
    out.insert("detail".into(), json!(diag.detail));
    Json::Object(out)
}

/// The record without what is not compared.
fn normal(recorded: &Json) -> Json {
    let mut out = recorded.as_object().cloned().unwrap_or_default();
    out.remove("warnings");
    if let Some(sensitive) = out.get("sensitive").map(shape::prune) {
        if sensitive == Json::Bool(false) {
            out.remove("sensitive");
        } else {
            out.insert("sensitive".into(), sensitive);
        }
    }
    if let Some(Json::Array(more)) = out.get_mut("more_errors") {
        // What Terraform adds of an empty name after a reference that could not be read says nothing to a user.
        more.retain(|error| error.get("in") != Some(&json!("")));
        if more.is_empty() {
            out.remove("more_errors");
        }
    }
    Json::Object(out)
}

fn same(expected: &Json, got: &Json, partly_unknown: bool) -> bool {
    match (expected, got) {
        (Json::Object(a), Json::Object(b)) => {
            if let Some(props) = a.get("props") {
                return a.get("type") == b.get("type") && matches(props, b.get("value"));
            }
            if a.contains_key("summary") {
                return same_error(a, b);
            }
            a.len() == b.len()
                && a.iter()
                    .all(|(name, item)| b.get(name).is_some_and(|other| same(item, other, partly_unknown)))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, partly_unknown))
        }
        (Json::Number(a), Json::Number(b)) => {
            decimal(&a.to_string()) == decimal(&b.to_string()) || (partly_unknown && a.as_f64() == b.as_f64())
        }
        (a, b) => a == b,
    }
}

/// Where the record counts faults, prose does not tell them apart.
fn same_fault(case: &Case, a: &Json, b: &Json) -> bool {
    let counted = case.result.get("errors").is_some();
    let parts: &[&str] = if counted {
        &["summary", "span", "in"]
    } else {
        &["summary", "span", "in", "detail"]
    };
    parts.iter().all(|part| a.get(*part) == b.get(*part))
}

fn same_error(expected: &Map<String, Json>, got: &Map<String, Json>) -> bool {
    let detail = got.get("detail").and_then(Json::as_str).unwrap_or_default();
    let shown = expected
        .get("detail_contains")
        .and_then(Json::as_array)
        .into_iter()
        .flatten();
    // Some places, like the end of the file, are not recorded.
    let placed = expected.contains_key("span") || expected.contains_key("in");
    let parts: &[&str] = if placed {
        &["summary", "span", "in"]
    } else {
        &["summary"]
    };
    parts.iter().all(|part| expected.get(*part) == got.get(*part))
        && shown.filter_map(Json::as_str).all(|line| detail.contains(line))
}

/// The number's text without an exponent, and zero without a sign: what wrote the record down kept neither apart.
fn decimal(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let mut point = i64::try_from(whole.len()).unwrap_or(0) + exponent;
    while point < 1 {
        digits.insert(0, '0');
        point += 1;
    }
    let point = usize::try_from(point).unwrap_or(0);
    while digits.len() < point {
        digits.push('0');
    }
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    match (whole, fraction) {
        ("", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{}.{fraction}", if whole.is_empty() { "0" } else { whole }),
    }
}

/// Does text that differs each run have the recorded form?
fn matches(props: &Json, value: Option<&Json>) -> bool {
    let pattern = props.get("matches").and_then(Json::as_str).unwrap_or_default();
    let text = value.and_then(Json::as_str).unwrap_or_default();
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn numbers_are_compared_without_exponent() {
        for (given, expected) in [
            ("1e-2", "0.01"),
            ("1.50E+3", "1500"),
            ("-0", "0"),
            ("-2.5e-27", "-0.0000000000000000000000000025"),
            ("12", "12"),
        ] {
            assert_eq!(decimal(given), expected);
        }
    }
}
