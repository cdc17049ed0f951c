//! A difference to text: signs, alignment, what is left out.
//!
//! Source of the layout: Terraform `internal/command/jsonformat/computed/renderers`.

use std::{fmt::Write as _, sync::Arc};

use super::{
    align::along_common,
    diff::{Body, Diff, Turn},
    ink::{Ink, Sign},
};

/// Columns of one level.
const LEVEL: usize = 4;

/// How the surroundings want a part drawn.
#[derive(Clone, Copy, Default)]
pub(super) struct Manner {
    /// The surroundings say already that it goes: no `-> null`.
    pub(super) no_null: bool,
    /// Show what does not change, too.
    pub(super) everything: bool,
    pub(super) force: Force,
}

/// Whether parts carry `# forces replacement`.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Force {
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
        signs: true,
        out: String::new(),
    };
    pen.part(diff, indent, Manner::default());
    pen.out
}

/// An object's difference with all that does not change, too.
pub(super) fn draw_with_unchanged(diff: &Diff, ink: Ink) -> String {
    let mut pen = Pen {
        ink,
        signs: true,
        out: String::new(),
    };
    let everything = true;
    pen.part(
        diff,
        0,
        Manner {
            everything,
            ..Manner::default()
        },
    );
    pen.out
}

/// All of something that is no change, without signs.
pub(super) fn draw_whole(diff: &Diff, indent: usize, ink: Ink) -> String {
    let mut pen = Pen {
        ink,
        signs: false,
        out: String::new(),
    };
    let everything = true;
    pen.part(
        diff,
        indent,
        Manner {
            everything,
            ..Manner::default()
        },
    );
    pen.out
}

pub(super) struct Pen {
    pub(super) ink: Ink,
    /// Do lines begin with a sign?
    pub(super) signs: bool,
    pub(super) out: String,
}

impl Pen {
    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Begins a line with its sign.
    pub(super) fn line(&mut self, indent: usize, sign: Sign) {
        self.out.extend(std::iter::repeat_n(' ', indent * LEVEL));
        if !self.signs {
            return;
        }
        let sign = self.ink.sign(sign);
        self.put(&sign);
        self.out.push(' ');
    }

    pub(super) fn close(&mut self, indent: usize, bracket: char) {
        self.line(indent, Sign::Same);
        self.out.push(bracket);
    }

    pub(super) fn null(&mut self, diff: &Diff, manner: Manner) {
        if diff.sign == Sign::Remove && !manner.no_null {
            let text = self.ink.dim(" -> null");
            self.put(&text);
        }
    }

    pub(super) fn forces(&mut self, forces: bool, manner: Manner) {
        if (forces || manner.force == Force::All) && manner.force != Force::None {
            let text = self.ink.red(" # forces replacement");
            self.put(&text);
        }
    }

    fn arrow(&mut self) {
        let arrow = self.ink.yellow("->");
        let _ = write!(self.out, " {arrow} ");
    }

    pub(super) fn unchanged(&mut self, indent: usize, what: &str, count: usize) {
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

    pub(super) fn turn(&mut self, turn: Option<&Turn>, indent: usize) {
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

    pub(super) fn part(&mut self, diff: &Diff, indent: usize, manner: Manner) {
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
            signs: self.signs,
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
}
