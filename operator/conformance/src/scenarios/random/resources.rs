//! Resources and data sources made at random, with all that may stand in their blocks.

use super::{
    case::{Block, Body, Expr, Item},
    estate::{Part, Repeat, What, add_own},
    exprs::{Maker, Ref},
    kinds::{Kind, Ty, Use},
};
use crate::chance::Chance;

/// How many there are of something new.
pub(super) fn repeat(chance: &mut Chance) -> Repeat {
    match chance.below(20) {
        0..=11 => Repeat::One,
        12..=14 => Repeat::Count(1 + chance.below(3)),
        15..=17 => Repeat::Each(keys(chance)),
        18 => Repeat::Counted,
        _ => Repeat::Keyed,
    }
}

/// Keys of instances.
pub(super) fn keys(chance: &mut Chance) -> Vec<String> {
    let mut keys: Vec<String> = ["p", "q", "r s"].iter().map(|key| (*key).to_owned()).collect();
    keys.remove(chance.below(3));
    if chance.odds(40) {
        keys.pop();
    }
    keys
}

/// Writes how many there are.
pub(super) fn set_repeat(body: &mut Body, repeat: &Repeat, maker: &mut Maker<'_>) {
    body.remove("count");
    body.remove("for_each");
    match repeat {
        Repeat::One => {}
        Repeat::Count(count) => body.set("count", Expr::fixed(count.to_string())),
        Repeat::Each(keys) => {
            let mut uses = Vec::new();
            let text = if maker.chance.odds(50) {
                let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
                format!("toset([{}])", keys.join(", "))
            } else {
                let mut items = Vec::new();
                for key in keys {
                    let value = maker.expr(Ty::Text);
                    uses.extend(value.uses);
                    items.push(format!("{key:?} = {}", value.text));
                }
                format!("{{ {} }}", items.join(", "))
            };
            body.set("for_each", Expr::referring(text, uses));
        }
        Repeat::Counted => {
            let value = maker.expr(Ty::List);
            body.set(
                "count",
                Expr::referring(format!("length({})", value.text), value.uses),
            );
        }
        Repeat::Keyed => {
            let value = maker.expr(Ty::Map);
            body.set("for_each", Expr::referring(value.text, value.uses));
        }
    }
}

/// The expression for the name of an object, one for each instance.
pub(super) fn object_name(folder: &str, name: &str, repeat: &Repeat) -> Expr {
    let prefix = if folder.is_empty() { "" } else { "${var.prefix}-" };
    let tail = match repeat {
        Repeat::One => "",
        Repeat::Count(_) | Repeat::Counted => "-${count.index}",
        Repeat::Each(_) | Repeat::Keyed => "-${each.key}",
    };
    Expr::fixed(format!("\"{prefix}{name}{tail}\""))
}

/// A resource or a data source of a kind.
pub(super) fn resource(
    folder: &str,
    kind: &'static Kind,
    name: &str,
    scope: &[Ref],
    aliases: &[String],
    chance: &mut Chance,
) -> Part {
    let word = if kind.data { "data" } else { "resource" };
    let mut block = Block::new(word, &[kind.name, name]);
    let repeat = repeat(chance);
    if kind.provider == "kiln"
        && chance.odds(25)
        && let Some(alias) = aliases.get(chance.below(aliases.len()))
    {
        block.body.set("provider", Expr::fixed(alias.clone()));
    }
    set_repeat(
        &mut block.body,
        &repeat,
        &mut Maker {
            chance,
            scope,
            plain: true,
        },
    );
    if kind.in_world {
        block.body.set("name", object_name(folder, name, &repeat));
    }
    let what = What::Resource {
        kind,
        name: name.to_owned(),
        repeat,
    };
    let mut refs = scope.to_vec();
    add_own(&what, &mut refs);
    let mut maker = Maker {
        chance,
        scope: &refs,
        plain: false,
    };
    for attribute in kind.attributes {
        let percent = match attribute.using {
            Use::Required => 100,
            Use::Optional => 35,
            Use::Filled => 30,
            Use::Rare => 2,
            Use::Computed => 0,
        };
        if maker.chance.odds(percent) {
            let value = if attribute.using == Use::Required {
                maker.needed()
            } else {
                maker.optional(attribute.ty)
            };
            block.body.set(attribute.name, value);
        }
    }
    if kind.racks {
        rack(&mut block.body, kind, &mut maker);
    }
    if maker.chance.odds(10) {
        depends_on(&mut block.body, scope, maker.chance);
    }
    lifecycle(&mut block.body, kind, &mut maker);
    Part { what, block }
}

