//! The block that a place stands in, for who shows the place to people. Reads the file anew, which nobody does but for a fault.

use ashlar_diag::{Source, Sources, Span};

use crate::parse_file;

/// The head of the outermost block around a place: its type and its labels. Nothing outside of blocks, where the block begins,
/// and in JSON, where only a schema tells what a block is. Source: hcl `hclsyntax/navigation.go`, whose caller looks one byte
/// before the place.
pub fn enclosing_block(sources: &Sources, place: Span) -> Option<String> {
    let source = sources.get(place.file)?;
    if Source::is_json(source) {
        return None;
    }
    let at = place.start.checked_sub(1)?;
    let (body, _) = parse_file(sources, place.file);
    let is_around = |from: Span, to: Span| from.start <= at && at < to.end;
    let block = body
        .blocks
        .into_iter()
        .find(|block| is_around(block.kind.span, block.close))?;
    let labels = block.labels.iter().map(|label| format!(" {:?}", &*label.name));
    Some(format!("{}{}", block.kind.name, labels.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_its_outermost_block() {
        let text = "resource \"a\" \"b\" {\n  c {\n    d = 1\n  }\n}\nlocals {\n  e = 2\n}\nf = 3\n";
        let mut sources = Sources::new();
        let file = sources.add("main.tf", text);
        let check = |what: &str, want: Option<&str>| {
            let at = text.find(what).unwrap();
            let found = enclosing_block(&sources, Span::new(file, at, at + 1));
            assert_eq!(found.as_deref(), want, "{what}");
        };
        check("resource", None);
        check("\"a\"", Some("resource \"a\" \"b\""));
        check("d = 1", Some("resource \"a\" \"b\""));
        check("e = 2", Some("locals"));
        check("f = 3", None);
    }
}
