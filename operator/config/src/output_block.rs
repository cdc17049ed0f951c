//! `output` and `locals` blocks.
//!
//! Rules: Terraform `configs/named_values.go`.

use ashlar_diag::Diag;
use ashlar_eval::{CheckRule, Shape, constant, only_arguments, type_constraint};
use ashlar_syntax::{Block, Expr, ExprKind, is_identifier};
use ashlar_value::{Dialect, Type};

use crate::{
    BAD_NAME,
    load::Loader,
    model::{Local, Output},
    overrides::not_overridden,
    resource_block::depends_on,
};

pub(crate) const OUTPUT: Shape = Shape {
    required: &["value"],
    optional: &[
        "description",
        "depends_on",
        "sensitive",
        "ephemeral",
        "deprecated",
        "type",
    ],
    blocks: &[("precondition", &[]), ("postcondition", &[])],
};

pub(crate) const OPENTOFU: Shape = Shape {
    required: OUTPUT.required,
    optional: &[
        "description",
        "depends_on",
        "sensitive",
        "ephemeral",
        "deprecated",
    ],
    blocks: OUTPUT.blocks,
};

impl Loader {
    pub(crate) fn output_block(&mut self, block: Block) {
        let header = block.header();
        let complete = !self.overriding;
        let shape = match self.module.dialect {
            Dialect::Terraform => OUTPUT,
            Dialect::OpenTofu => OPENTOFU,
        };
        let mut content = shape.content_where(block.body, Some(block.open), complete, &mut self.diags);
        let set = content.names();
        let Some(label) = block.labels.first() else { return };
        let diags = &mut self.diags;
        if !is_identifier(&label.name) {
            diags.push(Diag::error("Invalid output name", BAD_NAME).at(label.span));
        }
        let description = content.take("description").and_then(|attribute| {
            constant(&attribute.expr, &Type::String, diags)?
                .as_str()
                .map(|text| text.to_string())
        });
        let (ty, defaults) = match content
            .take("type")
            .map(|attribute| type_constraint(&attribute.expr))
        {
            None => (Type::Dynamic, None),
            Some(Ok(constraint)) => constraint,
            Some(Err(faults)) => {
                diags.extend(faults);
                (Type::Dynamic, None)
            }
        };
        let mut flag = |name| {
            let attribute = content.take(name)?;
            constant(&attribute.expr, &Type::Bool, diags)?.as_bool()
        };
        let sensitive = flag("sensitive").unwrap_or(false);
        let ephemeral = flag("ephemeral").unwrap_or(false);
        let deprecated = content.take("deprecated").map(|attribute| {
            let text = constant(&attribute.expr, &Type::String, diags);
            let text = text.and_then(|text| text.as_str().cloned());
            (text.unwrap_or_default(), attribute.span)
        });
        let (depends_on, depends_on_faults) = content
            .take("depends_on")
            .map(|list| depends_on(&list, diags))
            .unwrap_or_default();
        let mut preconditions = Vec::new();
        for inner in &content.blocks {
            if &*inner.kind.name == "postcondition" {
                let detail =
                    "An output has only preconditions: nothing is done that could be checked after it.";
                diags.push(Diag::error("Postconditions are not allowed", detail).at(inner.kind.span));
                continue;
            }
            if self.overriding {
                diags.push(not_overridden(inner));
                continue;
            }
            let (rule, faults) = CheckRule::read(inner);
            diags.extend(faults);
            preconditions.extend(rule);
        }
        // One without a value is a fault told already, but takes the name all the same.
        let value = content.take("value").map(|attribute| attribute.expr);
        let value = value.unwrap_or(Expr {
            kind: ExprKind::Broken,
            span: header,
        });
        let output = Output {
            value,
            ty,
            defaults,
            sensitive,
            ephemeral,
            deprecated,
            description,
            depends_on,
            depends_on_faults,
            preconditions,
            header,
        };
        if self.overriding {
            return self.override_output(&label.name, output, &set);
        }
        if self.module.outputs.contains_key(&label.name) {
            let detail = format!("The output {:?} is declared twice in this module.", &*label.name);
            diags.push(Diag::error("Duplicate output definition", detail).at(header));
        }
        self.module.outputs.insert(label.name.clone(), output);
    }

    pub(crate) fn locals_block(&mut self, block: Block) {
        let (attributes, faults) = only_arguments(block.body);
        self.diags.extend(faults);
        for attribute in attributes {
            let name = attribute.name;
            if !is_identifier(&name.name) {
                self.diags
                    .push(Diag::error("Invalid local value name", BAD_NAME).at(name.span));
            }
            if self.overriding {
                let local = Local {
                    expr: attribute.expr,
                    declared: name.span,
                };
                self.override_local(&name.name, local, attribute.span);
                continue;
            }
            if self.module.locals.contains_key(&name.name) {
                let detail = format!("The local value {:?} is set twice in this module.", &*name.name);
                self.diags
                    .push(Diag::error("Duplicate local value definition", detail).at(attribute.span));
            }
            self.module.locals.insert(
                name.name,
                Local {
                    expr: attribute.expr,
                    declared: name.span,
                },
            );
        }
    }
}
