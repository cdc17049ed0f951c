//! `lifecycle` blocks.
//!
//! Rules: Terraform `configs/resource.go`, `checks.go`.

use ashlar_addr::{Mode, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{CheckRule, Shape, Subject, constant, evaluate_constant, references};
use ashlar_syntax::{Attribute, Block, Expr, Literal, Step, Traversal};
use ashlar_value::{Dialect, Number, Path, PathStep, Type, Value, convert};

use crate::{
    model::{ActionTrigger, IgnoreChanges, Lifecycle},
    overrides::not_overridden,
    static_expr,
};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &[
        "create_before_destroy",
        "prevent_destroy",
        "ignore_changes",
        "replace_triggered_by",
    ],
    blocks: &[
        ("precondition", &[]),
        ("postcondition", &[]),
        ("action_trigger", &[]),
    ],
};

pub(crate) const OPENTOFU: Shape = Shape {
    required: &[],
    optional: &[
        "create_before_destroy",
        "prevent_destroy",
        "ignore_changes",
        "replace_triggered_by",
        "enabled",
        "destroy",
    ],
    blocks: &[("precondition", &[]), ("postcondition", &[])],
};

impl Lifecycle {
    /// Reads the block of a resource.
    pub(crate) fn read(
        block: Block,
        resource: &Resource,
        overriding: bool,
        dialect: Dialect,
        diags: &mut Diags,
    ) -> Self {
        let header = block.header();
        let shape = match dialect {
            Dialect::Terraform => SHAPE,
            Dialect::OpenTofu => OPENTOFU,
        };
        let mut content = shape.content(block.body, Some(block.open), diags);
        let mut lifecycle = Lifecycle {
            enabled: content.take("enabled"),
            ..Lifecycle::default()
        };
        if resource.mode == Mode::Managed {
            let mut flag = |name| {
                let attribute = content.take(name)?;
                constant(&attribute.expr, &Type::Bool, diags)?.as_bool()
            };
            lifecycle.create_before_destroy = flag("create_before_destroy");
            if dialect == Dialect::Terraform {
                lifecycle.prevent_destroy = flag("prevent_destroy");
            } else if let Some(attribute) = content.take("prevent_destroy") {
                lifecycle.prevent_destroy_by(attribute.expr);
            }
            lifecycle.destroy = content.take("destroy").map(|attribute| attribute.expr);
            if let Some(attribute) = content.take("replace_triggered_by") {
                lifecycle.replace_triggered_by = triggers(&attribute.expr, diags);
            }
            if let Some(attribute) = content.take("ignore_changes") {
                lifecycle.ignore(&attribute, diags);
            }
        } else {
            for attribute in &content.attributes {
                let detail = format!("{:?} is only for managed resources.", &*attribute.name.name);
                diags.push(match (resource.mode, dialect) {
                    (Mode::Ephemeral, Dialect::OpenTofu) => {
                        Diag::error("Invalid lifecycle configuration for ephemeral resource", detail)
                            .at(header)
                    }
                    _ => {
                        let summary = format!("Invalid {} lifecycle argument", word(resource.mode));
                        Diag::error(summary, detail).at(attribute.name.span)
                    }
                });
            }
        }
        for inner in &content.blocks {
            match (&*inner.kind.name, resource.mode) {
                ("action_trigger", Mode::Managed) => {
                    lifecycle
                        .action_triggers
                        .push(ActionTrigger::read(inner.clone(), diags));
                }
                ("action_trigger", mode) => {
                    let detail = "Actions can be triggered only by managed resources.";
                    let summary = format!("Invalid {} lifecycle nested block", word(mode));
                    diags.push(Diag::error(summary, detail).at(inner.kind.span));
                }
                _ if overriding => diags.push(not_overridden(inner)),
                (kind, _) => {
                    let (rule, faults) = CheckRule::read(inner);
                    diags.extend(faults);
                    diags.extend(self_references(inner, resource));
                    let rules = if kind == "precondition" {
                        &mut lifecycle.preconditions
                    } else {
                        &mut lifecycle.postconditions
                    };
                    rules.extend(rule);
                }
            }
        }
        lifecycle
    }

    /// OpenTofu's `prevent_destroy` may be computed; a constant is known at once.
    fn prevent_destroy_by(&mut self, expr: Expr) {
        let (value, faults) = evaluate_constant(&expr);
        match convert(&value, &Type::Bool) {
            Ok(value) if !faults.has_errors() => self.prevent_destroy = value.as_bool(),
            _ => self.prevent_destroy_when = Some(expr),
        }
    }

