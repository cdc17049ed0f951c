//! References: what a traversal names, by its first steps.
//!
//! Source: Terraform `internal/addrs/parse_ref.go`; the summaries and blamed places are its. Whether the thing exists is
//! not asked here.

use std::sync::Arc;

use ashlar_addr::{InstanceKey, Mode, Resource};
use ashlar_diag::{Diag, Span};
use ashlar_syntax::{Literal, Step, Traversal};
use ashlar_value::Number;

use crate::scope::attr_name;

/// What is referred to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// `var.NAME`
    Var(Arc<str>),
    /// `local.NAME`
    Local(Arc<str>),
    /// `TYPE.NAME`, `resource.TYPE.NAME`, `data.TYPE.NAME`, `ephemeral.TYPE.NAME`
    Resource(Resource),
    /// `list.TYPE.NAME` (query files)
    List {
        /// The resource type.
        kind: Arc<str>,
        /// The name.
        name: Arc<str>,
    },
    /// `module.CALL`, with the output where one is named statically.
    Module {
        /// The call's name.
        call: Arc<str>,
        /// `module.CALL.OUTPUT` or `module.CALL[KEY].OUTPUT`
        output: Option<Arc<str>>,
    },
    /// `path.NAME`
    Path(Arc<str>),
    /// `terraform.NAME`
    Terraform(Arc<str>),
    /// `each.NAME`
    Each(Arc<str>),
    /// `count.NAME`
    Count(Arc<str>),
    /// `self`
    SelfRef,
    /// `caller`
    Caller,
    /// `action.TYPE.NAME`
    Action {
        /// The action's type.
        kind: Arc<str>,
        /// The action's name.
        name: Arc<str>,
    },
}

/// A traversal that names something.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// What it names.
    pub subject: Subject,
    /// The instance key that follows directly, for resources, modules and actions.
    pub key: InstanceKey,
    /// How many steps after the root name the subject, without key and output.
    pub consumed: usize,
    /// The steps after subject, key and output.
    pub remaining: &'a [Step],
    /// The place of subject, key and output.
    pub span: Span,
    /// The whole traversal.
    pub traversal: &'a Traversal,
}

const INVALID: &str = "Invalid reference";

impl<'a> Reference<'a> {
    /// Reads what the traversal names. `None` for a lone type keyword (`string`, `any`), which names nothing and is no
    /// fault by itself.
    pub fn parse(traversal: &'a Traversal) -> Result<Option<Self>, Diag> {
        let root = &traversal.root;
        let single = |subject: fn(Arc<str>) -> Subject| {
            let (name, span) = single_attr(traversal)?;
            Ok(Some(Self::new(subject(name), span, traversal, 1)))
        };
        match &*root.name {
            "var" => single(Subject::Var),
            "local" => single(Subject::Local),
            "path" => single(Subject::Path),
            "terraform" => single(Subject::Terraform),
            "each" => single(Subject::Each),
            "count" => single(Subject::Count),
            "self" => Ok(Some(Self::new(Subject::SelfRef, root.span, traversal, 0))),
            "caller" => Ok(Some(Self::new(Subject::Caller, root.span, traversal, 0))),
            "module" => Self::module(traversal).map(Some),
            "data" => Self::prefixed(Mode::Data, "data source", traversal).map(Some),
            "resource" => Self::prefixed(Mode::Managed, "resource", traversal).map(Some),
            "ephemeral" => Self::prefixed(Mode::Ephemeral, "ephemeral resource", traversal).map(Some),
            "list" => Self::two_names(traversal, "list resource", |kind, name| Subject::List { kind, name }).map(Some),
            "action" => Self::two_names(traversal, "action", |kind, name| Subject::Action { kind, name }).map(Some),
            "template" | "lazy" | "arg" => Err(Diag::error(
                "Reserved symbol name",
                format!(
                    "The name {:?} is kept for a later version of the language. If it is a resource type of a provider you \
                     use, write \"resource.\" in front of it.",
                    &*root.name
                ),
            )
            .at(root.span)),
            "string" | "number" | "bool" | "any" if traversal.steps.is_empty() => Ok(None),
            _ => Self::resource(Mode::Managed, root.name.clone(), 0, traversal).map(Some),
        }
    }

    fn new(subject: Subject, span: Span, traversal: &'a Traversal, consumed: usize) -> Self {
        let remaining = traversal.steps.get(consumed..).unwrap_or_default();
        Self {
            subject,
            key: InstanceKey::None,
            consumed,
            remaining,
            span,
            traversal,
        }
    }

    /// Takes an instance key off the remaining steps, if one stands there.
    fn take_key(&mut self, what: &str) -> Result<(), Diag> {
        if let Some((Step::Index { key, span }, rest)) = self.remaining.split_first() {
            self.key = instance_key(key, *span, what)?;
            self.span = self.span.to(*span);
            self.remaining = rest;
        }
        Ok(())
    }

    fn resource(mode: Mode, kind: Arc<str>, kind_at: usize, traversal: &'a Traversal) -> Result<Self, Diag> {
        let article = match mode {
            Mode::Data => "a data source",
            Mode::Ephemeral => "an ephemeral resource type",
            _ => "a resource type",
        };
        let lacking = |span| {
            Diag::error(
                INVALID,
                format!("After {article} must follow the resource's name, as in TYPE.NAME."),
            )
            .at(span)
        };
        let Some(step) = traversal.steps.get(kind_at) else {
            return Err(lacking(traversal.span()));
        };
        let Some(name) = attr_name(step) else {
            return Err(lacking(step.span()));
        };
        let subject = Subject::Resource(Resource::new(mode, kind, name.clone()));
        let mut reference = Self::new(
            subject,
            traversal.root.span.to(step.span()),
            traversal,
            kind_at + 1,
        );
        reference.take_key("resource instance")?;
        Ok(reference)
    }

