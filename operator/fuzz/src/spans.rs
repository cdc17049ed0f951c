//! All places of a tree: each must lie within its text, in native syntax on the borders of characters. (In JSON, hcl blames
//! single bytes.)

use ashlar_diag::{FileId, Sources, Span};
use ashlar_syntax::{Attribute, Block, Body, Call, Expr, ExprKind, For, Ident, Step, Traversal};

/// The text that places must lie in.
pub(crate) struct Check<'s> {
    sources: &'s Sources,
    file: FileId,
}

impl<'s> Check<'s> {
    pub(crate) fn new(sources: &'s Sources, file: FileId) -> Self {
        Self { sources, file }
    }

    pub(crate) fn place(&self, span: Span) {
        assert_eq!(span.file, self.file);
        let lies = self.sources.get(span.file).is_some_and(|source| {
            let (start, end) = (span.start as usize, span.end as usize);
            let within = start <= end && end <= source.text.len();
            within && (source.is_json() || source.text.get(start..end).is_some())
        });
        assert!(lies, "{span:?} is no place in the text");
    }

    fn word(&self, ident: &Ident) {
        self.place(ident.span);
    }

    fn places<const N: usize>(&self, spans: [Span; N]) {
        spans.into_iter().for_each(|span| self.place(span));
    }
}

pub(crate) fn body(check: &Check<'_>, body: &Body) {
    let own = [body.span, body.end, body.missing, body.missing_item()];
    own.into_iter().flatten().for_each(|span| check.place(span));
    body.attributes.iter().for_each(|item| attribute(check, item));
    body.blocks.iter().for_each(|item| block(check, item));
    if let Some(unread) = &body.unread {
        unread.properties().for_each(|item| attribute(check, item));
    }
}

pub(crate) fn attribute(check: &Check<'_>, attribute: &Attribute) {
    check.word(&attribute.name);
    check.places([attribute.equals, attribute.span]);
    expr(check, &attribute.expr);
}

pub(crate) fn block(check: &Check<'_>, block: &Block) {
    check.word(&block.kind);
    block.labels.iter().for_each(|label| check.word(label));
    check.places([block.open, block.close, block.header()]);
    body(check, &block.body);
}

pub(crate) fn traversal(check: &Check<'_>, traversal: &Traversal) {
    check.word(&traversal.root);
    check.place(traversal.span());
    steps(check, &traversal.steps);
}

fn steps(check: &Check<'_>, steps: &[Step]) {
    steps.iter().for_each(|step| check.place(step.span()));
}

pub(crate) fn expr(check: &Check<'_>, outer: &Expr) {
    check.places([outer.span, outer.start()]);
    let inner = |inner: &Expr| expr(check, inner);
    match &outer.kind {
        ExprKind::Literal(_) | ExprKind::JsonScalar(_) | ExprKind::Item | ExprKind::Broken => {}
        ExprKind::Traversal(found) => traversal(check, found),
        ExprKind::Relative { source, steps: found } => {
            inner(source);
            steps(check, found);
        }
        ExprKind::Index {
            collection,
            key,
            brackets,
        } => {
            inner(collection);
            inner(key);
            check.place(*brackets);
        }
        ExprKind::Splat { source, each, marker } => {
            inner(source);
            inner(each);
            check.place(*marker);
        }
        ExprKind::Call(Call {
            name,
            args,
            expand_last: _,
            open,
            close,
        }) => {
            check.word(name);
            check.places([*open, *close]);
            args.iter().for_each(inner);
        }
        ExprKind::Conditional { condition, yes, no } => {
            [condition, yes, no].into_iter().for_each(|part| inner(part))
        }
        ExprKind::Binary { op: _, left, right } => [left, right].into_iter().for_each(|part| inner(part)),
        ExprKind::Unary {
            op: _,
            operand,
            symbol,
        } => {
            inner(operand);
            check.place(*symbol);
        }
        ExprKind::Parens(part) | ExprKind::Wrap(part) | ExprKind::Join(part) => inner(part),
        ExprKind::Tuple { items, open } => {
            check.place(*open);
            items.iter().for_each(inner);
        }
        ExprKind::Object { items, open } => {
            check.place(*open);
            for item in items {
                inner(&item.key.expr);
                inner(&item.value);
            }
        }
        ExprKind::For(found) => for_expr(check, found),
        ExprKind::Template(parts) => parts.iter().for_each(inner),
        ExprKind::JsonString(string) => {
            if let Ok(Some(template)) = string.template() {
                inner(template);
            }
        }
        ExprKind::JsonObject(object) => {
            check.places([object.open, object.close]);
            for item in &object.items {
                inner(&item.key);
                check.place(item.colon);
                inner(&item.value);
            }
        }
    }
}

fn for_expr(check: &Check<'_>, found: &For) {
    let For {
        key_name,
        value_name,
        collection,
        key,
        value,
        condition,
        group: _,
        open,
        close,
    } = found;
    key_name.iter().for_each(|name| check.word(name));
    check.word(value_name);
    check.places([*open, *close]);
    let rest = [key, condition].into_iter().flatten();
    [collection, value]
        .into_iter()
        .chain(rest)
        .for_each(|part| expr(check, part));
}
