//! `moved`, `removed` and `import` blocks.
//!
//! Rules: Terraform `configs/moved.go`, `removed.go`, `import.go`.

use ashlar_addr::{Mode, Module as ModuleAddr, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Shape, constant};
use ashlar_syntax::{Block, Expr, ExprKind, Traversal};
use ashlar_value::{Dialect, Type};

use crate::{
    address,
    load::Loader,
    model::{Import, Moved, Provisioner, Removed},
    provisioner_block::only_connection,
    resource_block::provider_reference,
    static_expr,
};

pub(crate) const MOVED: Shape = Shape {
    required: &["from", "to"],
    optional: &[],
    blocks: &[],
};

pub(crate) const REMOVED: Shape = Shape {
    required: &["from"],
    optional: &[],
    blocks: &[
        ("lifecycle", &[]),
        ("connection", &[]),
        ("provisioner", &["type"]),
    ],
};

pub(crate) const REMOVED_OPENTOFU: Shape = Shape {
    required: &["from"],
    optional: &[],
    blocks: &[("lifecycle", &[]), ("provisioner", &["type"])],
};

pub(crate) const REMOVED_LIFECYCLE: Shape = Shape {
    required: &[],
    optional: &["destroy"],
    blocks: &[],
};

pub(crate) const IMPORT: Shape = Shape {
    required: &["to"],
    optional: &["provider", "for_each", "id", "identity"],
    blocks: &[],
};

impl Loader {
    pub(crate) fn moved_block(&mut self, block: Block) {
        let header = block.header();
        let mut diags = Diags::new();
        let mut content = MOVED.content(block.body, Some(block.open), &mut diags);
        let mut end = |name| {
            let attribute = content.take(name)?;
            let found = static_expr::traversal(&attribute.expr);
            diags.take(
                found
                    .and_then(|traversal| address::endpoint(&traversal))
                    .map_err(Diags::from),
            )
        };
        let ends = (end("from"), end("to"));
        if let (Some(from), Some(to)) = ends {
            if from.resource.is_some() == to.resource.is_some() {
                let moved = Moved { from, to, header };
                if self.overriding {
                    let detail = "What was moved is told in ordinary files.";
                    diags.push(Diag::error("Cannot override 'moved' blocks", detail).at(header));
                } else if !diags.has_errors() {
                    self.module.moved.push(moved);
                }
            } else if !diags.has_errors() {
                let detail = "Both addresses name resources, or both name modules.";
                diags.push(Diag::error("Invalid \"moved\" addresses", detail).at(header));
            }
        }
        self.diags.extend(diags);
    }

    pub(crate) fn removed_block(&mut self, block: Block) {
        let header = block.header();
        let tofu = self.module.dialect == Dialect::OpenTofu;
        let mut told = Diags::new();
        let diags = &mut told;
        let shape = if tofu { REMOVED_OPENTOFU } else { REMOVED };
        let mut content = shape.content(block.body, Some(block.open), diags);
        let from = content.take("from").and_then(|attribute| {
            let found = static_expr::traversal(&attribute.expr);
            diags.take(
                found
                    .and_then(|traversal| address::removed(&traversal))
                    .map_err(Diags::from),
            )
        });
        let is_managed = matches!(&from, Some((_, Some(Resource { mode, .. }))) if *mode == Mode::Managed);
        // Where nothing is said OpenTofu forgets.
        let mut destroy = !tofu;
        let mut is_said = false;
        let mut lifecycles = 0;
        let mut connection = None;
        let mut provisioners = Vec::new();
        for inner in content.blocks {
            match &*inner.kind.name {
                "lifecycle" if tofu && lifecycles > 0 => {
                    let detail = "A block can have one lifecycle block.";
                    diags.push(Diag::error("Duplicate lifecycle block", detail).at(inner.header()));
                }
                "lifecycle" => {
                    lifecycles += 1;
                    let mut lifecycle = REMOVED_LIFECYCLE.content(inner.body, Some(inner.open), diags);
                    let attribute = lifecycle.take("destroy");
                    is_said |= attribute.is_some();
                    let given = attribute
                        .and_then(|attribute| constant(&attribute.expr, &Type::Bool, diags)?.as_bool());
                    destroy = given.unwrap_or(destroy);
                }
                _ if !is_managed && tofu => {
                    let detail =
                        "Only where a resource is removed can something be run, not where a module is.";
                    diags.push(Diag::error("Invalid \"removed\" block", detail).at(header));
                }
                kind if !is_managed => {
                    let summary = format!("Invalid {kind} block");
                    let detail = "Only where a managed resource is removed can something be run.";
                    diags.push(Diag::error(summary, detail).at(inner.header()));
                }
                "connection" => only_connection(&mut connection, inner, "removed block", diags),
                _ => {
                    let place = inner.header();
                    let Some(provisioner) = Provisioner::read(inner, diags) else {
                        continue;
                    };
                    if !provisioner.on_destroy {
                        let detail = "When an object is removed only provisioners with when = destroy run.";
                        let summary = if tofu {
                            "Invalid \"removed.provisioner\" block"
                        } else {
                            "Invalid provisioner block"
                        };
                        diags.push(Diag::error(summary, detail).at(place));
                    }
                    provisioners.push(provisioner);
                }
            }
        }
        if tofu && !diags.has_errors() {
            diags.extend(
                removed_warning(is_said, destroy, !provisioners.is_empty()).map(|diag| diag.at(header)),
            );
        }
        self.diags.extend(told);
        // In an override file Terraform passes it over.
        if let Some((module, resource)) = from.filter(|_| !self.overriding) {
            self.module.removed.push(Removed {
                module,
                resource,
                destroy,
                connection,
                provisioners,
                header,
            });
        }
    }

