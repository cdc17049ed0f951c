//! Changes of a configuration between two steps, each made at random.

use serde_json::Value as Json;

use super::{
    case::{Block, Expr, Item},
    estate::{Estate, Part, Repeat, What, add_own},
    exprs::Maker,
    kinds::{Kind, Use},
    moves::moved,
    resources::{keys, lifecycle, object_name, rack, repeat, set_repeat},
};
use crate::chance::Chance;

impl Estate {
    /// Changes something. What it answers is to be there in the world first.
    pub(super) fn edit(&mut self, chance: &mut Chance) -> Option<Json> {
        let folders: Vec<String> = self.modules.keys().cloned().collect();
        // The root is changed as often as all other modules together.
        let folder = match chance.odds(50) {
            true => String::new(),
            false => folders[chance.below(folders.len())].clone(),
        };
        let mut made = None;
        match chance.below(32) {
            0..=8 => self.change_argument(&folder, chance),
            9 | 10 => {
                self.add_resource(&folder, chance);
                if chance.odds(40) {
                    self.add_output(&folder, chance);
                }
            }
            11 | 12 => self.remove(&folder, chance),
            13 | 14 => self.rename(&folder, chance),
            15..=17 => self.change_repeat(&folder, chance),
            18 | 19 => self.change_lifecycle(&folder, chance),
            20 | 21 => self.change_value(&folder, chance),
            22 | 23 => self.change_call(&folder, chance),
            24 => self.drop_output(&folder, chance),
            25 => self.change_provider(&folder, chance),
            26 => self.change_type(&folder, chance),
            27 => self.move_into_module(chance),
            28 | 29 => made = self.import(chance),
            30 => self.add_check(&folder, chance),
            _ => self.change_region(chance),
        }
        self.repair(chance);
        made
    }

    /// The places of parts of a module that fit, one of them.
    pub(super) fn pick(
        &self,
        folder: &str,
        chance: &mut Chance,
        fits: impl Fn(&Part) -> bool,
    ) -> Option<usize> {
        let parts = self.modules[folder].parts.iter().enumerate();
        let found: Vec<usize> = parts.filter(|(_, part)| fits(part)).map(|(at, _)| at).collect();
        chance.pick(&found)
    }

    pub(super) fn part(&mut self, folder: &str, at: usize) -> Option<&mut Part> {
        self.modules.get_mut(folder)?.parts.get_mut(at)
    }

    pub(super) fn resource(
        &self,
        folder: &str,
        chance: &mut Chance,
    ) -> Option<(usize, &'static Kind, String, Repeat)> {
        let at = self.pick(folder, chance, |part| matches!(part.what, What::Resource { .. }))?;
        match &self.modules[folder].parts[at].what {
            What::Resource { kind, name, repeat } => Some((at, kind, name.clone(), repeat.clone())),
            _ => None,
        }
    }

    pub(super) fn add_other(&mut self, block: Block) {
        self.add_other_in("", block);
    }

    pub(super) fn add_other_in(&mut self, folder: &str, block: Block) {
        if let Some(module) = self.modules.get_mut(folder) {
            module.parts.push(Part {
                what: What::Other,
                block,
            });
        }
    }

    fn change_argument(&mut self, folder: &str, chance: &mut Chance) {
        let Some((at, kind, ..)) = self.resource(folder, chance) else {
            return;
        };
        let mut refs = self.scope(folder, at);
        let Some(part) = self.part(folder, at) else { return };
        add_own(&part.what, &mut refs);
        let mut maker = Maker {
            chance,
            scope: &refs,
            plain: false,
        };
        if kind.racks && maker.chance.odds(50) {
            let is_rack = |item: &Item| matches!(item, Item::Block(block) if block.kind != "lifecycle");
            if maker.chance.odds(50) {
                part.block.body.0.retain(|item| !is_rack(item));
            } else if let Some(last) = part.block.body.0.iter().rposition(is_rack) {
                part.block.body.0.remove(last);
            }
            if maker.chance.odds(70) {
                rack(&mut part.block.body, kind, &mut maker);
                // A frame may stand there only once.
                let mut frames = 0;
                part.block.body.0.retain(|item| {
                    let is_frame = matches!(item, Item::Block(block) if block.kind == "frame");
                    frames += usize::from(is_frame);
                    !is_frame || frames == 1
                });
            }
            return;
        }
        let settable: Vec<_> = kind
            .attributes
            .iter()
            .filter(|attribute| !matches!(attribute.using, Use::Computed | Use::Rare))
            .collect();
        let Some(attribute) = maker.chance.pick(&settable) else {
            return;
        };
        if attribute.using != Use::Required
            && part.block.body.get(attribute.name).is_some()
            && maker.chance.odds(25)
        {
            part.block.body.remove(attribute.name);
        } else {
            let value = if attribute.using == Use::Required {
                maker.needed()
            } else {
                maker.expr(attribute.ty)
            };
            part.block.body.set(attribute.name, value);
        }
    }

