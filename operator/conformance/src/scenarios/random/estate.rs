//! A configuration as it is being made: modules of parts in an order in which each refers only to those before it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    case::{Block, Body, Expr, Item},
    exprs::{Maker, Ref},
    kinds::{Attribute, Kind, Ty, Use},
};
use crate::chance::Chance;

/// How many instances there are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Repeat {
    One,
    Count(usize),
    Each(Vec<String>),
    /// By an expression, so that no key is sure.
    Counted,
    Keyed,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum What {
    Variable {
        name: String,
        ty: Ty,
        flows: Flows,
    },
    Local {
        name: String,
        ty: Ty,
    },
    Resource {
        kind: &'static Kind,
        name: String,
        repeat: Repeat,
    },
    Call {
        name: String,
        folder: String,
        repeat: Repeat,
    },
    Output {
        name: String,
        ty: Ty,
        flows: Flows,
    },
    Other,
}

/// What is passed through a variable or an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flows {
    pub(super) sensitive: bool,
    pub(super) known: bool,
    pub(super) nullable: bool,
}

/// What nothing is known against.
pub(super) const CLEAN: Flows = Flows {
    sensitive: false,
    known: true,
    nullable: false,
};

/// A block of a module, and what it is.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) what: What,
    pub(super) block: Block,
}

/// A module.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) parts: Vec<Part>,
    /// The configurations of the first provider that resources may choose, beside the default one.
    pub(super) aliases: Vec<String>,
}

/// All modules, by folder; the root's is "".
#[derive(Clone, Debug, Default)]
pub(super) struct Estate {
    pub(super) modules: BTreeMap<String, Module>,
    pub(super) names: usize,
}

impl Estate {
    /// What the part at this place of a module may refer to.
    pub(super) fn scope(&self, folder: &str, upto: usize) -> Vec<Ref> {
        let mut refs = Vec::new();
        for part in self.modules[folder].parts.iter().take(upto) {
            self.add_refs(part, &mut refs);
        }
        refs
    }

    fn add_refs(&self, part: &Part, refs: &mut Vec<Ref>) {
        let one = |text: String, ty: Ty, flows: Flows| Ref {
            text,
            ty,
            sensitive: flows.sensitive,
            known: flows.known,
            nullable: flows.nullable,
        };
        match &part.what {
            What::Variable { name, ty, flows } => {
                refs.push(one(format!("var.{name}"), *ty, *flows));
                if *ty == Ty::Plan {
                    refs.push(one(format!("var.{name}.size"), Ty::Number, *flows));
                    refs.push(one(format!("var.{name}.tags"), Ty::Map, *flows));
                }
            }
            What::Local { name, ty } => {
                let flows = part.block.body.get(name).map_or(CLEAN, |expr| flows(expr, refs));
                refs.push(one(format!("local.{name}"), *ty, flows));
            }
            What::Resource { kind, name, repeat } => {
                let data = if kind.data { "data." } else { "" };
                let address = format!("{data}{}.{name}", kind.name);
                refs.push(one(address.clone(), Ty::Fixed, CLEAN));
                // Reading what is deprecated is told of in ways of its own.
                let read = |attribute: &&Attribute| attribute.using != Use::Rare;
                for attribute in kind.attributes.iter().filter(read) {
                    let set = part.block.body.get(attribute.name).map(|expr| flows(expr, refs));
                    let mut flows = set.unwrap_or(Flows {
                        known: false,
                        nullable: !matches!(attribute.using, Use::Computed | Use::Filled),
                        ..CLEAN
                    });
                    flows.sensitive |= attribute.sensitive;
                    flows.known &= !kind.data;
                    let tail = format!(".{}", attribute.name);
                    add_instances(&address, &tail, attribute.ty, repeat, flows, refs);
                }
            }
            What::Call { name, folder, repeat } => {
                let address = format!("module.{name}");
                refs.push(one(address.clone(), Ty::Fixed, CLEAN));
                for output in &self.modules[folder].parts {
                    if let What::Output { name, ty, flows } = &output.what {
                        add_instances(&address, &format!(".{name}"), *ty, repeat, *flows, refs);
                    }
                }
            }
            What::Output { .. } | What::Other => {}
        }
    }