    pub(crate) fn import_block(&mut self, block: Block) {
        let header = block.header();
        let mut diags = Diags::new();
        let import = read_import(block, self.module.dialect, &mut diags);
        self.diags.extend(diags);
        if self.overriding {
            let detail = "What is imported is told in ordinary files.";
            let diag = Diag::error("Cannot override 'import' blocks", detail).at(header);
            return self.diags.push(diag);
        }
        let Some(import) = import else { return };
        if static_end(&import.to).is_some_and(|end| !self.imported.insert(end)) {
            let (module, resource) = &import.resource;
            let dot = if module.is_root() { "" } else { "." };
            let summary = format!("Duplicate import configuration for \"{module}{dot}{resource}\"");
            let detail = "Something is imported to this address by another block already.";
            self.diags.push(Diag::error(summary, detail).at(import.to.span));
        }
        self.module.imports.push(import);
    }
}

/// What OpenTofu warns of: its `removed` blocks forget where Terraform's destroy.
fn removed_warning(is_said: bool, destroy: bool, has_provisioners: bool) -> Option<Diag> {
    if !is_said {
        let detail = "Nothing says whether the objects are destroyed, so OpenTofu only forgets them. Say it in a lifecycle block: \
                      destroy = true, or false.";
        return Some(Diag::warning("Missing lifecycle from the removed block", detail));
    }
    (!destroy && has_provisioners).then(|| {
        let detail = "The objects are forgotten, not destroyed, so what should be run at their destruction is not run.";
        Diag::warning("Removed block provisioners will not be executed", detail)
    })
}

fn read_import(block: Block, dialect: Dialect, diags: &mut Diags) -> Option<Import> {
    let header = block.header();
    let mut content = IMPORT.content(block.body, Some(block.open), diags);
    let id = content.take("id").map(|attribute| attribute.expr);
    let identity = content.take("identity").map(|attribute| attribute.expr);
    let mut target = None;
    if let Some(attribute) = content.take("to") {
        let to = static_expr::in_json(&attribute.expr, diags);
        let to = to.filter(|_| !diags.has_errors())?;
        let found = static_part(&to).and_then(|traversal| address::target(&traversal));
        let found = diags.take(found.map_err(Diags::from));
        if found
            .as_ref()
            .is_none_or(|(_, resource)| resource.mode != Mode::Managed)
        {
            let detail = "Only managed resources can be imported.";
            diags.push(Diag::error("Invalid import address", detail).at(attribute.span));
        }
        target = found.map(|found| (to, found));
    }
    let for_each = content.take("for_each").map(|attribute| attribute.expr);
    let mut provider_span = None;
    let provider = content.take("provider").and_then(|attribute| {
        provider_span = Some(attribute.span);
        let in_module = target
            .as_ref()
            .is_some_and(|(_, (module, _)): &(Expr, (ModuleAddr, Resource))| !module.is_root());
        if in_module {
            let detail = "The provider is told by the module's own configuration. Take this argument out.";
            diags.push(Diag::error("Invalid import provider argument", detail).at(attribute.span));
        }
        provider_reference(&attribute.expr, dialect, diags)
    });
    let detail = match (&id, &identity) {
        (None, None) => Some("What is imported is told by id or by identity."),
        (Some(_), Some(_)) => Some("What is imported is told by id or by identity, not by both."),
        _ => None,
    };
    if let Some(detail) = detail {
        diags.push(Diag::error("Invalid import block", detail).at(header));
    }
    let (to, resource) = target?;
    Some(Import {
        id,
        identity,
        to,
        resource,
        for_each,
        provider,
        provider_span,
        header,
    })
}

/// The names of an address whose keys may be computed; computed keys are left out.
fn static_part(expr: &Expr) -> Result<Traversal, Diag> {
    match &expr.kind {
        ExprKind::Index { collection, .. } => static_part(collection),
        ExprKind::Relative { source, steps } => {
            let mut traversal = static_part(source)?;
            traversal.steps.extend(steps.iter().cloned());
            Ok(traversal)
        }
        _ => static_expr::traversal(expr),
    }
}

/// The instance that an expression names, if it is named by constants.
fn static_end(expr: &Expr) -> Option<String> {
    let traversal = expr.as_traversal()?;
    let end = address::endpoint(&traversal).ok()?;
    let calls = end
        .module
        .iter()
        .map(|(name, key)| format!("module.{name}{key}."));
    let (resource, key) = end.resource.as_ref()?;
    Some(format!("{}{resource}{key}", calls.collect::<String>()))
}
