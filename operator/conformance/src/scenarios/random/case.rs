//! A case as data: steps with files made of blocks, so that it can be both written down and made smaller.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Map, Value as Json, json};

use super::kinds::Ty;

/// An expression as text, with what it refers to and what type it was made for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub(super) text: String,
    pub(super) uses: Vec<String>,
    pub(super) ty: Ty,
}

impl Expr {
    /// An expression that nothing replaces by another.
    pub(super) fn fixed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            uses: Vec::new(),
            ty: Ty::Fixed,
        }
    }

    /// As [`Self::fixed`], good only while what it refers to is there.
    pub(super) fn referring(text: impl Into<String>, uses: Vec<String>) -> Self {
        Self {
            text: text.into(),
            uses,
            ty: Ty::Fixed,
        }
    }

    /// A text in quotes.
    pub(super) fn quoted(text: &str) -> Self {
        Self::fixed(format!("{text:?}"))
    }
}

/// What stands in a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Attribute(String, Expr),
    Block(Block),
}

/// The inside of a file or a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Body(pub(super) Vec<Item>);

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) labels: Vec<String>,
    pub(super) body: Body,
}

impl Block {
    pub(super) fn new(kind: &str, labels: &[&str]) -> Self {
        Self {
            kind: kind.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            body: Body::default(),
        }
    }

    /// With one attribute more.
    pub(super) fn with(mut self, name: &str, expr: Expr) -> Self {
        self.body.set(name, expr);
        self
    }

    /// With one block more.
    pub(super) fn inside(mut self, block: Block) -> Self {
        self.body.0.push(Item::Block(block));
        self
    }
}

impl Body {
    pub(super) fn get(&self, name: &str) -> Option<&Expr> {
        self.0.iter().find_map(|item| match item {
            Item::Attribute(known, expr) if known == name => Some(expr),
            _ => None,
        })
    }

    /// Sets an attribute, in its place if it has one.
    pub(super) fn set(&mut self, name: &str, expr: Expr) {
        for item in &mut self.0 {
            if let Item::Attribute(known, old) = item
                && known == name
            {
                *old = expr;
                return;
            }
        }
        self.0.push(Item::Attribute(name.to_owned(), expr));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0
            .retain(|item| !matches!(item, Item::Attribute(known, _) if known == name));
    }

    /// The block of a kind that may stand here once, made if it is not there.
    pub(super) fn single(&mut self, kind: &str) -> &mut Body {
        let is_it = |item: &Item| matches!(item, Item::Block(block) if block.kind == kind);
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(Item::Block(Block::new(kind, &[])));
            self.0.len() - 1
        });
        match &mut self.0[at] {
            Item::Block(block) => &mut block.body,
            // `at` is a block's place.
            Item::Attribute(..) => unreachable!(),
        }
    }

    /// As HCL.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        for item in &self.0 {
            // Writing to a text cannot fail.
            let _ = match item {
                Item::Attribute(name, expr) => writeln!(out, "{indent}{name} = {}", expr.text),
                Item::Block(block) => {
                    let _ = write!(out, "{indent}{}", block.kind);
                    for label in &block.labels {
                        let _ = write!(out, " {label:?}");
                    }
                    let _ = writeln!(out, " {{");
                    block.body.write(depth + 1, out);
                    writeln!(out, "{indent}}}")
                }
            };
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) action: String,
    /// All files there are in this step.
    pub(super) files: BTreeMap<String, Body>,
    pub(super) world: Vec<Json>,
    pub(super) vars: BTreeMap<String, Json>,
    pub(super) options: Map<String, Json>,
}

/// Steps to be run one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Case {
    pub(super) steps: Vec<Step>,
}

impl Case {
    /// The steps in the form that a scenario has; each names only the files that it changes.
    pub(super) fn scenario(&self) -> Vec<Json> {
        let mut before: BTreeMap<&str, String> = BTreeMap::new();
        let mut steps = Vec::new();
        for step in &self.steps {
            let now: BTreeMap<&str, String> = step
                .files
                .iter()
                .map(|(name, body)| (&**name, body.text()))
                .collect();
            let mut files = Map::new();
            for name in before.keys().filter(|name| !now.contains_key(*name)) {
                files.insert((*name).to_owned(), Json::Null);
            }
            for (name, text) in &now {
                if before.get(name) != Some(text) {
                    files.insert((*name).to_owned(), text.as_str().into());
                }
            }
            let mut out = json!({ "name": step.name });
            if !files.is_empty() {
                out["files"] = files.into();
            }
            if !step.world.is_empty() {
                out["world"] = step.world.clone().into();
            }
            if !step.vars.is_empty() {
                out["vars"] = json!(step.vars);
            }
            out["action"] = step.action.as_str().into();
            if !step.options.is_empty() {
                out["options"] = step.options.clone().into();
            }
            steps.push(out);
            before = now;
        }
        steps
    }
}