    fn ignore(&mut self, attribute: &Attribute, diags: &mut Diags) {
        let expr = &attribute.expr;
        if expr.keyword() == Some("all") {
            self.ignore_changes = IgnoreChanges::All;
            return;
        }
        let items = match static_expr::list(expr) {
            Ok(items) => items,
            Err(diag) => return diags.push(diag),
        };
        let mut star = None;
        let mut paths = Vec::new();
        for item in items {
            let (value, faults) = evaluate_constant(item);
            if !faults.has_errors() && value.as_str().is_some_and(|text| &**text == "*") {
                star = Some(item.span);
                let detail = "Write ignore_changes = all to ignore every change.";
                diags.push(Diag::error("Invalid ignore_changes wildcard", detail).at(expr.span));
                continue;
            }
            if let Some(traversal) = static_expr::reference(item, diags) {
                paths.push((path(&traversal), traversal.span()));
                self.ignored.push(traversal);
            }
        }
        if let Some(star) = star.filter(|_| !paths.is_empty()) {
            let detail = "Either all changes are ignored, or those of the listed attributes.";
            diags.push(
                Diag::error("Invalid ignore_changes ruleset", detail)
                    .at(star)
                    .within(expr.span),
            );
        }
        if !paths.is_empty() {
            self.ignore_changes = IgnoreChanges::Paths(paths);
        }
    }
}

fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Managed => "resource",
        Mode::Data => "data resource",
        Mode::Ephemeral => "ephemeral resource",
    }
}

/// The path of a relative reference.
fn path(traversal: &Traversal) -> Path {
    let step = |step: &Step| match step {
        Step::Attr { name, .. } => PathStep::Attr(name.clone()),
        Step::Index { key, .. } => PathStep::Index(match key {
            Literal::String(text) => Value::string(text),
            Literal::Number(text) => Number::parse(text).map_or_else(|| Value::string(text), Value::number),
            Literal::Bool(_) | Literal::Null => Value::null(Type::Dynamic),
        }),
    };
    std::iter::once(PathStep::Attr(traversal.root.name.clone()))
        .chain(traversal.steps.iter().map(step))
        .collect()
}

/// A condition names its own resource as `self`, or not at all.
fn self_references(block: &Block, resource: &Resource) -> Diags {
    let body = block.body.as_read();
    let own = |expr: &&Expr| {
        let (found, _) = references(expr);
        found
            .iter()
            .any(|reference| matches!(&reference.subject, Subject::Resource(named) if named == resource))
    };
    let blame = |expr: &Expr| {
        let detail = format!("{resource} may not refer to itself here. A postcondition can use self.");
        Diag::error(format!("Invalid reference in {}", block.kind.name), detail).at(expr.span)
    };
    ["condition", "error_message"]
        .into_iter()
        .filter_map(|name| body.attribute(name))
        .map(|attribute| &attribute.expr)
        .filter(own)
        .map(blame)
        .collect()
}

/// The entries of `replace_triggered_by`: each names one resource, and nothing else but `each.key` or `count.index`.
fn triggers(expr: &Expr, told: &mut Diags) -> Vec<Expr> {
    let mut diags = Diags::new();
    let triggers = read_triggers(expr, &mut diags);
    told.extend(diags);
    triggers
}

/// Behind an entry at fault the others are read, but not looked at, as in Terraform.
fn read_triggers(expr: &Expr, diags: &mut Diags) -> Vec<Expr> {
    let items = match static_expr::list(expr) {
        Ok(items) => items,
        Err(diag) => {
            diags.push(diag);
            return Vec::new();
        }
    };
    let mut triggers = Vec::with_capacity(items.len());
    for item in items {
        let Some(item) = static_expr::in_json(item, diags) else {
            continue;
        };
        if diags.has_errors() {
            continue;
        }
        let (found, faults) = references(&item);
        let failed = faults.has_errors();
        diags.extend(faults.map(|diag| diag.at(item.span)));
        if failed {
            continue;
        }
        let mut resources = 0;
        for reference in &found {
            let (summary, detail) = match &reference.subject {
                Subject::Resource(_) => {
                    resources += 1;
                    continue;
                }
                Subject::Each(name) if &**name == "key" => continue,
                Subject::Count(name) if &**name == "index" => continue,
                Subject::Each(_) => (
                    "Invalid each reference in replace_triggered_by expression",
                    "Of each only each.key can be used here.",
                ),
                Subject::Count(_) => (
                    "Invalid count reference in replace_triggered_by expression",
                    "Of count only count.index can be used here.",
                ),
                _ => (
                    "Invalid reference in replace_triggered_by expression",
                    "Only a resource, count.index and each.key can be used here.",
                ),
            };
            diags.push(Diag::error(summary, detail).at(item.span));
        }
        if resources != 1 {
            let detail = "An entry names exactly one resource, instance or attribute.";
            diags.push(Diag::error("Invalid replace_triggered_by expression", detail).at(item.span));
        }
        triggers.push(item);
    }
    triggers
}
