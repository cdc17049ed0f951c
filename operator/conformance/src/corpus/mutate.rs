//! Texts broken at random, each from its own seed.

use super::judge::{Kind, Text};
use crate::chance::Chance;

/// The longest piece of a file that a mutant is made of, in bytes.
const PIECE: usize = 2_500;

/// What is put where it does not belong in native syntax.
const NATIVE: [&str; 104] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "\"",
    "${",
    "%{",
    "${~",
    "%{~",
    "~}",
    "<<EOT\n",
    "<<-EOT\n",
    "EOT",
    "\nEOT\n",
    "=",
    "==",
    "!=",
    "=>",
    ">",
    "<",
    ">=",
    "<=",
    "&&",
    "||",
    "!",
    "&",
    "|",
    "^",
    "~",
    "+",
    "-",
    "*",
    "/",
    "%",
    "?",
    ":",
    "::",
    ",",
    ";",
    ".",
    "..",
    "...",
    ".*",
    "[*]",
    ".0",
    ".0.1",
    "[0]",
    "[\"k\"]",
    "#",
    "//",
    "/*",
    "*/",
    "'",
    "`",
    "\\",
    "\\n",
    "\\u00e9",
    "\\u12",
    "\\U0001F600",
    "$",
    "%",
    "$$",
    "%%",
    "$${",
    "%%{",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "for",
    "in",
    "if",
    "else",
    "endif",
    "endfor",
    "null",
    "true",
    "0",
    "1.5",
    "1e3",
    "0x1F",
    "1.5.2",
    "1e",
    "x",
    "x-y",
    "-",
    "%{ if x }",
    "%{ else }",
    "%{ endif ~}",
    "%{ for k, v in x }",
    "%{ endfor }",
    "[for x in y : x]",
    "{for k, v in y : k => v...}",
    "f(",
    "x...)",
    "a ? b : c",
    "provider::n::f(x)",
    "x = 1",
    "x {",
    "x \"y\" {",
];

/// The same in JSON.
const JSON: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "=",
    ";",
    "'",
    "\\",
    "\\\"",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\x",
    "\n",
    "\r\n",
    "\t",
    " ",
    "null",
    "true",
    "tru",
    "1",
    "-1",
    "01",
    "1.",
    "1e5",
    "-",
    "\"//\": 1,",
    "${x}",
    "%{ if x }",
    "/*",
];

/// Characters that few texts hold.
const ODD: [char; 22] = [
    '\0',
    '\u{1}',
    '\u{b}',
    '\u{7f}',
    '\u{85}',
    '\u{a0}',
    'é',
    '\u{301}',
    '“',
    '’',
    '\u{200b}',
    '\u{200d}',
    '\u{2028}',
    '\u{feff}',
    '\u{fffd}',
    '€',
    '語',
    '\u{1f1e9}',
    '\u{1f469}',
    '\u{1f3fd}',
    '\u{10ffff}',
    '\u{37a}',
];

/// A broken piece of a text.
pub(crate) fn mutant(of: &Text, chance: &mut Chance) -> Text {
    let mut pieces = pieces(window(&of.text, chance));
    let kind = match (of.kind, chance.below(20)) {
        (Kind::Native, 0 | 1) => Kind::Expression,
        (Kind::Native, 2 | 3) => Kind::Template,
        (Kind::Native, 4) => Kind::Path,
        (kind, _) => kind,
    };
    if matches!(kind, Kind::Expression | Kind::Path) {
        let start = chance.below(pieces.len());
        let length = 1 + chance.below(if kind == Kind::Path { 12 } else { 60 });
        pieces = pieces.into_iter().skip(start).take(length).collect();
    }
    for _ in 0..=chance.below(4) {
        edit(&mut pieces, kind, chance);
    }
    let mut text = pieces.concat();
    if chance.below(12) == 0 {
        let end = text.floor_char_boundary(chance.below(text.len() + 1));
        text.truncate(end);
    }
    Text {
        name: of.name.clone(),
        kind,
        text,
    }
}

fn edit(pieces: &mut Vec<String>, kind: Kind, chance: &mut Chance) {
    let at = chance.below(pieces.len());
    let other = chance.below(pieces.len());
    let stock: &[&str] = if kind == Kind::Json { &JSON } else { &NATIVE };
    let near = (at + 1 + chance.below(3)).min(pieces.len().saturating_sub(1));
    match chance.below(10) {
        _ if pieces.is_empty() => pieces.push("x".to_owned()),
        0 | 1 => {
            pieces.remove(at);
        }
        2 => pieces.insert(at, pieces[at].clone()),
        3 => pieces.swap(at, near),
        4 => pieces.swap(at, other),
        5 => pieces[at] = pieces[other].clone(),
        6 => pieces[at] = chance.pick(stock).unwrap_or("").to_owned(),
        7 => {
            let odd = chance.pick(&ODD).unwrap_or(' ');
            let inside = pieces[at].floor_char_boundary(chance.below(pieces[at].len() + 1));
            pieces[at].insert(inside, odd);
        }
        8 => pieces.insert(
            at,
            chance
                .pick(&["\n", " ", "\t", "\r\n", " # c\n", "/* c */"])
                .unwrap_or("")
                .to_owned(),
        ),
        _ => pieces.insert(at, chance.pick(stock).unwrap_or("").to_owned()),
    }
}

/// Some whole lines of the text.
fn window<'t>(text: &'t str, chance: &mut Chance) -> &'t str {
    if text.len() <= PIECE {
        return text;
    }
    let start = text.floor_char_boundary(chance.below(text.len() - PIECE / 2));
    let start = text
        .get(..start)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let end = text.ceil_char_boundary((start + 200 + chance.below(PIECE)).min(text.len()));
    let end = text
        .get(end..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |at| end + at + 1);
    let end = text.ceil_char_boundary(end.min(start + 2 * PIECE));
    text.get(start..end).unwrap_or(text)
}

/// The text in pieces that are about tokens: words, blanks, signs.
fn pieces(text: &str) -> Vec<String> {
    const SIGNS: [&str; 16] = [
        "${~", "%{~", "<<-", "...", "${", "%{", "~}", "<<", "&&", "||", "==", "!=", "=>", ">=", "<=", "\r\n",
    ];
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |of: fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let length = match first {
            c if word(c) => run(word),
            ' ' | '\t' => run(|c| c == ' ' || c == '\t'),
            c => SIGNS
                .iter()
                .find(|sign| rest.starts_with(**sign))
                .map_or(c.len_utf8(), |sign| sign.len()),
        };
        let (piece, after) = rest.split_at(length.max(first.len_utf8()));
        out.push(piece.to_owned());
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_the_same_each_time() {
        let text = Text {
            name: String::new(),
            kind: Kind::Native,
            text: "a = [1, \"${x}\"]\n".repeat(400),
        };
        let made = |seed| mutant(&text, &mut Chance::new(seed)).text;
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
    }

    #[test]
    fn pieces_make_up_the_text() {
        let text = "a-b = \"${~ x ~}\"\r\n<<-E\né 語\n";
        let pieces = pieces(text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().any(|piece| piece == "${~"));
        assert!(pieces.iter().any(|piece| piece == "a-b"));
    }
}
