//! What expressions see before anything is planned: types and marks, no values of variables or resources.
//!
//! Rules: Terraform `terraform/evaluate.go` in its validate walk.

use std::sync::Arc;

use ashlar_addr::{Mode, Module as ModuleAddr, Provider, Resource};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::{Reference, Scope, Subject, block_references, locate, references, undeclared};
use ashlar_funcs::Caps;
use ashlar_syntax::{Body, Expr, Step};
use ashlar_value::{
    Dialect, Mark, Marks, ObjectAttr, ObjectType, Path, PathStep, Type, Value,
    schema::{Block, ProviderSchema},
};

use super::{Check, repeat};
use crate::{DependsOn, check_reference, reference::schema_of, static_expr, tree::Member};

/// What tells the instances of the block around apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// There is one.
    No,
    /// `count.index` is there.
    Count,
    /// `each.key` and `each.value` are there.
    ForEach,
    /// Whatever is used may be there.
    Unknown,
}

/// The scope of one block.
pub(super) struct StaticScope<'c, 't> {
    check: &'c Check<'t>,
    path: &'t ModuleAddr,
    member: &'t Member,
    repeated: Repeated,
    /// What `self` means.
    this: Option<&'t Resource>,
    /// The check block around.
    inside: Option<&'t Arc<str>>,
    /// The variable whose validation it is: its value counts, that of others is not known.
    validated: Option<&'t Arc<str>>,
}

impl<'c, 't> StaticScope<'c, 't> {
    pub(super) fn new(check: &'c Check<'t>, path: &'t ModuleAddr, member: &'t Member) -> Self {
        Self {
            check,
            path,
            member,
            repeated: Repeated::No,
            this: None,
            inside: None,
            validated: None,
        }
    }

    pub(super) fn repeated(self, repeated: Repeated) -> Self {
        Self { repeated, ..self }
    }

    pub(super) fn with_self(self, this: &'t Resource) -> Self {
        Self {
            this: Some(this),
            ..self
        }
    }

    pub(super) fn in_check(self, name: &'t Arc<str>) -> Self {
        Self {
            inside: Some(name),
            ..self
        }
    }

    /// Is nobody told of what is deprecated here?
    fn is_quiet(&self) -> bool {
        let mut path = self.path.clone();
        while let Some((parent, call)) = self.check.tree.call(&path) {
            if call.ignore_nested_deprecations {
                return true;
            }
            path = parent;
        }
        false
    }

