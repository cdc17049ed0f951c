//! `resource`, `data` and `ephemeral` blocks: meta-arguments taken out, the rest left for the provider's schema.
//!
//! Rules: Terraform `configs/resource.go`, `depends_on.go`.

use ashlar_addr::{LocalProvider, Mode, Module as ModuleAddr, Provider, ProviderConfig, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Shape};
use ashlar_syntax::{Attribute, Block, Body, Expr, ExprKind, Ident, Step, is_identifier};
use ashlar_value::Dialect;

use crate::{
    BAD_NAME,
    load::Loader,
    model::{DependsOn, Lifecycle, ProviderRef, Provisioner, ResourceConfig},
    provider_name,
    provisioner_block::{only_connection, own_references_only},
    static_expr,
};

const META: &[&str] = &["count", "for_each", "provider", "depends_on"];

pub(crate) const RESOURCE: Shape = Shape {
    required: &[],
    optional: META,
    blocks: &[
        ("locals", &[]),
        ("lifecycle", &[]),
        ("connection", &[]),
        ("provisioner", &["type"]),
        ("_", &[]),
    ],
};

pub(crate) const DATA: Shape = Shape {
    required: &[],
    optional: META,
    blocks: &[("lifecycle", &[]), ("locals", &[]), ("_", &[])],
};

/// What differs between the kinds of resource.
struct Kind {
    word: &'static str,
    shape: Shape,
    bad_kind: &'static str,
    bad_name: &'static str,
}

impl Kind {
    fn of(mode: Mode, dialect: Dialect) -> Self {
        match mode {
            Mode::Managed => Kind {
                word: "resource",
                shape: RESOURCE,
                bad_kind: "Invalid resource type name",
                bad_name: "Invalid resource name",
            },
            Mode::Data => Kind {
                word: "data",
                shape: DATA,
                bad_kind: "Invalid data source name",
                bad_name: "Invalid data resource name",
            },
            Mode::Ephemeral => Kind {
                word: "ephemeral",
                shape: match dialect {
                    Dialect::Terraform => DATA,
                    Dialect::OpenTofu => RESOURCE,
                },
                bad_kind: "Invalid ephemeral resource type",
                bad_name: "Invalid ephemeral resource name",
            },
        }
    }
}

impl Loader {
    pub(crate) fn resource_block(&mut self, block: Block, mode: Mode) {
        if let Some((resource, config)) = self.read_resource(block, mode, false) {
            if self.overriding {
                self.override_resource(resource, config);
            } else {
                self.declare_resource(resource, config);
            }
        }
    }

    /// Adds a resource to the module, unless its name is taken.
    pub(crate) fn declare_resource(&mut self, resource: Resource, config: ResourceConfig) -> bool {
        if self.module.resources.contains_key(&resource) {
            let word = match (resource.mode, self.module.dialect) {
                (Mode::Ephemeral, Dialect::OpenTofu) => "ephemeral resource",
                (mode, dialect) => Kind::of(mode, dialect).word,
            };
            let detail = format!("{resource} is declared twice in this module.");
            let summary = format!("Duplicate {word} \"{}\" configuration", resource.kind);
            self.diags.push(Diag::error(summary, detail).at(config.header));
            return false;
        }
        self.module.resources.insert(resource, config);
        true
    }

