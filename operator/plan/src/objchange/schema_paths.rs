//! Which parts of an object the schema singles out: sensitive ones, write-only ones.
//!
//! Used on every value that a provider answers. Source: Terraform `configschema/marks.go`, `write_only.go`, `path.go`,
//! `internal/lang/ephemeral`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{
    Marks, Path, Value,
    schema::{Attribute, AttributeType, Block},
};

use super::part::{elements, part, transform};

type Attributes = BTreeMap<Arc<str>, Attribute>;

/// Where the value is sensitive by its schema.
pub fn sensitive_paths(schema: &Block, value: &Value) -> Vec<Path> {
    find(schema, value, |attribute| attribute.sensitive)
}

/// The value, marked where it is sensitive by its schema.
#[must_use]
pub fn mark_sensitive(schema: &Block, value: Value) -> Value {
    if !schema.has_sensitive() {
        return value;
    }
    let paths: Vec<(Path, Marks)> = sensitive_paths(schema, &value)
        .into_iter()
        .map(|path| (path, Marks::SENSITIVE))
        .collect();
    value.mark_paths(&paths)
}

/// Where the value has write-only attributes, null or not.
pub fn write_only_paths(schema: &Block, value: &Value) -> Vec<Path> {
    find(schema, value, |attribute| attribute.write_only)
}

/// Write-only attributes that hold something, which no answer of a provider may.
pub fn non_null_write_only(schema: &Block, value: &Value) -> Vec<Path> {
    // A path into a set whose members carry marks may not apply; protocol 6 forbids write-only there.
    let holds = |path: &Path| path.apply(value).map_or(true, |found| !found.is_null());
    write_only_paths(schema, value)
        .into_iter()
        .filter(holds)
        .collect()
}

/// The value with write-only attributes made null: what may be kept.
#[must_use]
pub fn null_write_only(schema: &Block, value: Value) -> Value {
    let write_only = |attribute: &Attribute| attribute.write_only;
    if !holds(schema, write_only) {
        return value;
    }
    transform(&value, |path, value| match schema.attribute_at(&path.0) {
        Some(attribute) if attribute.write_only => Value::null(value.ty()).with_marks(value.marks()),
        _ => value,
    })
}

type Flag = fn(&Attribute) -> bool;

/// Where attributes with the flag stand; below one that has it nothing more is looked for in nested attributes.
fn find(schema: &Block, value: &Value, flag: Flag) -> Vec<Path> {
    let mut found = Vec::new();
    if holds(schema, flag) {
        find_in_block(schema, value, &Path::root(), flag, &mut found);
    }
    found
}

fn holds(schema: &Block, flag: Flag) -> bool {
    schema
        .attributes
        .values()
        .any(|attribute| attribute_holds(attribute, flag))
        || schema.blocks.values().any(|nested| holds(&nested.block, flag))
}

fn attribute_holds(attribute: &Attribute, flag: Flag) -> bool {
    flag(attribute)
        || match &attribute.ty {
            AttributeType::Nested { attributes, .. } => attributes
                .values()
                .any(|attribute| attribute_holds(attribute, flag)),
            AttributeType::Plain(_) => false,
        }
}

fn find_in_block(schema: &Block, value: &Value, base: &Path, flag: Flag, found: &mut Vec<Path>) {
    if value.is_null() || !value.is_known() {
        return;
    }
    find_in_attributes(&schema.attributes, value, base, flag, found);
    for (name, nested) in schema
        .blocks
        .iter()
        .filter(|(_, nested)| holds(&nested.block, flag))
    {
        let blocks = part(value, name, || nested.ty());
        let path = base.attr(name.clone());
        if nested.nesting.is_one() {
            find_in_block(&nested.block, &blocks, &path, flag, found);
        } else {
            for (step, block) in elements(&blocks) {
                find_in_block(&nested.block, &block, &path.step(step), flag, found);
            }
        }
    }
}

fn find_in_attributes(
    attributes: &Attributes,
    value: &Value,
    base: &Path,
    flag: Flag,
    found: &mut Vec<Path>,
) {
    if value.is_null() || !value.is_known() {
        return;
    }
    for (name, attribute) in attributes
        .iter()
        .filter(|(_, attribute)| attribute_holds(attribute, flag))
    {
        let path = base.attr(name.clone());
        if flag(attribute) {
            found.push(path);
            continue;
        }
        let AttributeType::Nested { nesting, attributes } = &attribute.ty else {
            continue;
        };
        let value = part(value, name, || attribute.ty());
        if nesting.is_one() {
            find_in_attributes(attributes, &value, &path, flag, found);
        } else {
            for (step, item) in elements(&value) {
                find_in_attributes(attributes, &item, &path.step(step), flag, found);
            }
        }
    }
}