    /// Tells that something deprecated is used, and what those who deprecated it say: all that these references name, since
    /// what stands between them and it takes the mark off.
    fn tell(&self, place: Option<Span>, references: &[Reference<'_>], diags: &mut Diags) {
        if self.is_quiet() {
            return;
        }
        let within = |place: Span, span: Span| {
            place.file == span.file && place.start <= span.start && span.end <= place.end
        };
        let at = |reference: &&Reference<'_>| place.is_none_or(|place| within(place, reference.span));
        let mut named: Vec<_> = references.iter().filter(at).collect();
        if named.is_empty() {
            named = references.iter().collect();
        }
        let mut said: Vec<String> = named
            .into_iter()
            .flat_map(|reference| self.deprecations(reference))
            .collect();
        said.dedup();
        let detail = if said.is_empty() {
            "The value comes from something that is deprecated. Its own documentation tells what to use instead."
                .to_owned()
        } else {
            format!(
                "The value comes from something that is deprecated: {}",
                said.join(" ")
            )
        };
        let summary = match self.dialect() {
            Dialect::Terraform => "Deprecated value used",
            Dialect::OpenTofu => "Value derived from a deprecated source",
        };
        let diag = Diag::warning(summary, detail);
        diags.push(match place {
            Some(place) => diag.at(place),
            None => diag,
        });
    }

    /// What is said of those deprecated things that a reference names.
    fn deprecations(&self, reference: &Reference<'_>) -> Vec<String> {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match &reference.subject {
            Subject::Module { call, output } => {
                let inner = self.check.tree.members.get(&self.path.child(call.clone()));
                let outputs = inner.into_iter().flat_map(|inner| &inner.module.outputs);
                outputs
                    .filter(|(name, _)| output.as_ref().is_none_or(|output| output == *name))
                    .filter_map(|(_, output)| said(&output.deprecated.as_ref()?.0))
                    .collect()
            }
            Subject::Resource(resource) => {
                let config = self.member.module.resources.get(resource);
                let schemas =
                    config.and_then(|config| self.check.schemas.get(&config.provider_config.provider));
                let Some(schema) = schemas.and_then(|schemas| schema_of(schemas, resource)) else {
                    return Vec::new();
                };
                let step = reference.remaining.iter().find_map(|step| match step {
                    Step::Attr { name, .. } => Some(name),
                    Step::Index { .. } => None,
                });
                let attributes = schema.block.attributes.iter();
                let attributes = attributes.map(|(name, attribute)| (name, &attribute.deprecated));
                let blocks = schema.block.blocks.iter();
                let blocks = blocks.map(|(name, nested)| (name, &nested.block.deprecated));
                let of_type = schema.block.deprecated.as_deref().and_then(said);
                let parts = attributes
                    .chain(blocks)
                    .filter(|(name, _)| step.is_none_or(|step| step == *name))
                    .filter_map(|(_, deprecated)| said(deprecated.as_deref()?));
                of_type.into_iter().chain(parts).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value, of which it is told if it is itself from something deprecated.
    pub(super) fn used(&self, value: Value, expr: &Expr, diags: &mut Diags) -> Value {
        // OpenTofu looks at what is kept or shown in the end.
        if value.marks().contains(Mark::Deprecated) && self.dialect() == Dialect::Terraform {
            self.tell(Some(expr.span), &references(expr).0, diags);
        }
        let marks = value.marks().without(Mark::Deprecated);
        value.with_only_marks(marks)
    }

    /// The value of an expression, told of each part that is from something deprecated.
    pub(super) fn used_deep(&self, value: Value, expr: &Expr, diags: &mut Diags) -> Value {
        for path in deprecated(&value) {
            self.tell(Some(part(expr, &path.0)), &references(expr).0, diags);
        }
        undeprecated(value)
    }

    /// As [`StaticScope::used_deep`], for the value of a block.
    pub(super) fn used_in(&self, value: Value, body: &Body, schema: &Block, diags: &mut Diags) -> Value {
        for path in deprecated(&value) {
            let place = locate(body, &path).or(body.missing_item());
            self.tell(place, &block_references(body, schema).0, diags);
        }
        undeprecated(value)
    }

    pub(super) fn count(&self, expr: &Expr) -> Diags {
        repeat::count(expr, self)
    }

    pub(super) fn for_each(&self, expr: &Expr) -> Diags {
        repeat::for_each(expr, self)
    }

    /// What an expression of the module sees of a resource.
    fn resource(&self, resource: &Resource) -> Value {
        if resource.mode == Mode::Ephemeral {
            return Value::dynamic().with_marks(Marks::EPHEMERAL);
        }
        let config = self.member.module.resources.get(resource);
        let single = config.filter(|config| config.count.is_none() && config.for_each.is_none());
        let schema = single.and_then(|config| {
            let schemas = self.check.schemas.get(&config.provider_config.provider)?;
            schema_of(schemas, resource)
        });
        let Some(schema) = schema else {
            return Value::dynamic();
        };
        let block = &schema.block;
        let attributes = block.attributes.iter().map(|(name, attribute)| {
            let value = Value::unknown(attribute.ty());
            (name.clone(), deprecating(value, attribute.deprecated.is_some()))
        });
        let blocks = block.blocks.iter().map(|(name, nested)| {
            let value = Value::unknown(nested.ty());
            (
                name.clone(),
                deprecating(value, nested.block.deprecated.is_some()),
            )
        });
        let value = Value::object(attributes.chain(blocks).collect::<Vec<_>>());
        deprecating(value, block.deprecated.is_some())
    }

    fn own_argument(&self, name: &Arc<str>) -> Option<Value> {
        self.check.arguments.get(self.path)?.get(name).cloned()
    }

    pub(super) fn validating(self, name: &'t Arc<str>) -> Self {
        Self {
            validated: Some(name),
            ..self
        }
    }

    /// A data source inside a check block is seen by that block alone.
    fn scoped(&self, reference: &Reference<'_>, resource: &Resource) -> Option<Diag> {
        let around = self.member.module.resources.get(resource)?.check.as_ref()?;
        if self.inside == Some(around) {
            return None;
        }
        let detail = format!("{resource} stands in the check {around:?}, and only that can refer to it.");
        Some(Diag::error("Reference to scoped resource", detail).at(reference.span))
    }

    /// What an expression of the module sees of a call.
    fn called(&self, name: &Arc<str>) -> Value {
        let module = &self.member.module;
        let inner = self.path.child(name.clone());
        let (Some(call), Some(inner)) = (module.calls.get(name), self.check.tree.members.get(&inner)) else {
            return Value::dynamic();
        };
        let outputs = &inner.module.outputs;
        // Without any declared type all of them are taken to have none, as Terraform does.
        let is_typed = outputs.values().any(|output| output.ty != Type::Dynamic);
        let is_exact = outputs.values().all(|output| !output.ty.has_dynamic());
        let attrs = outputs.iter().map(|(name, output)| ObjectAttr {
            name: name.clone(),
            ty: output.ty.without_optional(),
            optional: false,
        });
        let ty = || Type::Object(ObjectType::new(attrs.clone()).into());
        match (&call.count, &call.for_each) {
            (None, None) => {
                let values = outputs.iter().map(|(name, output)| {
                    let value = Value::unknown(output.ty.without_optional());
                    let is_deprecated = output.deprecated.is_some() && self.dialect() == Dialect::Terraform;
                    (name.clone(), deprecating(value, is_deprecated))
                });
                Value::object(values.collect::<Vec<_>>())
            }
            _ if is_typed && !is_exact => Value::dynamic(),
            (Some(_), _) => Value::unknown(Type::list(ty())),
            (None, Some(_)) => Value::unknown(Type::map(ty())),
        }
    }

    /// Faults of the steps taken into a declared resource.
    fn steps(&self, reference: &Reference<'_>, resource: &Resource) -> Diags {
        let Some(config) = self.member.module.resources.get(resource) else {
            return Diags::new();
        };
        let Some(schemas) = self.check.schemas.get(&config.provider_config.provider) else {
            return Diags::new();
        };
        match schema_of(schemas, resource) {
            Some(schema) => undeclared::steps(reference.remaining, &schema.block),
            None => {
                let detail = format!("The provider has no resource type {:?}.", &*resource.kind);
                Diag::error("Invalid resource type", detail)
                    .at(reference.span)
                    .into()
            }
        }
    }

    /// Faults of a `depends_on` list; the first one ends the search, as in Terraform.
    pub(super) fn depends_on(&self, list: &[DependsOn], faults: &Diags) -> Diags {
        let mut diags = Diags::new();
        let mut faults = faults.iter().peekable();
        for depends in list {
            // Faults of entries that stand before this one.
            let before = |fault: &&Diag| fault.subject.is_some_and(|at| at.start < depends.span.start);
            while let Some(fault) = faults.next_if(before) {
                diags.push(fault.clone());
            }
            let reference = match Reference::parse(&depends.traversal) {
                Ok(Some(reference)) => reference,
                Ok(None) => continue,
                Err(diag) => {
                    diags.push(diag);
                    continue;
                }
            };
            if let (Some(first), Some(last)) = (reference.remaining.first(), reference.remaining.last()) {
                let detail = "Only whole objects can be depended on, not their attributes.";
                let place = first.span().to(last.span());
                diags.push(Diag::error("Invalid depends_on reference", detail).at(place));
            }
            if !diags.has_errors() {
                diags.extend(Scope::check(self, &reference));
            }
            if !diags.has_errors() {
                diags.extend(self.lookup(&reference).err().unwrap_or_default());
            }
        }
        diags.extend(faults.cloned());
        diags
    }
}

impl Scope for StaticScope<'_, '_> {
    fn check(&self, reference: &Reference<'_>) -> Diags {
        let mut diags = check_reference(&self.member.module, reference);
        if let Subject::Resource(resource) = &reference.subject
            && let Some(diag) = self.scoped(reference, resource)
        {
            diags.push(diag);
            return diags;
        }
        match (&reference.subject, self.this) {
            (Subject::Resource(resource), _) => diags.extend(self.steps(reference, resource)),
            (Subject::SelfRef, Some(this)) => diags.extend(self.steps(reference, this)),
            (Subject::SelfRef, None) => diags.push(undeclared::no_self(reference)),
            _ => {}
        }
        diags
    }

    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let module = &self.member.module;
        match &reference.subject {
            Subject::Var(name) if self.validated == Some(name) && self.own_argument(name).is_some() => {
                Ok(self.own_argument(name).unwrap_or_else(Value::dynamic))
            }
            Subject::Var(name) => match module.variables.get(name) {
                Some(variable) => Ok(variable.marked(Value::unknown(variable.ty.without_optional()))),
                None => {
                    Err(
                        undeclared::variable(reference, name, module.variables.keys().map(|name| &**name))
                            .into(),
                    )
                }
            },
            Subject::Local(name) if !module.locals.contains_key(name) => {
                Err(undeclared::local(reference, name, module.locals.keys().map(|name| &**name)).into())
            }
            Subject::Local(name) => {
                let locals = self.check.locals.get(self.path);
                let value = locals.and_then(|locals| locals.get(name)).cloned();
                Ok(value.unwrap_or_else(Value::dynamic))
            }
            Subject::Path(name) => match &**name {
                "module" => Ok(Value::string(&*self.member.folder)),
                "root" => Ok(Value::string(".")),
                "cwd" => Ok(self
                    .check
                    .caps
                    .cwd()
                    .map_or_else(|_| Value::unknown(Type::String), Value::string)),
                _ => Err(undeclared::path(reference, name).into()),
            },
            Subject::Terraform(name) => match &**name {
                "workspace" => Ok(Value::unknown(Type::String)),
                "applying" => Ok(Value::unknown(Type::Bool).with_marks(Marks::EPHEMERAL)),
                _ => Err(undeclared::terraform(reference, name).into()),
            },
            Subject::Each(name) => {
                let known = matches!(self.repeated, Repeated::ForEach | Repeated::Unknown);
                match undeclared::each(reference, name, known) {
                    Some(diag) => Err(diag.into()),
                    None if &**name == "key" => Ok(Value::unknown(Type::String)),
                    None => Ok(Value::dynamic()),
                }
            }
            Subject::Count(name) => {
                let known = matches!(self.repeated, Repeated::Count | Repeated::Unknown);
                match undeclared::count(reference, name, known) {
                    Some(diag) => Err(diag.into()),
                    None => Ok(Value::unknown(Type::Number)),
                }
            }
            Subject::Module { call, .. } => Ok(self.called(call)),
            Subject::Resource(resource) => Ok(self.resource(resource)),
            Subject::SelfRef | Subject::List { .. } | Subject::Caller | Subject::Action { .. } => {
                Ok(Value::dynamic())
            }
        }
    }

    fn caps(&self) -> &dyn Caps {
        self.check.caps
    }

    fn dialect(&self) -> Dialect {
        self.member.module.dialect
    }

    fn is_early(&self) -> bool {
        true
    }

    fn provider(&self, local: &str) -> Option<(Provider, Arc<ProviderSchema>)> {
        self.member.module.function_provider(local, &self.check.schemas)
    }
}

/// The value, as if nothing it is made of were deprecated.
pub(super) fn undeprecated(value: Value) -> Value {
    value.map_marks(&mut |marks| marks.without(Mark::Deprecated))
}

fn deprecating(value: Value, is_deprecated: bool) -> Value {
    if is_deprecated {
        value.with_marks(Marks::DEPRECATED)
    } else {
        value
    }
}

/// Where in a value something is from what is deprecated.
fn deprecated(value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    value.walk(&mut |path, value| {
        if value.marks().contains(Mark::Deprecated) {
            found.push(path.clone());
        }
        value.marks_deep().contains(Mark::Deprecated)
    });
    found
}

/// The place of the expression that gives a part of a value, as far as lists and objects are written out.
fn part(expr: &Expr, path: &[PathStep]) -> Span {
    let Some((step, rest)) = path.split_first() else {
        return expr.span;
    };
    let inner = match step {
        PathStep::Index(key) if key.as_number().is_some() => {
            let items = static_expr::list(expr).ok();
            let at = key
                .as_number()
                .and_then(|number| usize::try_from(number.to_i64()?).ok());
            items.zip(at).and_then(|(items, at)| items.get(at))
        }
        PathStep::Index(key) => key.as_str().and_then(|name| member(expr, name)),
        PathStep::Attr(name) => member(expr, name),
    };
    inner.map_or(expr.span, |inner| part(inner, rest))
}

fn member<'e>(expr: &'e Expr, name: &str) -> Option<&'e Expr> {
    let mut items = static_expr::items(expr)?.into_iter();
    items.find_map(|item| {
        let is_it = match item.word {
            Some(word) => word == name,
            None => ashlar_eval::evaluate_constant(item.key)
                .0
                .as_str()
                .is_some_and(|key| &**key == name),
        };
        is_it.then_some(item.value)
    })
}
