//! Mappings, sequences and blocks to text: which parts are shown, how they are aligned, how many are left out.

use std::{fmt::Write as _, sync::Arc};

use ashlar_eval::quote;
use ashlar_syntax::is_identifier;

use super::{
    diff::{Diff, Items, Keys, Nested},
    draw::{Force, Manner, Pen},
    ink::Sign,
};

/// What is always shown, since it tells which object is meant.
const TELLING: [&str; 3] = ["id", "name", "tags"];

impl Pen {
    pub(super) fn mapping(
        &mut self,
        diff: &Diff,
        entries: &[(Arc<str>, Diff)],
        keys: Keys,
        indent: usize,
        manner: Manner,
    ) {
        let pushes = keys == Keys::NestedElements;
        if entries.is_empty() {
            self.put("{}");
            self.null(diff, manner);
            self.forces(diff.forces && !pushes, manner);
            return;
        }
        let inside = Manner {
            no_null: match keys {
                Keys::Attributes | Keys::NestedElements => true,
                Keys::NestedAttributes => false,
                Keys::Elements => diff.sign == Sign::Remove,
            },
            force: if pushes && diff.forces {
                Force::All
            } else {
                manner.force
            },
            ..manner
        };
        let is_object = matches!(keys, Keys::Attributes | Keys::NestedAttributes);
        self.out.push('{');
        self.forces(diff.forces && !pushes, manner);
        self.out.push('\n');
        self.entries(entries, is_object, !pushes, indent, inside);
        self.close(indent, '}');
        self.null(diff, manner);
    }

    /// Lines of the form `name = value`, and how many were left out.
    fn entries(
        &mut self,
        entries: &[(Arc<str>, Diff)],
        is_object: bool,
        aligned: bool,
        indent: usize,
        manner: Manner,
    ) {
        let shown = |name: &str| {
            if is_object && is_identifier(name) {
                name.to_owned()
            } else {
                quote(name)
            }
        };
        let width = entries
            .iter()
            .map(|(name, _)| shown(name).chars().count())
            .max()
            .unwrap_or(0);
        // More is no width for a format string.
        let width = if aligned {
            width.min(usize::from(u16::MAX))
        } else {
            0
        };
        let mut hidden = 0;
        for (name, diff) in entries {
            let telling = is_object && TELLING.contains(&&**name);
            if diff.sign == Sign::Same && !telling && !manner.everything {
                hidden += 1;
                continue;
            }
            self.turn(diff.turn.as_ref(), indent + 1);
            self.line(indent + 1, diff.sign);
            let name = shown(name);
            let _ = write!(self.out, "{name:width$} = ");
            let everything = manner.everything || telling;
            self.part(diff, indent + 1, Manner { everything, ..manner });
            self.out.push('\n');
        }
        self.unchanged(
            indent + 1,
            if is_object { "attribute" } else { "element" },
            hidden,
        );
    }

    pub(super) fn sequence(
        &mut self,
        diff: &Diff,
        items: &[Diff],
        items_are: Items,
        indent: usize,
        manner: Manner,
    ) {
        let pushes = items_are == Items::NestedUnordered;
        self.out.push('[');
        if !items.is_empty() {
            self.forces(diff.forces && !pushes, manner);
            self.out.push('\n');
            let inside = Manner {
                no_null: true,
                force: if pushes && diff.forces {
                    Force::All
                } else {
                    manner.force
                },
                ..manner
            };
            self.items(items, items_are, indent, inside);
            self.line(indent, Sign::Same);
        }
        self.out.push(']');
        self.null(diff, manner);
        if items.is_empty() {
            self.forces(diff.forces && !pushes, manner);
        }
    }

    /// Elements that change; in lists with their neighbours, as the place matters there.
    fn items(&mut self, items: &[Diff], items_are: Items, indent: usize, manner: Manner) {
        let changes = |at: Option<usize>| {
            at.and_then(|at| items.get(at))
                .is_some_and(|item| item.sign != Sign::Same)
        };
        let mut hidden = 0;
        for (at, item) in items.iter().enumerate() {
            let near = items_are == Items::Ordered && (changes(at.checked_sub(1)) || changes(Some(at + 1)));
            let same = item.sign == Sign::Same;
            if same && !near && !manner.everything {
                hidden += 1;
                continue;
            }
            if items_are == Items::Ordered {
                self.unchanged(indent + 1, "element", std::mem::take(&mut hidden));
            }
            self.turn(item.turn.as_ref(), indent + 1);
            self.line(indent + 1, item.sign);
            let everything = manner.everything || same;
            self.part(item, indent + 1, Manner { everything, ..manner });
            self.put(",\n");
        }
        self.unchanged(indent + 1, "element", hidden);
    }

    pub(super) fn block(
        &mut self,
        diff: &Diff,
        attributes: &[(Arc<str>, Diff)],
        blocks: &[Nested],
        indent: usize,
        manner: Manner,
    ) {
        self.out.push('{');
        self.forces(diff.forces, manner);
        if attributes.is_empty() && blocks.is_empty() {
            self.out.push('}');
            return;
        }
        self.out.push('\n');
        let inside = Manner {
            force: Force::Own,
            ..manner
        };
        self.entries(attributes, true, true, indent, inside);
        let mut last_kind = None;
        let mut hidden = 0;
        for nested in blocks {
            if nested.diff.sign == Sign::Same && !manner.everything {
                hidden += 1;
                continue;
            }
            if last_kind.is_some_and(|kind| kind != &nested.kind)
                || (last_kind.is_none() && !attributes.is_empty())
            {
                self.out.push('\n');
            }
            last_kind = Some(&nested.kind);
            self.turn(nested.diff.turn.as_ref(), indent + 1);
            self.line(indent + 1, nested.diff.sign);
            self.put(&nested.kind);
            self.out.push(' ');
            if let Some(label) = &nested.label {
                let label = quote(label);
                let _ = write!(self.out, "{label} ");
            }
            let force = if nested.all_force { Force::All } else { Force::Own };
            self.part(&nested.diff, indent + 1, Manner { force, ..manner });
            self.out.push('\n');
        }
        if hidden > 0 {
            self.out.push('\n');
            self.unchanged(indent + 1, "block", hidden);
        }
        self.close(indent, '}');
    }
}
