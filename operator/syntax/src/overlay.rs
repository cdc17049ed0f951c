//! The body of an override file laid over the one it overrides.
//!
//! Rules: Terraform `configs/module_merge_body.go`.

use std::sync::Arc;

use crate::{Body, Unread};

impl Body {
    /// Lays another body over this one: its arguments win, and its blocks of a type replace all of that type. What only a
    /// schema can tell apart (JSON) is merged once it is read.
    pub fn overlay(&mut self, over: Body) {
        if self.unread.is_none() && over.unread.is_none() {
            return self.replace_items(over);
        }
        let base = std::mem::take(self);
        self.span = base.span;
        self.end = base.end;
        self.missing = base.missing;
        self.unread = Some(Box::new(Unread::layered(vec![base, over])));
    }

    pub(crate) fn replace_items(&mut self, over: Body) {
        let late = self.overridden.get_or_insert_with(Vec::new);
        for attribute in over.attributes {
            let same = self
                .attributes
                .iter_mut()
                .find(|own| own.name.name == attribute.name.name);
            match same {
                Some(own) => *own = attribute,
                None => {
                    late.push(attribute.name.name.clone());
                    self.attributes.push(attribute);
                }
            }
        }
        let replaced: Vec<Arc<str>> = over.blocks.iter().map(produced).collect();
        self.blocks.retain(|own| !replaced.contains(&produced(own)));
        self.blocks.extend(over.blocks);
        self.faults.extend(over.faults);
    }
}

/// The type of the blocks that a block stands for.
fn produced(block: &crate::Block) -> Arc<str> {
    match block.labels.first() {
        Some(label) if &*block.kind.name == "dynamic" => label.name.clone(),
        _ => block.kind.name.clone(),
    }
}