    /// Whether each variable and output carries what is sensitive or not known, told anew after a change; outputs say so.
    pub(super) fn settle(&mut self) {
        let folders: Vec<String> = self.modules.keys().cloned().collect();
        for part in self.modules.values_mut().flat_map(|module| &mut module.parts) {
            if let What::Variable { flows, .. } = &mut part.what {
                *flows = Flows {
                    sensitive: part.block.body.get("sensitive").is_some(),
                    ..*flows
                };
            }
        }
        for _ in 0..4 {
            for folder in &folders {
                let mut inputs = Vec::new();
                let mut outputs = Vec::new();
                for (at, part) in self.modules[folder].parts.iter().enumerate() {
                    let refs = self.scope(folder, at);
                    match &part.what {
                        What::Call { folder, .. } => {
                            for item in &part.block.body.0 {
                                if let Item::Attribute(name, expr) = item {
                                    inputs.push((folder.clone(), name.clone(), flows(expr, &refs)));
                                }
                            }
                        }
                        What::Output { .. } => {
                            let told = part
                                .block
                                .body
                                .get("value")
                                .map_or(CLEAN, |expr| flows(expr, &refs));
                            outputs.push((at, told));
                        }
                        _ => {}
                    }
                }
                for (folder, input, told) in inputs {
                    for part in self
                        .modules
                        .get_mut(&folder)
                        .into_iter()
                        .flat_map(|module| &mut module.parts)
                    {
                        if let What::Variable { name, flows, .. } = &mut part.what
                            && *name == input
                        {
                            flows.sensitive |= told.sensitive;
                            flows.known &= told.known;
                            flows.nullable |= told.nullable;
                        }
                    }
                }
                for (at, told) in outputs {
                    let Some(part) = self
                        .modules
                        .get_mut(folder)
                        .and_then(|module| module.parts.get_mut(at))
                    else {
                        continue;
                    };
                    if let What::Output { flows, .. } = &mut part.what {
                        *flows = told;
                    }
                    if told.sensitive {
                        part.block.body.set("sensitive", Expr::fixed("true"));
                    }
                }
            }
        }
    }

    /// Gives every expression that refers to what is gone another, or drops it.
    pub(super) fn repair(&mut self, chance: &mut Chance) {
        let folders: Vec<String> = self.modules.keys().cloned().collect();
        for folder in folders.iter().rev() {
            for at in 0..self.modules[folder].parts.len() {
                let mut refs = self.scope(folder, at);
                let part = &self.modules[folder].parts[at];
                add_own(&part.what, &mut refs);
                let mut block = part.block.clone();
                let known: BTreeSet<&str> = refs.iter().map(|one| one.text.as_str()).collect();
                mend(&mut block.body, &known, &refs, chance);
                if let Some(part) = self
                    .modules
                    .get_mut(folder)
                    .and_then(|module| module.parts.get_mut(at))
                {
                    part.block = block;
                }
            }
        }
        self.settle();
    }

    /// The files of the configuration.
    pub(super) fn files(&self) -> BTreeMap<String, Body> {
        let mut files = BTreeMap::new();
        for (folder, module) in &self.modules {
            let mut required = Block::new("required_providers", &[]);
            let aliases = if folder.is_empty() || module.aliases.is_empty() {
                String::new()
            } else {
                format!(", configuration_aliases = [{}]", module.aliases.join(", "))
            };
            for name in ["kiln", "kilnv5"] {
                let aliases = if name == "kiln" { &*aliases } else { "" };
                let source = format!("{{ source = \"forge.test/studio/{name}\"{aliases} }}");
                required = required.with(name, Expr::fixed(source));
            }
            let mut body = Body(vec![Item::Block(Block::new("terraform", &[]).inside(required))]);
            body.0
                .extend(module.parts.iter().map(|part| Item::Block(part.block.clone())));
            let name = if folder.is_empty() {
                "main.tf".to_owned()
            } else {
                format!("{folder}/main.tf")
            };
            files.insert(name, body);
        }
        files
    }
}

