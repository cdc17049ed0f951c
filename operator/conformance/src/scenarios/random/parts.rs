//! The parts of a configuration, each made at random for the place where it will stand.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    case::{Block, Expr},
    drift::value,
    estate::{CLEAN, Estate, Module, Part, What, add_own},
    exprs::{Maker, Ref},
    kinds::{KINDS, Ty},
    resources::{condition, depends_on, object_name, repeat, resource, set_repeat},
};
use crate::chance::Chance;

/// Types of values that variables, locals and outputs have.
const PASSED: [Ty; 8] = [
    Ty::Text,
    Ty::Text,
    Ty::Text,
    Ty::Number,
    Ty::Bool,
    Ty::List,
    Ty::Map,
    Ty::Any,
];

impl Estate {
    /// A whole configuration.
    pub(super) fn new(chance: &mut Chance) -> Self {
        let mut estate = Self::default();
        estate.modules.insert(String::new(), Module::default());
        for _ in 0..1 + chance.below(4) {
            estate.add_variable("", chance);
        }
        estate.add_providers(chance);
        let calls = [0, 0, 1, 1, 2][chance.below(5)];
        for _ in 0..calls {
            estate.add_module(chance);
        }
        for _ in 0..3 + chance.below(5) {
            if chance.odds(20) {
                estate.add_local("", chance);
            } else {
                estate.add_resource("", chance);
            }
        }
        for _ in 0..calls {
            estate.add_call("", chance);
            if chance.odds(60) {
                estate.add_resource("", chance);
            }
        }
        for _ in 0..chance.below(4) {
            estate.add_output("", chance);
        }
        if chance.odds(20) {
            estate.add_check("", chance);
        }
        estate.repair(chance);
        estate
    }

    /// Values that are given for some of the root's variables.
    pub(super) fn given(&self, chance: &mut Chance) -> BTreeMap<String, Json> {
        let mut given = BTreeMap::new();
        for part in &self.modules[""].parts {
            if let What::Variable { name, ty, .. } = &part.what
                && matches!(ty, Ty::Text | Ty::Number | Ty::Bool)
                && chance.odds(12)
                && let Some(value) = value(*ty, chance)
            {
                given.insert(name.clone(), value);
            }
        }
        given
    }

    /// A name that nothing has.
    pub(super) fn name(&mut self) -> String {
        self.names += 1;
        let letter = char::from(b'a' + u8::try_from((self.names - 1) % 26).unwrap_or(0));
        match (self.names - 1) / 26 {
            0 => letter.to_string(),
            round => format!("{letter}{round}"),
        }
    }

    fn end(&self, folder: &str) -> usize {
        self.modules[folder].parts.len()
    }

    fn push(&mut self, folder: &str, what: What, block: Block) {
        if let Some(module) = self.modules.get_mut(folder) {
            module.parts.push(Part { what, block });
        }
        self.settle();
    }

    /// Configurations of the first provider: the default one, and others by alias.
    fn add_providers(&mut self, chance: &mut Chance) {
        let scope = self.scope("", self.end(""));
        let mut maker = Maker {
            chance,
            scope: &scope,
            plain: true,
        };
        let mut blocks = Vec::new();
        let mut aliases = Vec::new();
        if maker.chance.odds(40) {
            blocks.push(Block::new("provider", &["kiln"]).with("region", maker.expr(Ty::Text)));
        }
        if maker.chance.odds(40) {
            let block = Block::new("provider", &["kiln"]).with("alias", Expr::quoted("b"));
            blocks.push(block.with("region", maker.expr(Ty::Text)));
            aliases.push("kiln.b".to_owned());
        }
        for block in blocks {
            self.push("", What::Other, block);
        }
        if let Some(module) = self.modules.get_mut("") {
            module.aliases = aliases;
        }
    }

    /// A module that calls may name, with variables, parts and outputs.
    fn add_module(&mut self, chance: &mut Chance) {
        let folder = format!("m{}", self.modules.len());
        let aliases = if chance.odds(25) {
            vec!["kiln.x".to_owned()]
        } else {
            Vec::new()
        };
        self.modules.insert(
            folder.clone(),
            Module {
                parts: Vec::new(),
                aliases,
            },
        );
        let prefix = Block::new("variable", &["prefix"]).with("type", Expr::fixed("string"));
        let what = What::Variable {
            name: "prefix".to_owned(),
            ty: Ty::Text,
            flows: CLEAN,
        };
        self.push(&folder, what, prefix);
        for _ in 0..chance.below(3) {
            self.add_variable(&folder, chance);
        }
        for _ in 0..1 + chance.below(3) {
            self.add_resource(&folder, chance);
        }
        if chance.odds(25) {
            self.add_local(&folder, chance);
        }
        if self.modules.len() > 2 && chance.odds(50) {
            self.add_call(&folder, chance);
        }
        for _ in 0..1 + chance.below(2) {
            self.add_output(&folder, chance);
        }
    }