    fn prefixed(mode: Mode, what: &str, traversal: &'a Traversal) -> Result<Self, Diag> {
        let root = &traversal.root.name;
        let [first, _, ..] = &*traversal.steps else {
            let detail = format!(
                "After {:?} must follow two names: the {what} type and the {what}'s name.",
                &**root
            );
            return Err(Diag::error(INVALID, detail).at(traversal.span()));
        };
        let Some(kind) = attr_name(first) else {
            let detail = format!(
                "The object {:?} has only attributes; it cannot be indexed.",
                &**root
            );
            return Err(Diag::error(INVALID, detail).at(first.span()));
        };
        Self::resource(mode, kind.clone(), 1, traversal)
    }

    fn two_names(
        traversal: &'a Traversal,
        what: &str,
        subject: fn(Arc<str>, Arc<str>) -> Subject,
    ) -> Result<Self, Diag> {
        let root = &traversal.root.name;
        let wanted = |span| {
            let detail = format!(
                "After {:?} must follow two names: the {what}'s type and its name.",
                &**root
            );
            Diag::error(INVALID, detail).at(span)
        };
        let [first, second, ..] = &*traversal.steps else {
            return Err(wanted(traversal.span()));
        };
        let kind = attr_name(first).ok_or_else(|| wanted(first.span()))?;
        let name = attr_name(second).ok_or_else(|| wanted(second.span()))?;
        let span = traversal.root.span.to(second.span());
        let mut reference = Self::new(subject(kind.clone(), name.clone()), span, traversal, 2);
        reference.take_key(what)?;
        Ok(reference)
    }

    fn module(traversal: &'a Traversal) -> Result<Self, Diag> {
        let (call, span) = single_attr(traversal)?;
        let subject = Subject::Module {
            call: call.clone(),
            output: None,
        };
        let mut reference = Self::new(subject, span, traversal, 1);
        reference.take_key("module instance")?;
        match reference.remaining.split_first() {
            None => Ok(reference),
            Some((Step::Attr { name, span: place }, rest)) => {
                reference.subject = Subject::Module {
                    call,
                    output: Some(name.clone()),
                };
                reference.span = span.to(*place);
                reference.remaining = rest;
                Ok(reference)
            }
            Some((step, _)) => {
                let detail =
                    "An instance of a module has only its outputs, as attributes; it cannot be indexed.";
                Err(Diag::error(INVALID, detail).at(step.span()))
            }
        }
    }
}

fn single_attr(traversal: &Traversal) -> Result<(Arc<str>, Span), Diag> {
    let root = &traversal.root;
    let Some(step) = traversal.steps.first() else {
        let detail = format!(
            "{:?} cannot be used as a whole. Name one of its attributes.",
            &*root.name
        );
        return Err(Diag::error(INVALID, detail).at(root.span));
    };
    match attr_name(step) {
        Some(name) => Ok((name.clone(), root.span.to(step.span()))),
        None => {
            let detail = format!(
                "The object {:?} has only attributes; it cannot be indexed.",
                &*root.name
            );
            Err(Diag::error(INVALID, detail).at(step.span()))
        }
    }
}

fn instance_key(key: &Literal, span: Span, what: &str) -> Result<InstanceKey, Diag> {
    let wrong = |why: &str| Diag::error("Invalid index key", format!("The key of a {what} {why}.")).at(span);
    match key {
        Literal::String(text) => Ok(InstanceKey::String(text.clone())),
        Literal::Number(text) => match Number::parse(text).and_then(|number| number.to_i64()) {
            Some(index) => Ok(InstanceKey::Int(index)),
            None => Err(wrong("must be a whole number")),
        },
        Literal::Null | Literal::Bool(_) => Err(wrong("must be a string or a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use super::Reference;
    use crate::{finder::traversals, fixture::expr};

    /// Subject, key, remaining steps and the blamed text, or the summary and the blamed text.
    fn check(text: &str, expected: &str) {
        let expr = expr(text);
        let traversal = traversals(&expr)[0];
        let shown = |span: ashlar_diag::Span| text[span.start as usize..span.end as usize].to_owned();
        let got = match Reference::parse(traversal) {
            Ok(Some(reference)) => {
                let rest = reference.remaining.len();
                format!(
                    "{:?} {} {rest} {}",
                    reference.subject,
                    reference.key,
                    shown(reference.span)
                )
            }
            Ok(None) => "nothing".to_owned(),
            Err(diag) => format!("{} @ {}", diag.summary, shown(diag.subject.unwrap())),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn subjects() {
        check("var.a.b[0]", "Var(\"a\")  2 var.a");
        check(
            "module.m[\"k\"].out.x",
            "Module { call: \"m\", output: Some(\"out\") } [\"k\"] 1 module.m[\"k\"].out",
        );
        check("self.id", "SelfRef  1 self");
        check("string", "nothing");
        check("each.value.x", "Each(\"value\")  1 each.value");
    }

    #[test]
    fn faults() {
        check("var", "Invalid reference @ var");
        check("var[\"a\"]", "Invalid reference @ [\"a\"]");
        check("foo", "Invalid reference @ foo");
        check("data.x", "Invalid reference @ data.x");
        check("a.b[1.5]", "Invalid index key @ [1.5]");
        check("module.m[0][1]", "Invalid reference @ [1]");
    }
}