/// What flows out of an expression.
fn flows(expr: &Expr, refs: &[Ref]) -> Flows {
    let mut out = CLEAN;
    out.sensitive = expr.text.contains("sensitive(");
    out.nullable = expr.text.contains("null") || expr.uses.iter().any(|used| used == &expr.text);
    let mut nullable = false;
    for used in &expr.uses {
        if let Some(one) = refs.iter().find(|one| one.text == *used) {
            out.sensitive |= one.sensitive;
            out.known &= one.known;
            nullable |= one.nullable;
        }
    }
    out.nullable &= nullable || expr.text.contains("null");
    out
}

/// The references to an attribute of all instances.
fn add_instances(address: &str, tail: &str, ty: Ty, repeat: &Repeat, flows: Flows, refs: &mut Vec<Ref>) {
    let mut add = |text: String, ty: Ty| {
        refs.push(Ref {
            text,
            ty,
            sensitive: flows.sensitive,
            known: flows.known,
            nullable: flows.nullable,
        });
    };
    match repeat {
        // What is written as a list is read as a set.
        Repeat::One if tail == ".marks" => add(format!("tolist({address}{tail})"), ty),
        _ if tail == ".marks" => {}
        Repeat::One => add(format!("{address}{tail}"), ty),
        Repeat::Count(_) | Repeat::Counted => {
            if let Repeat::Count(count) = repeat {
                for at in 0..*count {
                    add(format!("{address}[{at}]{tail}"), ty);
                }
            }
            if ty == Ty::Text && !flows.nullable {
                add(format!("({address}[*]{tail})"), Ty::List);
            }
            if tail == ".id" {
                add(format!("length({address})"), Ty::Number);
            }
        }
        Repeat::Each(_) | Repeat::Keyed => {
            if let Repeat::Each(keys) = repeat {
                for key in keys {
                    add(format!("{address}[{key:?}]{tail}"), ty);
                }
            }
            if ty == Ty::Text && !flows.nullable {
                add(format!("{{ for k, v in {address} : k => v{tail} }}"), Ty::Map);
                add(format!("[for v in {address} : v{tail}]"), Ty::List);
            }
            if tail == ".id" {
                add(format!("keys({address})"), Ty::List);
            }
        }
    }
}

/// What only the part itself may refer to.
pub(super) fn add_own(what: &What, refs: &mut Vec<Ref>) {
    let (What::Resource { repeat, .. } | What::Call { repeat, .. }) = what else {
        return;
    };
    let own: &[(&str, Ty)] = match repeat {
        Repeat::One => &[],
        Repeat::Count(_) | Repeat::Counted => &[("count.index", Ty::Number)],
        Repeat::Each(_) | Repeat::Keyed => &[("each.key", Ty::Text), ("each.value", Ty::Text)],
    };
    refs.extend(own.iter().map(|(text, ty)| Ref {
        text: (*text).to_owned(),
        ty: *ty,
        sensitive: false,
        known: true,
        nullable: false,
    }));
}

fn mend(body: &mut Body, known: &BTreeSet<&str>, refs: &[Ref], chance: &mut Chance) {
    for item in &mut body.0 {
        match item {
            Item::Attribute(_, expr) => {
                let lost = expr.uses.iter().any(|used| {
                    !known.contains(used.as_str()) && !used.starts_with("self.") && !used.starts_with("it.")
                });
                if lost && expr.ty != Ty::Fixed {
                    let mut maker = Maker {
                        chance,
                        scope: refs,
                        plain: false,
                    };
                    *expr = maker.expr(expr.ty);
                    if expr.ty == Ty::Condition && expr.uses.is_empty() {
                        expr.text = "terraform.workspace != \"nobody\"".to_owned();
                    }
                } else if lost {
                    // Marked, and dropped below.
                    expr.text.clear();
                }
            }
            Item::Block(block) => mend(&mut block.body, known, refs, chance),
        }
    }
    body.0
        .retain(|item| !matches!(item, Item::Attribute(_, expr) if expr.text.is_empty()));
}