    /// An input variable.
    pub(super) fn add_variable(&mut self, folder: &str, chance: &mut Chance) {
        let name = self.name();
        let ty = if chance.odds(10) {
            Ty::Plan
        } else {
            chance.pick(&PASSED).unwrap_or(Ty::Text)
        };
        let constraint = match ty {
            Ty::Number => "number",
            Ty::Bool => "bool",
            Ty::List => "list(string)",
            Ty::Map => "map(string)",
            Ty::Any => "any",
            Ty::Plan => "object({ size = optional(number, 3), tags = optional(map(string), {}) })",
            _ => "string",
        };
        let mut maker = Maker {
            chance,
            scope: &[],
            plain: true,
        };
        let mut block = Block::new("variable", &[&name])
            .with("type", Expr::fixed(constraint))
            .with("default", maker.constant(ty));
        if chance.odds(8) {
            block = block.with("sensitive", Expr::fixed("true"));
        }
        if chance.odds(8) {
            block = block.with("nullable", Expr::fixed("false"));
        }
        if chance.odds(10) {
            let own = [Ref {
                text: format!("var.{name}"),
                ty,
                sensitive: false,
                known: true,
                nullable: false,
            }];
            let mut maker = Maker {
                chance,
                scope: &own,
                plain: false,
            };
            let condition = maker.expr(Ty::Condition);
            if !condition.uses.is_empty() {
                let validation = Block::new("validation", &[])
                    .with("condition", Expr::referring(condition.text, Vec::new()))
                    .with("error_message", Expr::quoted("Because it is not valid."));
                block = block.inside(validation);
            }
        }
        self.push(
            folder,
            What::Variable {
                name,
                ty,
                flows: CLEAN,
            },
            block,
        );
    }

    pub(super) fn add_local(&mut self, folder: &str, chance: &mut Chance) {
        let name = self.name();
        let ty = chance.pick(&PASSED).unwrap_or(Ty::Text);
        let scope = self.scope(folder, self.end(folder));
        let value = Maker {
            chance,
            scope: &scope,
            plain: false,
        }
        .expr(ty);
        let block = Block::new("locals", &[]).with(&name, value);
        self.push(folder, What::Local { name, ty }, block);
    }

    pub(super) fn add_output(&mut self, folder: &str, chance: &mut Chance) {
        let name = self.name();
        let scope = self.scope(folder, self.end(folder));
        let ty = chance.pick(&PASSED).unwrap_or(Ty::Text);
        let mut maker = Maker {
            chance,
            scope: &scope,
            plain: false,
        };
        let mut block = Block::new("output", &[&name]).with("value", maker.expr(ty));
        if maker.chance.odds(7)
            && let Some(condition) = condition("precondition", &mut maker)
        {
            block = block.inside(condition);
        }
        self.push(
            folder,
            What::Output {
                name,
                ty,
                flows: CLEAN,
            },
            block,
        );
    }

    pub(super) fn add_check(&mut self, folder: &str, chance: &mut Chance) {
        let name = self.name();
        let scope = self.scope(folder, self.end(folder));
        let mut maker = Maker {
            chance,
            scope: &scope,
            plain: false,
        };
        let Some(condition) = condition("assert", &mut maker) else {
            return;
        };
        let mut block = Block::new("check", &[&name]).inside(condition);
        if maker.chance.odds(30) {
            let scoped = Block::new("data", &["kiln_echo", &name]).with("input", maker.needed());
            block = block.inside(scoped);
        }
        self.push(folder, What::Other, block);
    }

    /// A call of one of the modules whose folder comes after this one's.
    pub(super) fn add_call(&mut self, folder: &str, chance: &mut Chance) {
        let others: Vec<String> = self
            .modules
            .keys()
            // A module was made after those that it calls.
            .filter(|other| !other.is_empty() && (folder.is_empty() || other.as_str() < folder))
            .cloned()
            .collect();
        let Some(called) = others.get(chance.below(others.len())).cloned() else {
            return;
        };
        let name = self.name();
        let scope = self.scope(folder, self.end(folder));
        let repeat = repeat(chance);
        let up = if folder.is_empty() { "./" } else { "../" };
        let mut block = Block::new("module", &[&name]).with("source", Expr::quoted(&format!("{up}{called}")));
        let mut maker = Maker {
            chance,
            scope: &scope,
            plain: true,
        };
        set_repeat(&mut block.body, &repeat, &mut maker);
        block.body.set("prefix", object_name(folder, &name, &repeat));
        if !self.modules[&called].aliases.is_empty() {
            let mut theirs = vec!["kiln".to_owned()];
            theirs.extend(self.modules[folder].aliases.iter().cloned());
            let chosen = &theirs[maker.chance.below(theirs.len())];
            let providers = format!("{{ kiln = kiln, kilnv5 = kilnv5, kiln.x = {chosen} }}");
            block.body.set("providers", Expr::fixed(providers));
        }
        let what = What::Call {
            name,
            folder: called.clone(),
            repeat,
        };
        let mut refs = scope.clone();
        add_own(&what, &mut refs);
        let mut maker = Maker {
            chance,
            scope: &refs,
            plain: false,
        };
        for part in &self.modules[&called].parts {
            if let What::Variable { name, ty, .. } = &part.what
                && name != "prefix"
                && maker.chance.odds(70)
            {
                let value = maker.expr(*ty);
                block.body.set(name, value);
            }
        }
        if maker.chance.odds(10) {
            depends_on(&mut block.body, &scope, maker.chance);
        }
        self.push(folder, what, block);
    }

    /// A resource or a data source.
    pub(super) fn add_resource(&mut self, folder: &str, chance: &mut Chance) {
        let name = self.name();
        let total: usize = KINDS.iter().map(|kind| kind.weight).sum();
        let mut at = chance.below(total);
        let found = KINDS.iter().find(|kind| {
            let here = at < kind.weight;
            at = at.saturating_sub(kind.weight);
            here
        });
        let Some(kind) = found else { return };
        let scope = self.scope(folder, self.end(folder));
        let aliases = &self.modules[folder].aliases;
        let part = resource(folder, kind, &name, &scope, aliases, chance);
        self.push(folder, part.what, part.block);
    }
}