    fn remove(&mut self, folder: &str, chance: &mut Chance) {
        let Some((at, kind, name, _)) = self.resource(folder, chance) else {
            return;
        };
        if let Some(module) = self.modules.get_mut(folder) {
            module.parts.remove(at);
        }
        if !kind.data && chance.odds(35) {
            let destroy = if chance.odds(50) { "true" } else { "false" };
            let rule = Block::new("lifecycle", &[]).with("destroy", Expr::fixed(destroy));
            let from = Expr::fixed(format!("{}.{name}", kind.name));
            self.add_other_in(folder, Block::new("removed", &[]).with("from", from).inside(rule));
        }
    }

    fn change_repeat(&mut self, folder: &str, chance: &mut Chance) {
        let Some((at, kind, name, old)) = self.resource(folder, chance) else {
            return;
        };
        let new = match (&old, chance.odds(60)) {
            (Repeat::Count(_), true) => Repeat::Count(chance.below(4)),
            (Repeat::Each(_), true) => Repeat::Each(keys(chance)),
            _ => repeat(chance),
        };
        let scope = self.scope(folder, at);
        let mut maker = Maker {
            chance,
            scope: &scope,
            plain: true,
        };
        let Some(part) = self.part(folder, at) else { return };
        set_repeat(&mut part.block.body, &new, &mut maker);
        if kind.in_world {
            let mut object = object_name(folder, &name, &new);
            // Now and then the first instance keeps its object's name, so that a move changes nothing.
            if let (Repeat::One, Repeat::Each(keys), true) = (&old, &new, maker.chance.odds(50)) {
                let (one, many) = (object_name(folder, &name, &old).text, object.text);
                object = Expr::fixed(format!("each.key == {:?} ? {one} : {many}", keys[0]));
            }
            part.block.body.set("name", object);
        }
        if let What::Resource { repeat, .. } = &mut part.what {
            *repeat = new.clone();
        }
        let first = |repeat: &Repeat| match repeat {
            Repeat::One => Some(String::new()),
            Repeat::Count(0) => None,
            Repeat::Count(_) => Some("[0]".to_owned()),
            Repeat::Each(keys) => keys.first().map(|key| format!("[{key:?}]")),
            Repeat::Counted | Repeat::Keyed => None,
        };
        if let (Some(from), Some(to)) = (first(&old), first(&new))
            && from != to
            && !kind.data
            && chance.odds(60)
        {
            let address = format!("{}.{name}", kind.name);
            let block = moved(format!("{address}{from}"), format!("{address}{to}"));
            self.add_other_in(folder, block);
        }
    }

    fn change_lifecycle(&mut self, folder: &str, chance: &mut Chance) {
        let Some((at, kind, ..)) = self.resource(folder, chance) else {
            return;
        };
        let mut refs = self.scope(folder, at);
        let Some(part) = self.part(folder, at) else { return };
        add_own(&part.what, &mut refs);
        part.block
            .body
            .0
            .retain(|item| !matches!(item, Item::Block(block) if block.kind == "lifecycle"));
        let mut maker = Maker {
            chance,
            scope: &refs,
            plain: false,
        };
        lifecycle(&mut part.block.body, kind, &mut maker);
    }