    /// `in_check`: the data source of a check block, which takes fewer meta-arguments.
    pub(crate) fn read_resource(
        &mut self,
        block: Block,
        mode: Mode,
        in_check: bool,
    ) -> Option<(Resource, ResourceConfig)> {
        let header = block.header();
        let [kind, name] = &*block.labels else { return None };
        let Kind {
            word,
            shape,
            bad_kind,
            bad_name,
        } = Kind::of(mode, self.module.dialect);
        let before = self.diags.len();
        let (overriding, dialect) = (self.overriding, self.module.dialect);
        let diags = &mut self.diags;
        let mut content = shape.split(block.body, Some(block.open), diags);
        for (label, summary) in [(kind, bad_kind), (name, bad_name)] {
            if !is_identifier(&label.name) {
                diags.push(Diag::error(summary, BAD_NAME).at(label.span));
            }
        }
        let resource = Resource::new(mode, kind.name.clone(), name.name.clone());
        let mut not_in_check = |name: &str, place| {
            if in_check {
                let summary = format!("Invalid \"{name}\" attribute");
                let detail = "The data source of a check block is read once, and takes no such argument.";
                diags.push(Diag::error(summary, detail).at(place));
            }
            !in_check
        };
        let count = content
            .take("count")
            .filter(|count| not_in_check("count", count.name.span));
        let for_each = content
            .take("for_each")
            .filter(|for_each| not_in_check("for_each", for_each.name.span));
        let named = content
            .take("provider")
            .and_then(|attribute| provider_reference(&attribute.expr, dialect, diags));
        let local_provider = named.as_ref().map_or_else(
            || LocalProvider {
                name: resource.implied_provider().into(),
                alias: None,
            },
            |named| named.local.clone(),
        );
        let (depends_on, depends_on_faults) = content
            .take("depends_on")
            .map(|list| depends_on(&list, diags))
            .unwrap_or_default();
        let mut lifecycle = None;
        let mut connection = None;
        let mut provisioners = Vec::new();
        let mut others = Vec::new();
        for inner in content.blocks {
            match &*inner.kind.name {
                "lifecycle" if in_check => {
                    let detail = "The data source of a check block has no lifecycle.";
                    diags.push(Diag::error("Invalid lifecycle block", detail).at(inner.header()));
                }
                "lifecycle" if lifecycle.is_some() => {
                    let detail = "A block can have one lifecycle block. Put all its arguments into one.";
                    diags.push(Diag::error("Duplicate lifecycle block", detail).at(inner.header()));
                }
                "lifecycle" => {
                    lifecycle = Some(Lifecycle::read(inner, &resource, overriding, dialect, diags));
                }
                kind @ ("connection" | "provisioner") if mode == Mode::Ephemeral => {
                    let detail = format!("{kind} blocks are only for managed resources.");
                    let summary = "Invalid configuration block for ephemeral resource";
                    diags.push(Diag::error(summary, detail).at(inner.header()));
                }
                "connection" => only_connection(&mut connection, inner, "resource", diags),
                "provisioner" => provisioners.extend(Provisioner::read(inner, diags)),
                _ => others.push(inner),
            }
        }
        if let Some(connection) = &connection
            && provisioners.iter().any(|provisioner| provisioner.on_destroy)
        {
            diags.extend(own_references_only(connection));
        }
        let lifecycle = lifecycle.unwrap_or_default();
        let given = [count.as_ref(), for_each.as_ref(), lifecycle.enabled.as_ref()];
        diags.extend(both_repetitions(given, dialect));
        let config = ResourceConfig {
            count: count.map(|attribute| attribute.expr),
            for_each: for_each.map(|attribute| attribute.expr),
            provider_config: ProviderConfig {
                module: ModuleAddr::root(),
                provider: Provider::implied(&local_provider.name),
                alias: local_provider.alias.clone(),
                key: ashlar_addr::InstanceKey::None,
            },
            passed_key: None,
            is_provider_named: named.is_some(),
            provider_span: named.as_ref().map(|named| named.span),
            provider_key: named.and_then(|named| named.key),
            local_provider,
            depends_on,
            depends_on_faults,
            lifecycle,
            connection,
            provisioners,
            check: None,
            body: escaped(content.rest, others, word, diags),
            kind: kind.span,
            header,
        };
        let sound = !self.diags.iter().skip(before).any(Diag::is_error);
        (!in_check || sound).then_some((resource, config))
    }
}

/// The fault of a block that says in several ways how often it is repeated.
pub(crate) fn both_repetitions(given: [Option<&Attribute>; 3], dialect: Dialect) -> Option<Diag> {
    let mut names: Vec<&Ident> = given
        .into_iter()
        .flatten()
        .map(|attribute| &attribute.name)
        .collect();
    let (first, last) = (names.first()?.span, names.last()?.span);
    if names.len() < 2 {
        return None;
    }
    let place = match dialect {
        Dialect::Terraform => last,
        // All of them, as far as they stand apart.
        Dialect::OpenTofu => names.iter().fold(first, |place, name| place.to(name.span)),
    };
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.name)).collect();
    let list = match &*names {
        [one, other] => format!("{one} and {other}"),
        names => names
            .join(", ")
            .replacen(", \"for_each\"", ", and \"for_each\"", 1),
    };
    let detail = "How often a block is repeated is told in one way.";
    Some(Diag::error(format!("Invalid combination of {list}"), detail).at(place))
}

/// The body with the content of the escaping block `_` added; `special`: the blocks of the language, of which only that
/// one is allowed. `what`: the word for the block around.
pub(crate) fn escaped(body: Body, special: Vec<Block>, what: &str, diags: &mut Diags) -> Body {
    let (escapes, reserved): (Vec<_>, Vec<_>) =
        special.into_iter().partition(|block| &*block.kind.name == "_");
    for block in reserved {
        let detail = format!(
            "{:?} is kept for a later version of the language.",
            &*block.kind.name
        );
        let summary = format!("Reserved block type name in {what} block");
        diags.push(Diag::error(summary, detail).at(block.kind.span));
    }
    merge_escaped(body, escapes, diags)
}

