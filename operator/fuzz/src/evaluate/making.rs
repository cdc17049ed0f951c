//! Expressions as text, each of a kind that fits its place, so that most of them can be evaluated.

use super::choices::Choices;
use super::forms::{ANY, FORMS, Kind, LEAVES, of};

/// How deep forms stand in each other.
const DEPTH: usize = 5;

/// Makes an expression.
pub(crate) fn expression(choices: &mut Choices<'_>) -> String {
    let mut making = Making {
        choices,
        text: String::new(),
        names: Vec::new(),
        made: 0,
    };
    let kind = making.choices.one(ANY);
    making.part(kind, DEPTH);
    making.text
}

struct Making<'c, 'i> {
    choices: &'c mut Choices<'i>,
    text: String,
    /// Local names in sight, with their kinds.
    names: Vec<(String, Kind)>,
    /// How many names were made, so that each is new.
    made: usize,
}

impl Making<'_, '_> {
    fn part(&mut self, kind: Kind, depth: usize) {
        // Now and then a part is of another kind than its place asks for.
        let kind = if kind == 'x' || self.choices.below(24) == 23 {
            self.choices.one(ANY)
        } else {
            kind
        };
        let forms = of(FORMS, kind);
        let chosen = self.choices.below(forms.len() + forms.len() / 2 + 1);
        match forms.get(chosen.wrapping_sub(1 + forms.len() / 2)) {
            Some(form) if depth > 0 => self.form(form, depth - 1),
            _ => self.leaf(kind),
        }
    }

    fn leaf(&mut self, kind: Kind) {
        let near = self.names.iter().rev().find(|(_, of)| *of == kind);
        match near {
            Some((name, _)) if self.choices.flip() => self.text.push_str(name),
            _ => self.text.push_str(self.choices.one(of(LEAVES, kind))),
        }
    }

    fn form(&mut self, form: &str, depth: usize) {
        let outer = self.names.len();
        let mut pending = Vec::new();
        let mut letters = form.chars();
        while let Some(letter) = letters.next() {
            if letter != '@' {
                self.text.push(letter);
                continue;
            }
            match letters.next() {
                Some('^') => {
                    let name = format!("v{}", self.made);
                    self.made += 1;
                    self.text.push_str(&name);
                    pending.extend(letters.next().map(|kind| (name, kind)));
                }
                Some('!') => self.names.append(&mut pending),
                Some(kind) => self.part(kind, depth),
                None => {}
            }
        }
        self.names.truncate(outer);
    }
}
