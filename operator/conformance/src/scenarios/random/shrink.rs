//! A case made smaller while it differs in the same way.

use std::collections::BTreeSet;

use super::{
    case::{Body, Case, Expr, Item},
    kinds::Ty,
};

/// Ways to make a case smaller, the most promising first.
pub(super) fn candidates(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    for at in (0..case.steps.len()).rev() {
        if case.steps.len() > 1 {
            let mut smaller = case.clone();
            smaller.steps.remove(at);
            found.push(smaller);
        }
    }
    let places = places(case);
    let blocks: Vec<&Place> = places.iter().filter(|place| place.items.len() == 1).collect();
    let mut size = blocks.len() / 2;
    while size > 1 {
        for group in blocks.chunks(size) {
            found.push(without(case, group));
        }
        size /= 2;
    }
    found.extend(blocks.iter().rev().map(|place| without(case, &[place])));
    for at in 0..case.steps.len() {
        for edit in 0..case.steps[at].world.len() {
            let mut smaller = case.clone();
            smaller.steps[at].world.remove(edit);
            found.push(smaller);
        }
        for name in case.steps[at].options.keys() {
            let mut smaller = case.clone();
            smaller.steps[at].options.remove(name);
            found.push(smaller);
        }
        for name in case.steps[at].vars.keys() {
            let mut smaller = case.clone();
            smaller.steps[at].vars.remove(name);
            found.push(smaller);
        }
        let names: Vec<String> = case.steps[at].files.keys().cloned().collect();
        for name in names.iter().filter(|name| *name != "main.tf") {
            let mut smaller = case.clone();
            for step in &mut smaller.steps {
                step.files.remove(name);
            }
            found.push(smaller);
        }
    }
    found.extend(
        places
            .iter()
            .filter(|place| place.items.len() > 1)
            .map(|place| without(case, &[place])),
    );
    // One step as the one before it, so that less changes.
    for at in 1..case.steps.len() {
        if case.steps[at].files != case.steps[at - 1].files {
            let mut smaller = case.clone();
            smaller.steps[at].files = smaller.steps[at - 1].files.clone();
            found.push(smaller);
        }
    }
    found.extend(simpler(case));
    found.retain(|smaller| smaller != case);
    found
}

/// Where something stands: the file, and the way down to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    items: Vec<String>,
}

/// The names of items of a body: the same for what is the same thing in several steps.
fn keys(body: &Body) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for item in &body.0 {
        let name = match item {
            Item::Attribute(name, _) => format!("={name}"),
            Item::Block(block) => format!("{} {}", block.kind, block.labels.join(" ")),
        };
        let times = seen
            .iter()
            .filter(|one| one.rsplit_once('#').map(|(name, _)| name) == Some(&name))
            .count();
        seen.push(format!("{name}#{times}"));
    }
    seen
}

fn places(case: &Case) -> Vec<Place> {
    let mut found = BTreeSet::new();
    let mut ordered = Vec::new();
    for step in &case.steps {
        for (file, body) in &step.files {
            let mut below = Vec::new();
            gather(body, &mut Vec::new(), &mut below);
            for items in below {
                let place = Place {
                    file: file.clone(),
                    items,
                };
                if found.insert(place.clone()) {
                    ordered.push(place);
                }
            }
        }
    }
    ordered
}

fn gather(body: &Body, above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (item, key) in body.0.iter().zip(keys(body)) {
        above.push(key);
        found.push(above.clone());
        if let Item::Block(block) = item {
            gather(&block.body, above, found);
        }
        above.pop();
    }
}

fn without(case: &Case, places: &[&Place]) -> Case {
    let mut smaller = case.clone();
    for step in &mut smaller.steps {
        for (file, body) in &mut step.files {
            let here: Vec<&[String]> = places
                .iter()
                .filter(|place| place.file == *file)
                .map(|place| &*place.items)
                .collect();
            drop_items(body, &here);
        }
    }
    smaller
}

fn drop_items(body: &mut Body, places: &[&[String]]) {
    let keys = keys(body);
    let mut at = 0;
    body.0.retain_mut(|item| {
        let key = &keys[at];
        at += 1;
        let here: Vec<&[String]> = places
            .iter()
            .filter(|place| place.first() == Some(key))
            .map(|place| &place[1..])
            .collect();
        if here.iter().any(|rest| rest.is_empty()) {
            return false;
        }
        if let (Item::Block(block), false) = (item, here.is_empty()) {
            drop_items(&mut block.body, &here);
        }
        true
    });
}

/// Cases with one expression made simpler wherever it stands.
fn simpler(case: &Case) -> Vec<Case> {
    let mut texts: Vec<Expr> = Vec::new();
    for step in &case.steps {
        for body in step.files.values() {
            each(body, &mut |expr| {
                if !texts.iter().any(|known| known.text == expr.text) {
                    texts.push(expr.clone());
                }
            });
        }
    }
    let mut found = Vec::new();
    for expr in texts {
        let simple: &[&str] = match expr.ty {
            Ty::Text => &["\"x\""],
            Ty::Number => &["1"],
            Ty::Bool | Ty::Condition => &["true", "false"],
            Ty::List | Ty::Slots | Ty::Hooks => &["[]", "[\"x\"]"],
            Ty::Map | Ty::Drawers => &["{}", "{ k = \"x\" }"],
            Ty::Any => &["\"x\""],
            _ => &[],
        };
        if simple.contains(&&*expr.text) {
            continue;
        }
        let shorter = expr.uses.iter().map(String::as_str);
        let whole = shorter.filter(|used| *used != expr.text && expr.ty != Ty::Fixed);
        for text in simple.iter().copied().chain(whole) {
            let mut smaller = case.clone();
            for body in smaller.steps.iter_mut().flat_map(|step| step.files.values_mut()) {
                replace(body, &expr.text, text);
            }
            found.push(smaller);
        }
    }
    found
}

fn each(body: &Body, seen: &mut impl FnMut(&Expr)) {
    for item in &body.0 {
        match item {
            Item::Attribute(_, expr) => seen(expr),
            Item::Block(block) => each(&block.body, &mut *seen),
        }
    }
}

fn replace(body: &mut Body, from: &str, to: &str) {
    for item in &mut body.0 {
        match item {
            Item::Attribute(_, expr) if expr.text == from => {
                expr.text = to.to_owned();
                expr.uses.retain(|used| used == to);
            }
            Item::Attribute(..) => {}
            Item::Block(block) => replace(&mut block.body, from, to),
        }
    }
}