/// The body with the content of its block `_`, of which there can be one.
pub(crate) fn merge_escaped(mut body: Body, escapes: Vec<Block>, diags: &mut Diags) -> Body {
    let mut escapes = escapes.into_iter();
    let Some(block) = escapes.next() else { return body };
    for again in escapes {
        let detail = "A block can have one block \"_\". Put all escaped arguments into one.";
        diags.push(Diag::error("Duplicate escaping block", detail).at(again.header()));
    }
    for attribute in block.body.attributes {
        if body.attribute(&attribute.name.name).is_some() {
            let detail = format!(
                "{:?} is set inside and outside of the block \"_\".",
                &*attribute.name.name
            );
            diags.push(Diag::error("Duplicate argument", detail).at(attribute.name.span));
        } else {
            body.attributes.push(attribute);
        }
    }
    body.blocks.extend(block.body.blocks);
    match (&mut body.unread, block.body.unread) {
        (Some(unread), Some(more)) => unread.append(*more),
        (unread, more) => *unread = unread.take().or(more),
    }
    body
}

/// The entries of `depends_on`, and the faults of those that name nothing.
pub(crate) fn depends_on(attribute: &Attribute, diags: &mut Diags) -> (Vec<DependsOn>, Diags) {
    let mut found = Vec::new();
    let mut faults = Diags::new();
    let items = match static_expr::list(&attribute.expr) {
        Ok(items) => items,
        Err(diag) => {
            diags.push(diag);
            return (found, faults);
        }
    };
    for item in items {
        let Some(traversal) = static_expr::reference(item, diags) else {
            continue;
        };
        if &*traversal.root.name == "action" {
            let detail = "An action runs because of a resource. Depend on that resource instead.";
            diags.push(Diag::error("Invalid depends_on Action Reference", detail).at(item.span));
            continue;
        }
        match Reference::parse(&traversal) {
            Ok(Some(reference)) => {
                let (subject, span) = (reference.subject.clone(), reference.span);
                found.push(DependsOn {
                    subject,
                    span,
                    traversal,
                });
            }
            Ok(None) => {
                let detail = "After a resource type must follow the resource's name, as in TYPE.NAME.";
                faults.push(Diag::error("Invalid reference", detail).at(traversal.span()));
            }
            Err(diag) => faults.push(diag),
        }
    }
    (found, faults)
}

/// `provider = NAME` or `provider = NAME.ALIAS`; in OpenTofu also `NAME.ALIAS[KEY]`.
pub(crate) fn provider_reference(expr: &Expr, dialect: Dialect, diags: &mut Diags) -> Option<ProviderRef> {
    const INVALID: &str = "Invalid provider configuration reference";
    let keyed = dialect == Dialect::OpenTofu;
    let (named, mut key) = match &expr.kind {
        ExprKind::Index { collection, key, .. } if keyed => (&**collection, Some((**key).clone())),
        _ => (expr, None),
    };
    let mut faults = Diags::new();
    let most = if keyed && key.is_none() { 2 } else { 1 };
    let found = static_expr::reference(named, &mut faults);
    let Some(mut traversal) = found.filter(|traversal| traversal.steps.len() <= most) else {
        let detail = if static_expr::is_quoted(named) {
            "A provider configuration is named without quotes."
        } else {
            "A provider configuration is named by the provider's local name, and its alias after a dot if it has one."
        };
        diags.push(Diag::error(INVALID, detail).at(named.span));
        return None;
    };
    diags.extend(faults);
    if let Some(diag) = provider_name::local_name_fault(&traversal.root.name, traversal.root.span) {
        diags.push(diag);
        return None;
    }
    let whole = traversal.span();
    if let (2, Some(Step::Index { key: constant, .. })) = (traversal.steps.len(), traversal.steps.last()) {
        key = Some(Expr {
            kind: ExprKind::Literal(constant.clone()),
            span: whole,
        });
        traversal.steps.pop();
    }
    let mut steps = traversal.steps.iter();
    let alias = match steps.next() {
        None => None,
        Some(Step::Attr { name, .. }) => Some(name.clone()),
        Some(step) => {
            let detail = "After the local name can follow only a dot and the alias.";
            diags.push(Diag::error(INVALID, detail).at(step.span()));
            return None;
        }
    };
    if let Some(step) = steps.next() {
        let detail = "After the alias can follow only the key of one of several configurations, in brackets.";
        diags.push(Diag::error(INVALID, detail).at(step.span()));
        return None;
    }
    if let (None, Some(_)) = (&alias, &key) {
        let detail = "Only a configuration with an alias can be one of several: NAME.ALIAS[KEY].";
        diags.push(Diag::error(INVALID, detail).at(whole));
        return None;
    }
    Some(ProviderRef {
        span: traversal.root.span,
        key,
        local: LocalProvider {
            name: traversal.root.name,
            alias,
        },
    })
}
