//! HCL text, native or JSON, to a spanned tree; broken code is kept, with a diagnostic for each fault.
//!
//! Stands between the source texts and `eval`/`config`. It never evaluates, never reads files, and never gives up at
//! the first fault. Node kinds, ranges and the order of diagnostics follow hcl's hclsyntax package, v2.24. No text makes
//! it panic, and nesting is limited, so that neither reading nor walking nor dropping a tree needs more than a usual
//! stack.

mod ast;
mod body;
mod collection;
mod directive;
mod enclosing;
mod expr;
#[cfg(test)]
mod hostile;
mod ident;
mod json;
mod lexer;
mod literal;
mod overlay;
mod parser;
mod postfix;
mod template;
mod token;
mod unfinished;

pub use ast::{
    Attribute, BinaryOp, Block, Body, Call, Expr, ExprKind, For, Ident, Literal, ObjectItem, ObjectKey, Step,
    Traversal, UnaryOp,
};
pub use enclosing::enclosing_block;
pub use ident::is_identifier;
pub use json::{JsonItem, JsonObject, JsonString, Reading, Unread, Wanted};
pub use unfinished::is_unfinished;

use ashlar_diag::{Diags, FileId, Source, Sources};

use crate::{
    lexer::Start,
    parser::{Newlines, Origin, Parser},
    token::Kind,
};

/// Reads a whole configuration file: JSON if its name says so, else native syntax. The body holds what could be read, also
/// beside errors.
pub fn parse_file(sources: &Sources, file: FileId) -> (Body, Diags) {
    if sources.get(file).is_some_and(Source::is_json) {
        return json::parse(text(sources, file), file);
    }
    let mut parser = parser(sources, file, Start::Code);
    let body = parser.body(Kind::End);
    (body, parser.finish().into_iter().collect())
}

/// Reads one expression that makes up the whole text (as `-var` values and console lines are).
pub fn parse_expression(sources: &Sources, file: FileId) -> (Expr, Diags) {
    let mut parser = parser(sources, file, Start::Code);
    // As if in parentheses.
    parser.push_newlines(Newlines::Blank);
    let expr = parser.whole();
    (expr, parser.finish().into_iter().collect())
}

/// Reads the text as a template (as `templatefile` does): the whole file is template text.
pub fn parse_template(sources: &Sources, file: FileId) -> (Expr, Diags) {
    let mut parser = parser(sources, file, Start::Template);
    let expr = parser.bare_template();
    (expr, parser.finish().into_iter().collect())
}

/// Reads a static reference that makes up the whole text, such as an address given as an option (hcl
/// `ParseTraversalAbs`). Beside errors, what was read before the first of them; `None` if not even a name.
pub fn parse_traversal(sources: &Sources, file: FileId) -> (Option<Traversal>, Diags) {
    let mut parser = parser(sources, file, Start::Code);
    parser.push_newlines(Newlines::Blank);
    let traversal = parser.path();
    (traversal, parser.finish().into_iter().collect())
}

fn parser(sources: &Sources, file: FileId, start: Start) -> Parser<'_> {
    let parser = Parser::new(text(sources, file), Origin::file(file), start);
    if let Some(source) = sources.get(file) {
        source.set_seams(parser.seams());
    }
    parser
}

fn text(sources: &Sources, file: FileId) -> &str {
    sources.get(file).map_or("", |source| &source.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T>(read: fn(&Sources, FileId) -> (T, Diags), text: &str, expected: &[&str]) -> T {
        let mut sources = Sources::new();
        let file = sources.add("case", text);
        let (tree, diags) = read(&sources, file);
        let told: Vec<&str> = diags.iter().map(|diag| &*diag.summary).collect();
        assert_eq!(told, expected, "{text:?}");
        tree
    }

    #[test]
    fn a_file_with_faults_keeps_what_was_understood() {
        let text = "a = 1\nb {\n  c = ]\n  d = 2\n}\ne = [1 2]\nf \"x\" = 3\na = 4\ng = 5\n";
        let expected = [
            "Invalid expression",
            "Invalid block definition",
            "Attribute redefined",
        ];
        let body = check(parse_file, text, &expected);
        let names: Vec<&str> = body
            .attributes
            .iter()
            .map(|attribute| &*attribute.name.name)
            .collect();
        assert_eq!(names, ["a", "e", "g"]);
        let inner: Vec<&str> = body.blocks[0]
            .body
            .attributes
            .iter()
            .map(|attribute| &*attribute.name.name)
            .collect();
        assert_eq!(inner, ["c", "d"]);
    }

    #[test]
    fn an_expression_makes_up_the_whole_text() {
        check(parse_expression, "\n[1,\n2]\n# end\n", &[]);
        check(parse_expression, "1\n+ 2", &[]);
        check(parse_expression, "1 2", &["Extra characters after expression"]);
        check(parse_expression, "", &["Missing expression"]);
        check(parse_expression, "(", &["Missing expression"]);
    }

    #[test]
    fn a_template_file_takes_any_text() {
        check(parse_template, "$", &[]);
        check(
            parse_template,
            "a \" \\q\r $ %\n$${x} ${y} %{ if z ~}\n a %{ endif }",
            &[],
        );
        check(
            parse_template,
            "${x",
            &["Unclosed template interpolation sequence"],
        );
        check(parse_template, "%{ if x }", &["Unexpected end of template"]);
        let lone = check(parse_template, "${x}", &[]);
        assert!(matches!(lone.kind, ExprKind::Wrap(_)));
        let stuck = check(parse_template, "a\rb $${c} $$${d}", &[]);
        let ExprKind::Template(parts) = stuck.kind else {
            panic!("not a template")
        };
        let [
            Expr {
                kind: ExprKind::Literal(Literal::String(text)),
                ..
            },
        ] = parts.as_slice()
        else {
            panic!("not one text")
        };
        assert_eq!(&**text, "a\rb ${c} $$${d}");
    }

    #[test]
    fn a_reference_alone_is_static() {
        let steps =
            |text, expected: &[&str]| check(parse_traversal, text, expected).map(|path| path.steps.len());
        assert_eq!(steps("a.b[0][\"k\"].c", &[]), Some(4));
        assert_eq!(steps("a.*", &["Attribute name required"]), Some(0));
        assert_eq!(steps("a.b[*]", &["Attribute name required"]), Some(1));
        assert_eq!(steps("a[b]", &["Index value required"]), Some(0));
        assert_eq!(steps("a[0", &["Unclosed index brackets"]), Some(0));
        assert_eq!(steps("a b", &["Invalid character"]), Some(0));
        assert_eq!(steps("1", &["Variable name required"]), None);
    }
}
