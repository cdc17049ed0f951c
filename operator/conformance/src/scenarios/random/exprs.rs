//! Expressions made at random for a type, out of what can be referred to where they stand.

use super::{case::Expr, kinds::Ty};
use crate::chance::Chance;

/// Something that can be referred to.
#[derive(Clone, Debug)]
pub(super) struct Ref {
    /// As it is written.
    pub(super) text: String,
    pub(super) ty: Ty,
    pub(super) sensitive: bool,
    /// Known while planning, whatever changes.
    pub(super) known: bool,
    pub(super) nullable: bool,
}

/// Words that values are made of: few, so that edits also change nothing or change back.
pub(super) const WORDS: [&str; 10] = [
    "red", "blue", "ash", "tin", "new-1", "new-2", "a b", "Red", "", "ünï",
];

const KEYS: [&str; 4] = ["k", "l", "m", "n"];

/// Makes expressions.
pub(super) struct Maker<'a> {
    pub(super) chance: &'a mut Chance,
    pub(super) scope: &'a [Ref],
    /// Leave out what is sensitive or not known in planning.
    pub(super) plain: bool,
}

impl Maker<'_> {
    /// An expression of this type.
    pub(super) fn expr(&mut self, ty: Ty) -> Expr {
        let mut uses = Vec::new();
        let text = self.text(ty, 2, &mut uses);
        Expr { text, uses, ty }
    }

    /// An expression that calls and refers to nothing.
    pub(super) fn constant(&mut self, ty: Ty) -> Expr {
        let mut maker = Maker {
            chance: self.chance,
            scope: &[],
            plain: true,
        };
        let word = |maker: &mut Maker<'_>| maker.word();
        let text = match ty {
            Ty::Number | Ty::Bool => maker.text(ty, 0, &mut Vec::new()),
            Ty::List => format!("[{}, {}]", word(&mut maker), word(&mut maker)),
            Ty::Map => format!("{{ k = {}, l = {} }}", word(&mut maker), word(&mut maker)),
            Ty::Any => format!("{{ on = [{}] }}", word(&mut maker)),
            Ty::Plan => format!("{{ size = {} }}", maker.chance.below(40)),
            _ => word(&mut maker),
        };
        Expr {
            text,
            uses: Vec::new(),
            ty,
        }
    }

    /// As [`Self::expr`], now and then null.
    pub(super) fn optional(&mut self, ty: Ty) -> Expr {
        if self.chance.odds(6) {
            return Expr {
                text: "null".to_owned(),
                uses: Vec::new(),
                ty,
            };
        }
        self.expr(ty)
    }

    fn reference(&mut self, ty: Ty, nullable: bool, uses: &mut Vec<String>) -> Option<String> {
        let fits: Vec<&Ref> = self
            .scope
            .iter()
            .filter(|one| one.ty == ty && (nullable || !one.nullable))
            .filter(|one| !self.plain || (one.known && !one.sensitive))
            .collect();
        // What was made last is chosen more often, so that chains grow.
        let at = self.chance.below(fits.len()).max(self.chance.below(fits.len()));
        let found = fits.get(at)?;
        uses.push(found.text.clone());
        Some(found.text.clone())
    }

    fn word(&mut self) -> String {
        format!("{:?}", self.chance.pick(&WORDS).unwrap_or_default())
    }

    fn key(&mut self) -> &'static str {
        self.chance.pick(&KEYS).unwrap_or("k")
    }

    /// An expression that is not null where blocks and objects need one.
    pub(super) fn needed(&mut self) -> Expr {
        let mut uses = Vec::new();
        let text = self.solid(&mut uses);
        Expr {
            text,
            uses,
            ty: Ty::Text,
        }
    }

    fn text(&mut self, ty: Ty, depth: usize, uses: &mut Vec<String>) -> String {
        let simple = depth == 0 || self.chance.odds(30);
        match ty {
            Ty::Text if simple => self.word(),
            Ty::Text => self.some_text(depth - 1, uses),
            Ty::Number if simple => self.chance.below(40).to_string(),
            Ty::Number => self.number(depth - 1, uses),
            Ty::Bool if simple => if self.chance.odds(50) { "true" } else { "false" }.to_owned(),
            Ty::Bool => self.boolean(depth - 1, uses),
            Ty::List => self.list(depth, uses),
            Ty::Map => self.map(depth, uses),
            Ty::Any => self.any(depth, uses),
            Ty::Condition => self.condition(uses),
            Ty::Message => self.message(uses),
            Ty::Fails => self.fails(),
            Ty::Fixed | Ty::MadeUp => "null".to_owned(),
            shaped => self.shaped(shaped, depth.saturating_sub(1), uses),
        }
    }

    /// A text that is not null.
    fn solid(&mut self, uses: &mut Vec<String>) -> String {
        let found = match self.chance.below(10) {
            0..=4 => self.reference(Ty::Text, false, uses),
            5 => self
                .reference(Ty::Number, false, uses)
                .map(|it| format!("\"n${{{it}}}\"")),
            6 => self
                .reference(Ty::Text, true, uses)
                .map(|it| format!("coalesce({it}, \"none\")")),
            _ => None,
        };
        found.unwrap_or_else(|| self.word())
    }

    fn some_text(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        match self.chance.below(15) {
            0..=5 => self.reference(Ty::Text, true, uses),
            6 => self
                .reference(Ty::Text, false, uses)
                .map(|it| format!("\"${{{it}}}-x\"")),
            7 => self
                .reference(Ty::Number, false, uses)
                .map(|it| format!("\"n${{{it}}}\"")),
            8 => self
                .reference(Ty::Text, false, uses)
                .map(|it| format!("format(\"%s/%s\", {it}, \"a\")")),
            9 => {
                let list = self.text(Ty::List, depth, uses);
                Some(format!("join(\"-\", {list})"))
            }
            10 => {
                let (yes, no) = (self.text(Ty::Text, depth, uses), self.text(Ty::Text, depth, uses));
                let condition = self.text(Ty::Bool, depth, uses);
                Some(format!("{condition} ? {yes} : {no}"))
            }
            11 => self
                .reference(Ty::Map, true, uses)
                .map(|it| format!("try({it}[\"{}\"], \"none\")", self.key())),
            12 => self
                .reference(Ty::List, true, uses)
                .map(|it| format!("try({it}[0], \"none\")")),
            13 => {
                let any = self.text(Ty::Any, depth, uses);
                Some(format!("jsonencode({any})"))
            }
            _ if self.chance.odds(30) && !self.plain => {
                let text = self.word();
                Some(format!("sensitive({text})"))
            }
            _ => self
                .reference(Ty::Text, true, uses)
                .map(|it| format!("coalesce({it}, \"none\")")),
        }
        .unwrap_or_else(|| self.word())
    }

    fn number(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        match self.chance.below(6) {
            0..=2 => self.reference(Ty::Number, true, uses),
            3 => self
                .reference(Ty::Number, false, uses)
                .map(|it| format!("{it} + 1")),
            4 => {
                let list = self.text(Ty::List, depth, uses);
                Some(format!("length({list})"))
            }
            _ => self
                .reference(Ty::Number, false, uses)
                .map(|it| format!("max({it}, 7)")),
        }
        .unwrap_or_else(|| self.chance.below(40).to_string())
    }

    fn boolean(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        match self.chance.below(6) {
            0 | 1 => self.reference(Ty::Bool, false, uses),
            2 => {
                let word = self.word();
                self.reference(Ty::Text, true, uses)
                    .map(|it| format!("{it} == {word}"))
            }
            3 => self
                .reference(Ty::Number, false, uses)
                .map(|it| format!("{it} > 9")),
            4 => {
                let list = self.text(Ty::List, depth, uses);
                let word = self.word();
                Some(format!("contains({list}, {word})"))
            }
            _ => self.reference(Ty::Bool, false, uses).map(|it| format!("!{it}")),
        }
        .unwrap_or_else(|| "true".to_owned())
    }

    fn list(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        let made = match self.chance.below(9) {
            0 | 1 if depth > 0 => self.reference(Ty::List, false, uses),
            2 if depth > 0 => self
                .reference(Ty::List, false, uses)
                .map(|it| format!("[for x in {it} : \"${{x}}!\"]")),
            3 if depth > 0 => self.reference(Ty::List, false, uses).map(|it| {
                let more = self.solid(uses);
                format!("concat({it}, [{more}])")
            }),
            4 if depth > 0 => self
                .reference(Ty::Map, false, uses)
                .map(|it| format!("keys({it})")),
            _ => None,
        };
        made.unwrap_or_else(|| {
            let count = self.chance.below(4);
            let items: Vec<String> = (0..count).map(|_| self.solid(uses)).collect();
            format!("[{}]", items.join(", "))
        })
    }

    fn map(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        let made = match self.chance.below(9) {
            0 | 1 if depth > 0 => self.reference(Ty::Map, false, uses),
            2 if depth > 0 => self
                .reference(Ty::Map, false, uses)
                .map(|it| format!("{{ for k, v in {it} : k => \"${{k}}-x\" }}")),
            3 if depth > 0 => self.reference(Ty::Map, false, uses).map(|it| {
                let more = self.solid(uses);
                format!("merge({it}, {{ {} = {more} }})", self.key())
            }),
            4 if depth > 0 => self
                .reference(Ty::List, false, uses)
                .map(|it| format!("{{ for i, v in {it} : \"i${{i}}\" => v }}")),
            _ => None,
        };
        made.unwrap_or_else(|| {
            let count = self.chance.below(4);
            let items: Vec<String> = (0..count)
                .map(|at| format!("{} = {}", KEYS[at], self.solid(uses)))
                .collect();
            format!("{{ {} }}", items.join(", "))
        })
    }

    fn any(&mut self, depth: usize, uses: &mut Vec<String>) -> String {
        let inner = depth.saturating_sub(1);
        match self.chance.below(8) {
            0 | 1 => self.text(Ty::Text, inner, uses),
            2 => self.text(Ty::Number, inner, uses),
            3 => self.text(Ty::List, inner, uses),
            4 => self.text(Ty::Map, inner, uses),
            5 => self
                .reference(Ty::Any, true, uses)
                .unwrap_or_else(|| "null".to_owned()),
            6 => {
                let (one, other) = (self.text(Ty::Bool, inner, uses), self.text(Ty::Text, inner, uses));
                format!("{{ on = {one}, of = [{other}, 1] }}")
            }
            _ => {
                let list = self.text(Ty::List, inner, uses);
                format!("toset({list})")
            }
        }
    }

    fn condition(&mut self, uses: &mut Vec<String>) -> String {
        let fails = self.chance.odds(8);
        let made = match self.chance.below(5) {
            0 | 1 => {
                let sign = if fails { "==" } else { "!=" };
                self.reference(Ty::Text, true, uses)
                    .map(|it| format!("{it} {sign} \"nobody\""))
            }
            2 => {
                let sign = if fails { ">" } else { "<" };
                self.reference(Ty::Number, false, uses)
                    .map(|it| format!("{it} {sign} 1000"))
            }
            3 => {
                let sign = if fails { "<" } else { ">=" };
                self.reference(Ty::List, false, uses)
                    .map(|it| format!("length({it}) {sign} 0"))
            }
            _ => self.reference(Ty::Map, false, uses).map(|it| {
                let not = if fails { "" } else { "!" };
                format!("{not}contains(keys({it}), \"nobody\")")
            }),
        };
        made.unwrap_or_else(|| if fails { "false" } else { "true" }.to_owned())
    }

    fn message(&mut self, uses: &mut Vec<String>) -> String {
        let number = self.chance.below(1000);
        match self.chance.odds(15) {
            true => self
                .reference(Ty::Text, false, uses)
                .map(|it| format!("\"Because of ${{{it}}}, {number}.\"")),
            false => None,
        }
        .unwrap_or_else(|| format!("\"Because of {number}.\""))
    }

    fn fails(&mut self) -> String {
        let calls = [
            "plan",
            "plan_delete",
            "create",
            "read",
            "update",
            "delete",
            "create_partial",
            "update_partial",
        ];
        format!("[{:?}]", self.chance.pick(&calls).unwrap_or("create"))
    }

    fn shaped(&mut self, ty: Ty, depth: usize, uses: &mut Vec<String>) -> String {
        let items = self.chance.below(3) + 1;
        match ty {
            Ty::Origin => {
                let (quarry, depth_of) = (
                    self.text(Ty::Text, depth, uses),
                    self.text(Ty::Number, depth, uses),
                );
                format!("{{ quarry = {quarry}, depth = {depth_of} }}")
            }
            Ty::Label => {
                let mut parts = vec![format!("text = {}", self.solid(uses))];
                for name in ["ink", "paper", "secret"] {
                    if self.chance.odds(40) {
                        parts.push(format!("{name} = {}", self.text(Ty::Text, depth, uses)));
                    }
                }
                format!("{{ {} }}", parts.join(", "))
            }
            Ty::Slots | Ty::Hooks => {
                let more = if ty == Ty::Slots { "width" } else { "grade" };
                let made: Vec<String> = (0..items)
                    .map(|_| {
                        let key = self.solid(uses);
                        if self.chance.odds(50) {
                            format!(
                                "{{ key = {key}, {more} = {} }}",
                                self.text(Ty::Number, depth, uses)
                            )
                        } else {
                            format!("{{ key = {key} }}")
                        }
                    })
                    .collect();
                match self.chance.odds(20) {
                    true => self
                        .reference(Ty::List, false, uses)
                        .map(|it| format!("[for x in {it} : {{ key = x }}]")),
                    false => None,
                }
                .unwrap_or_else(|| format!("[{}]", made.join(", ")))
            }
            Ty::Drawers => {
                let made: Vec<String> = (0..items)
                    .map(|at| {
                        let item = self.solid(uses);
                        let note = if self.chance.odds(40) {
                            format!(", note = {}", self.text(Ty::Text, depth, uses))
                        } else {
                            String::new()
                        };
                        format!("{} = {{ item = {item}{note} }}", KEYS[at])
                    })
                    .collect();
                format!("{{ {} }}", made.join(", "))
            }
            Ty::AsBlocks => {
                let made: Vec<String> = (0..items)
                    .map(|_| {
                        let key = self.solid(uses);
                        format!("{{ key = {key}, width = {} }}", self.chance.below(9))
                    })
                    .collect();
                format!("[{}]", made.join(", "))
            }
            _ => {
                let size = self.text(Ty::Number, depth, uses);
                let tags = if self.chance.odds(50) {
                    format!(", tags = {}", self.text(Ty::Map, depth, uses))
                } else {
                    String::new()
                };
                format!("{{ size = {size}{tags} }}")
            }
        }
    }
}
