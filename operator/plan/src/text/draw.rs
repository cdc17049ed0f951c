//! A difference to text: signs, alignment, what is left out.
//!
//! Source of the layout: Terraform `internal/command/jsonformat/computed/renderers`.

use std::{fmt::Write as _, sync::Arc};

use ashlar_eval::quote;
use ashlar_syntax::is_identifier;

use super::{
    align::along_common,
    diff::{Body, Diff, Items, Keys, Nested, Turn},
    ink::{Ink, Sign},
};

/// Columns of one level.
const LEVEL: usize = 4;

/// What is always shown, since it tells which object is meant.
const TELLING: [&str; 3] = ["id", "name", "tags"];

/// How the surroundings want a part drawn.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// The surroundings say already that it goes: no `-> null`.
    no_null: bool,
    /// Show what does not change, too.
    everything: bool,
    force: Force,
}

/// Whether parts carry `# forces replacement`.
#[derive(Clone, Copy, Default, PartialEq)]
enum Force {
    /// Those that do.
    #[default]
    Own,
    /// All.
    All,
    /// None, since the whole does.
    None,
}

/// The difference as it follows `name = ` or a block's head. Lines after the first are indented by `indent` levels.
pub(super) fn draw(diff: &Diff, indent: usize, ink: Ink) -> String {
    let mut pen = Pen {
        ink,
        out: String::new(),
    };
    pen.part(diff, indent, Manner::default());
    pen.out
}

struct Pen {
    ink: Ink,
    out: String,
}

impl Pen {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Begins a line with its sign.
    fn line(&mut self, indent: usize, sign: Sign) {
        self.out.extend(std::iter::repeat_n(' ', indent * LEVEL));
        let sign = self.ink.sign(sign);
        self.put(&sign);
        self.out.push(' ');
    }

    fn close(&mut self, indent: usize, bracket: char) {
        self.line(indent, Sign::Same);
        self.out.push(bracket);
    }

    fn null(&mut self, diff: &Diff, manner: Manner) {
        if diff.sign == Sign::Remove && !manner.no_null {
            let text = self.ink.dim(" -> null");
            self.put(&text);
        }
    }

    fn forces(&mut self, forces: bool, manner: Manner) {
        if (forces || manner.force == Force::All) && manner.force != Force::None {
            let text = self.ink.red(" # forces replacement");
            self.put(&text);
        }
    }

    fn arrow(&mut self) {
        let arrow = self.ink.yellow("->");
        let _ = write!(self.out, " {arrow} ");
    }

    fn unchanged(&mut self, indent: usize, what: &str, count: usize) {
        if count > 0 {
            self.line(indent, Sign::Same);
            let plural = if count == 1 { "" } else { "s" };
            let text = self
                .ink
                .dim(&format!("# ({count} unchanged {what}{plural} hidden)"));
            self.put(&text);
            self.out.push('\n');
        }
    }

    fn turn(&mut self, turn: Option<&Turn>, indent: usize) {
        let Some(turn) = turn else { return };
        self.line(indent, Sign::Same);
        let warning = self.ink.yellow("Warning");
        let what = if turn.hides {
            "this becomes sensitive, and will not be shown from then on"
        } else {
            "this will no longer be sensitive, and will be shown from then on"
        };
        let rest = if turn.unchanged {
            "; the value itself stays"
        } else {
            ""
        };
        let _ = writeln!(self.out, "# {warning}: {what}{rest}");
    }

    fn part(&mut self, diff: &Diff, indent: usize, manner: Manner) {
        match &diff.body {
            Body::Scalar { before, after } => {
                self.scalar(diff.sign, before.as_deref(), after.as_deref());
                if before.as_deref() != Some("null") {
                    self.null(diff, manner);
                }
                self.forces(diff.forces, manner);
            }
            Body::Lines { before, after } => {
                self.lines(diff, before.as_ref(), after.as_ref(), indent, manner)
            }
            Body::Json(inner) => self.json(diff, inner, indent, manner),
            Body::Unknown(before) => {
                if let Some(before) = before {
                    let force = if diff.forces { Force::None } else { manner.force };
                    self.part(
                        before,
                        indent,
                        Manner {
                            no_null: true,
                            force,
                            ..manner
                        },
                    );
                    self.put(" -> ");
                }
                self.put("(known after apply)");
                self.forces(diff.forces, manner);
            }
            Body::Hidden => self.closed("(sensitive value)", diff, manner),
            Body::WriteOnly { sensitive: true } => {
                self.closed("(sensitive, write-only attribute)", diff, manner)
            }
            Body::WriteOnly { sensitive: false } => self.closed("(write-only attribute)", diff, manner),
            Body::TooDeep => self.closed("(nested too deep to be shown)", diff, manner),
            Body::HiddenBlock => {
                self.out.push('{');
                self.forces(diff.forces, manner);
                self.out.push('\n');
                self.line(indent, Sign::Same);
                self.put("  # (sensitive, so not shown)\n");
                self.close(indent, '}');
            }
            Body::Retyped(before, after) => {
                let quiet = Manner {
                    no_null: true,
                    ..manner
                };
                self.part(
                    before,
                    indent,
                    Manner {
                        force: Force::None,
                        ..quiet
                    },
                );
                self.arrow();
                self.part(
                    after,
                    indent,
                    Manner {
                        force: Force::None,
                        ..quiet
                    },
                );
                self.forces(diff.forces, manner);
            }
            Body::Mapping { entries, keys } => self.mapping(diff, entries, *keys, indent, manner),
            Body::Sequence { items, items_are } => self.sequence(diff, items, *items_are, indent, manner),
            Body::Block { attributes, blocks } => self.block(diff, attributes, blocks, indent, manner),
        }
    }

