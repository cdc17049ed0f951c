//! Edits that keep objects under other addresses: renames, moves into modules and across types, imports.

use serde_json::{Value as Json, json};

use super::{
    case::{Block, Expr, Item},
    estate::{Estate, Part, Repeat, What},
    kinds::kind,
};
use crate::chance::Chance;

impl Estate {
    pub(super) fn rename(&mut self, folder: &str, chance: &mut Chance) {
        let is_named = |part: &Part| match &part.what {
            What::Resource { kind, .. } => !kind.data,
            What::Call { .. } => true,
            _ => false,
        };
        let Some(at) = self.pick(folder, chance, is_named) else {
            return;
        };
        let new = self.name();
        let Some(part) = self.part(folder, at) else { return };
        let (from, to) = match &mut part.what {
            What::Resource { kind, name, .. } => {
                let from = format!("{}.{name}", kind.name);
                name.clone_from(&new);
                (from, format!("{}.{new}", kind.name))
            }
            What::Call { name, .. } => {
                let from = format!("module.{name}");
                name.clone_from(&new);
                (from, format!("module.{new}"))
            }
            _ => return,
        };
        if let Some(label) = part.block.labels.last_mut() {
            *label = new;
        }
        if let Some(module) = self.modules.get_mut(folder) {
            for part in module.parts.iter_mut().filter(|part| !is_history(&part.block)) {
                rename_in(&mut part.block.body.0, &from, &to);
            }
        }
        if chance.odds(85) {
            self.add_other_in(folder, moved(from, to));
        }
    }

    /// A jar becomes an urn.
    pub(super) fn change_type(&mut self, folder: &str, chance: &mut Chance) {
        let is_jar =
            |part: &Part| matches!(&part.what, What::Resource { kind, .. } if kind.name == "kiln_jar");
        let (Some(at), Some(urn)) = (self.pick(folder, chance, is_jar), kind("kiln_urn", false)) else {
            return;
        };
        let Some(part) = self.part(folder, at) else { return };
        let What::Resource { kind, name, .. } = &mut part.what else {
            return;
        };
        let (from, to) = (format!("kiln_jar.{name}"), format!("kiln_urn.{name}"));
        *kind = urn;
        part.block.labels[0] = urn.name.to_owned();
        if let Some(module) = self.modules.get_mut(folder) {
            for part in module.parts.iter_mut().filter(|part| !is_history(&part.block)) {
                rename_in(&mut part.block.body.0, &from, &to);
            }
        }
        self.add_other_in(folder, moved(from, to));
    }

    pub(super) fn move_into_module(&mut self, chance: &mut Chance) {
        let is_single_call =
            |part: &Part| matches!(&part.what, What::Call { repeat, .. } if *repeat == Repeat::One);
        let Some(call) = self.pick("", chance, is_single_call) else {
            return;
        };
        let What::Call {
            name: call, folder, ..
        } = self.modules[""].parts[call].what.clone()
        else {
            return;
        };
        let Some((at, kind, name, _)) = self.resource("", chance) else {
            return;
        };
        if kind.data {
            return;
        }
        let Some(root) = self.modules.get_mut("") else {
            return;
        };
        let mut part = root.parts.remove(at);
        part.block.body.remove("provider");
        if let Some(module) = self.modules.get_mut(&folder) {
            module.parts.push(part);
        }
        let from = format!("{}.{name}", kind.name);
        let to = format!("module.{call}.{from}");
        self.add_other(moved(from, to));
    }

    /// Something that is there already gets a resource and an import block.
    pub(super) fn import(&mut self, chance: &mut Chance) -> Option<Json> {
        let before = self.modules[""].parts.len();
        self.add_resource("", chance);
        let part = self.modules[""].parts.get(before)?;
        let What::Resource { kind, name, repeat } = part.what.clone() else {
            return None;
        };
        if !kind.in_world {
            return None;
        }
        let (object, tail) = match &repeat {
            Repeat::One => (name.clone(), String::new()),
            Repeat::Count(_) => (format!("{name}-0"), "[0]".to_owned()),
            Repeat::Each(keys) => (format!("{name}-{}", keys[0]), format!("[{:?}]", keys[0])),
            Repeat::Counted | Repeat::Keyed => return None,
        };
        let stored = if kind.name == "kiln_urn" {
            "kiln_jar"
        } else {
            kind.name
        };
        let short = stored.split('_').nth(1).unwrap_or_default();
        let id = format!("{short}-{object}-9");
        let block = Block::new("import", &[])
            .with("to", Expr::fixed(format!("{}.{name}{tail}", kind.name)))
            .with("id", Expr::quoted(&id));
        self.add_other(block);
        let mut attributes = json!({});
        for attribute in kind.attributes {
            if chance.odds(40)
                && let Some(value) = super::drift::value(attribute.ty, chance)
            {
                attributes[attribute.name] = value;
            }
        }
        attributes["id"] = id.as_str().into();
        if chance.odds(4) {
            return None;
        }
        Some(json!({ "create": { "type": stored, "id": id, "name": object, "attributes": attributes } }))
    }
}

/// A block that tells of a move.
pub(super) fn moved(from: String, to: String) -> Block {
    Block::new("moved", &[])
        .with("from", Expr::fixed(from))
        .with("to", Expr::fixed(to))
}

/// Blocks that tell of addresses of once.
fn is_history(block: &Block) -> bool {
    ["moved", "removed", "import"].contains(&block.kind.as_str())
}

/// Puts another address in place of one, wherever it is referred to.
fn rename_in(items: &mut [Item], from: &str, to: &str) {
    for item in items {
        match item {
            Item::Attribute(_, expr) => {
                expr.text = renamed(&expr.text, from, to);
                for used in &mut expr.uses {
                    *used = renamed(used, from, to);
                }
            }
            Item::Block(block) => rename_in(&mut block.body.0, from, to),
        }
    }
}

fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (head, tail) = rest.split_at(at);
        let after = &tail[from.len()..];
        let whole = !head.ends_with(|c| is_name(c) || c == '.') && !after.starts_with(is_name);
        out.push_str(head);
        out.push_str(if whole { to } else { from });
        rest = after;
    }
    out + rest
}