    /// Another default of a variable, or another local value.
    fn change_value(&mut self, folder: &str, chance: &mut Chance) {
        let has_value = |part: &Part| match &part.what {
            What::Variable { name, .. } => name != "prefix",
            What::Local { .. } => true,
            _ => false,
        };
        let Some(at) = self.pick(folder, chance, has_value) else {
            return;
        };
        let refs = self.scope(folder, at);
        let Some(part) = self.part(folder, at) else { return };
        let (name, ty, scope) = match &part.what {
            What::Variable { ty, .. } => ("default".to_owned(), *ty, &[][..]),
            What::Local { name, ty } => (name.clone(), *ty, &refs[..]),
            _ => return,
        };
        let mut maker = Maker {
            chance,
            scope,
            plain: false,
        };
        let value = match &part.what {
            What::Variable { .. } => maker.constant(ty),
            _ => maker.expr(ty),
        };
        part.block.body.set(&name, value);
    }

    fn change_call(&mut self, folder: &str, chance: &mut Chance) {
        let Some(at) = self.pick(folder, chance, |part| matches!(part.what, What::Call { .. })) else {
            self.add_call(folder, chance);
            return;
        };
        if chance.odds(15) {
            let Some(module) = self.modules.get_mut(folder) else {
                return;
            };
            let part = module.parts.remove(at);
            if let (What::Call { name, .. }, true) = (&part.what, chance.odds(30)) {
                let rule = Block::new("lifecycle", &[]).with("destroy", Expr::fixed("false"));
                let from = Expr::fixed(format!("module.{name}"));
                self.add_other_in(folder, Block::new("removed", &[]).with("from", from).inside(rule));
            }
            return;
        }
        let refs = self.scope(folder, at);
        let mut called = Vec::new();
        if let What::Call { folder, .. } = &self.modules[folder].parts[at].what {
            for part in &self.modules[folder].parts {
                if let What::Variable { name, ty, .. } = &part.what
                    && name != "prefix"
                {
                    called.push((name.clone(), *ty));
                }
            }
        }
        let Some(part) = self.part(folder, at) else { return };
        if chance.odds(40)
            && let What::Call {
                name, repeat: old, ..
            } = &mut part.what
        {
            let new = repeat(chance);
            let (name, before) = (name.clone(), old.clone());
            *old = new.clone();
            let mut maker = Maker {
                chance,
                scope: &refs,
                plain: true,
            };
            set_repeat(&mut part.block.body, &new, &mut maker);
            part.block.body.set("prefix", object_name(folder, &name, &new));
            if let (Repeat::One, Repeat::Count(1..), true) = (&before, &new, chance.odds(60)) {
                self.add_other_in(
                    folder,
                    moved(format!("module.{name}"), format!("module.{name}[0]")),
                );
            }
        } else if !called.is_empty() {
            let (name, ty) = &called[chance.below(called.len())];
            let value = Maker {
                chance,
                scope: &refs,
                plain: false,
            }
            .expr(*ty);
            part.block.body.set(name, value);
        }
    }

    fn drop_output(&mut self, folder: &str, chance: &mut Chance) {
        if chance.odds(50) {
            self.add_output(folder, chance);
        } else if let Some(at) = self.pick(folder, chance, |part| matches!(part.what, What::Output { .. }))
            && let Some(module) = self.modules.get_mut(folder)
        {
            module.parts.remove(at);
        }
    }

    fn change_provider(&mut self, folder: &str, chance: &mut Chance) {
        let Some((at, kind, ..)) = self.resource(folder, chance) else {
            return;
        };
        let alias = self.modules[folder].aliases.first().cloned();
        let Some(part) = self.part(folder, at) else { return };
        if part.block.body.get("provider").is_some() {
            part.block.body.remove("provider");
        } else if let (Some(alias), "kiln") = (alias, kind.provider) {
            part.block.body.set("provider", Expr::fixed(alias));
        }
    }

    fn change_region(&mut self, chance: &mut Chance) {
        let Some(at) = self.pick("", chance, |part| part.block.kind == "provider") else {
            return;
        };
        let refs = self.scope("", at);
        let Some(part) = self.part("", at) else { return };
        let mut maker = Maker {
            chance,
            scope: &refs,
            plain: true,
        };
        let region = maker.expr(super::kinds::Ty::Text);
        part.block.body.set("region", region);
    }
}