/// The nested blocks of a rack.
pub(super) fn rack(body: &mut Body, kind: &Kind, maker: &mut Maker<'_>) {
    if maker.chance.odds(50) {
        let mut frame = Block::new("frame", &[]).with("material", maker.needed());
        if maker.chance.odds(40) {
            frame = frame.with("finish", maker.expr(Ty::Text));
        }
        body.0.push(Item::Block(frame));
    }
    for _ in 0..maker.chance.below(3) {
        let mut bar = Block::new("bar", &[]).with("key", maker.needed());
        if maker.chance.odds(50) {
            bar = bar.with("length", maker.optional(Ty::Number));
        }
        for _ in 0..maker.chance.below(3) {
            bar = bar.inside(Block::new("clip", &[]).with("size", maker.expr(Ty::Number)));
        }
        body.0.push(Item::Block(bar));
    }
    if maker.chance.odds(40) && kind.provider == "kiln" {
        let list = maker.expr(Ty::List);
        let key = Expr::referring("peg.value", Vec::new());
        let content = Block::new("content", &[]).with("key", key);
        let of = Expr {
            text: format!("toset({})", list.text),
            uses: list.uses,
            ty: Ty::Fixed,
        };
        let dynamic = Block::new("dynamic", &["peg"])
            .with("for_each", of)
            .inside(content);
        body.0.push(Item::Block(dynamic));
    } else {
        for _ in 0..maker.chance.below(3) {
            let mut peg = Block::new("peg", &[]).with("key", maker.needed());
            if maker.chance.odds(40) {
                peg = peg.with("depth", maker.expr(Ty::Number));
            }
            body.0.push(Item::Block(peg));
        }
    }
}

/// Rules for the life of a resource.
pub(super) fn lifecycle(body: &mut Body, kind: &Kind, maker: &mut Maker<'_>) {
    if !kind.data {
        if maker.chance.odds(25) {
            body.single("lifecycle")
                .set("create_before_destroy", Expr::fixed("true"));
        }
        if maker.chance.odds(10) {
            let settable: Vec<&str> = kind
                .attributes
                .iter()
                .filter(|attribute| attribute.using != Use::Computed)
                .map(|attribute| attribute.name)
                .collect();
            let text = match settable.get(maker.chance.below(settable.len() + 1)) {
                Some(name) => format!("[{name}]"),
                None => "all".to_owned(),
            };
            body.single("lifecycle").set("ignore_changes", Expr::fixed(text));
        }
        if maker.chance.odds(3) {
            body.single("lifecycle")
                .set("prevent_destroy", Expr::fixed("true"));
        }
        if maker.chance.odds(10) {
            let managed = |one: &&Ref| {
                let is_resource = one.text.starts_with("kiln") || one.text.starts_with("terraform_data");
                is_resource && !one.text.contains(['*', '('])
            };
            let fits: Vec<&Ref> = maker.scope.iter().filter(managed).collect();
            if let Some(one) = maker.chance.pick(&fits) {
                let value = Expr::referring(format!("[{}]", one.text), vec![one.text.clone()]);
                body.single("lifecycle").set("replace_triggered_by", value);
            }
        }
    }
    if maker.chance.odds(8)
        && let Some(block) = condition("precondition", maker)
    {
        body.single("lifecycle").0.push(Item::Block(block));
    }
    if maker.chance.odds(8) {
        let own: Vec<Ref> = kind
            .attributes
            .iter()
            .filter(|attribute| matches!(attribute.using, Use::Computed | Use::Filled))
            .map(|attribute| Ref {
                text: format!("self.{}", attribute.name),
                ty: attribute.ty,
                sensitive: attribute.sensitive,
                known: false,
                nullable: false,
            })
            .collect();
        let mut maker = Maker {
            chance: maker.chance,
            scope: &own,
            plain: false,
        };
        if let Some(block) = condition("postcondition", &mut maker) {
            body.single("lifecycle").0.push(Item::Block(block));
        }
    }
}

/// A condition; none when there is nothing to say it of.
pub(super) fn condition(kind: &str, maker: &mut Maker<'_>) -> Option<Block> {
    let condition = maker.expr(Ty::Condition);
    if condition.uses.is_empty() {
        return None;
    }
    let block = Block::new(kind, &[]).with("condition", condition);
    Some(block.with("error_message", maker.expr(Ty::Message)))
}

/// Says that all of something comes first.
pub(super) fn depends_on(body: &mut Body, scope: &[Ref], chance: &mut Chance) {
    let whole: Vec<&Ref> = scope.iter().filter(|one| one.ty == Ty::Fixed).collect();
    if let Some(one) = chance.pick(&whole) {
        let value = Expr::referring(format!("[{}]", one.text), vec![one.text.clone()]);
        body.set("depends_on", value);
    }
}