    fn closed(&mut self, text: &str, diff: &Diff, manner: Manner) {
        self.put(text);
        self.null(diff, manner);
        self.forces(diff.forces, manner);
    }

    fn scalar(&mut self, sign: Sign, before: Option<&str>, after: Option<&str>) {
        let shown = |ink: Ink, side: Option<&str>| match side {
            None | Some("null") => ink.dim("null"),
            Some(text) => text.to_owned(),
        };
        let (before, after) = (shown(self.ink, before), shown(self.ink, after));
        match sign {
            Sign::Add => self.put(&after),
            Sign::Remove | Sign::Same => self.put(&before),
            Sign::Change => {
                self.put(&before);
                self.arrow();
                self.put(&after);
            }
        }
    }

    /// A heredoc. Of a line feed that ends both sides nothing is shown.
    fn lines(
        &mut self,
        diff: &Diff,
        before: Option<&Arc<str>>,
        after: Option<&Arc<str>>,
        indent: usize,
        manner: Manner,
    ) {
        let sides = [before, after];
        let all_end = sides.iter().flatten().all(|text| text.ends_with('\n'));
        let split = |side: Option<&Arc<str>>| -> Vec<String> {
            let text = side.map_or("", |text| &**text);
            let text = if all_end {
                text.strip_suffix('\n').unwrap_or(text)
            } else {
                text
            };
            side.map_or_else(Vec::new, |_| text.split('\n').map(str::to_owned).collect())
        };
        let (old, new) = (split(before), split(after));
        let mut marker = "EOT".to_owned();
        while old.iter().chain(&new).any(|line| line.trim() == marker) {
            marker.push('_');
        }
        self.put("<<-");
        self.put(&marker);
        self.forces(diff.forces, manner);
        self.out.push('\n');
        for (at_old, at_new) in along_common(&old, &new, |_, _| false) {
            let line = at_old
                .and_then(|at| old.get(at))
                .or_else(|| at_new.and_then(|at| new.get(at)));
            let sign = match (diff.sign, at_old, at_new) {
                // The heredoc as a whole has a sign already.
                (Sign::Add | Sign::Remove, _, _) | (_, Some(_), Some(_)) => Sign::Same,
                (_, None, _) => Sign::Add,
                (_, Some(_), None) => Sign::Remove,
            };
            self.line(indent + 1, sign);
            self.put(line.map_or("", |line| line));
            self.out.push('\n');
        }
        self.line(indent, Sign::Same);
        self.put(&marker);
        self.null(diff, manner);
    }

    fn json(&mut self, diff: &Diff, inner: &Diff, indent: usize, manner: Manner) {
        let only_spaces = diff.sign == Sign::Change && inner.sign == Sign::Same;
        let inside = Manner {
            no_null: true,
            everything: manner.everything || only_spaces,
            force: Force::None,
        };
        let mut pen = Pen {
            ink: self.ink,
            out: String::new(),
        };
        pen.part(inner, indent + 1, inside);
        let note = if only_spaces { " # whitespace changes" } else { "" };
        self.put("jsonencode(");
        if pen.out.contains('\n') {
            self.put(note);
            self.out.push('\n');
            let sign = if diff.sign == Sign::Change && !only_spaces {
                Sign::Change
            } else {
                Sign::Same
            };
            self.line(indent + 1, sign);
            self.put(&pen.out);
            self.out.push('\n');
            self.close(indent, ')');
        } else {
            self.put(&pen.out);
            self.out.push(')');
            self.put(note);
        }
        self.null(diff, manner);
        self.forces(diff.forces, manner);
    }

    fn mapping(
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
        let width = if aligned { width } else { 0 };
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

    fn sequence(&mut self, diff: &Diff, items: &[Diff], items_are: Items, indent: usize, manner: Manner) {
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

    fn block(
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
