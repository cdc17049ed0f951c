//! The `terraform` block: versions and providers that are required; where state is kept does not concern us.
//!
//! Rules: Terraform `configs/parser_config.go`, `provider_requirements.go`, `version_constraint.go`, `experiments.go`.

use std::sync::Arc;

use ashlar_addr::{Constraints, Provider, Version};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::{Shape, evaluate_constant, only_arguments};
use ashlar_syntax::{Attribute, Block, Expr, Step};
use ashlar_value::{Data, Dialect, Type, Value, convert};

use crate::{
    LocalBackend, Module,
    load::Loader,
    model::{ProviderMeta, RequiredProvider},
    provider_name,
    static_expr::{self, Item},
};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &["required_version", "experiments", "language"],
    blocks: &[
        ("backend", &["type"]),
        ("cloud", &[]),
        ("required_providers", &[]),
        ("provider_meta", &["provider"]),
    ],
};

/// What the one backend may say whose arguments are known here.
pub(crate) const LOCAL_BACKEND: Shape = Shape {
    required: &[],
    optional: &["path", "workspace_dir"],
    blocks: &[],
};

pub(crate) const OPENTOFU: Shape = Shape {
    required: SHAPE.required,
    optional: SHAPE.optional,
    blocks: &[
        ("backend", &["type"]),
        ("cloud", &[]),
        ("required_providers", &[]),
        ("provider_meta", &["provider"]),
        ("encryption", &[]),
    ],
};

const BAD_CONSTRAINT: &str = "Invalid version constraint";

impl Loader {
    pub(crate) fn terraform_block(&mut self, block: Block) {
        let shape = match self.module.dialect {
            Dialect::Terraform => SHAPE,
            Dialect::OpenTofu => OPENTOFU,
        };
        let mut content = shape.content(block.body, Some(block.open), &mut self.diags);
        let required = content.take("required_version");
        let experiments = content.take("experiments");
        let language = content.take("language");
        // OpenTofu takes what these say as said to Terraform, and passes them over; but for a version in a file of its own.
        let ours = self.module.dialect == Dialect::Terraform;
        if let Some(attribute) = required.filter(|_| ours || self.own_file) {
            self.required_version(&attribute);
        }
        if let Some(attribute) = experiments.filter(|_| ours) {
            let detail = "Experiments of the language exist only in alpha releases of Terraform.";
            self.diags
                .push(Diag::error("Module uses experimental features", detail).at(attribute.name.span));
        }
        if let Some(attribute) = language.filter(|_| ours) {
            self.language(&attribute.expr);
        }
        for inner in content.blocks {
            match &*inner.kind.name {
                "backend" => self.backend(&inner),
                "cloud" => self.cloud(&inner),
                "provider_meta" => self.provider_meta(inner),
                "encryption" => self.encryption_block(inner),
                _ => self.required_providers(inner),
            }
        }
    }

    fn backend(&mut self, block: &Block) {
        let again = if self.overriding {
            std::mem::replace(&mut self.in_file.backend, true)
        } else {
            self.module.backend.is_some()
        };
        if again {
            let detail = "A module can have one backend block.";
            let summary = if self.overriding {
                "Duplicate backend configuration"
            } else {
                "Duplicate 'backend' configuration block"
            };
            return self.diags.push(Diag::error(summary, detail).at(block.header()));
        }
        self.module.backend = Some(block.header());
        let (arguments, faults) = backend_arguments(block);
        self.module.backend_faults = faults;
        self.module.local_backend = is_local(block).then(|| local_backend(&arguments));
        // OpenTofu's may refer to variables and locals, which are not all read yet.
        match self.module.dialect {
            Dialect::Terraform => {
                let faults = arguments
                    .iter()
                    .map(|argument| evaluate_constant(&argument.expr).1);
                self.module.backend_faults.extend(faults.flatten());
            }
            Dialect::OpenTofu => self.module.backend_arguments = arguments,
        }
        if self.overriding {
            self.module.cloud = None;
        }
    }

    fn cloud(&mut self, block: &Block) {
        let again = if self.overriding {
            std::mem::replace(&mut self.in_file.cloud, true)
        } else {
            self.module.cloud.is_some()
        };
        if again {
            let detail = "A module can have one cloud block.";
            return self
                .diags
                .push(Diag::error("Duplicate HCP Terraform configurations", detail).at(block.header()));
        }
        self.module.cloud = Some(block.header());
        if self.overriding {
            self.module.backend = None;
            self.module.local_backend = None;
        }
    }

    fn provider_meta(&mut self, block: Block) {
        let header = block.header();
        let Some(label) = block.labels.first() else { return };
        let (attributes, faults) = only_arguments(block.body.clone());
        let failed = faults.has_errors();
        self.diags.extend(faults);
        if failed {
            return;
        }
        for attribute in &attributes {
            self.diags.extend(evaluate_constant(&attribute.expr).1);
        }
        if let Some(diag) = provider_name::local_name_fault(&label.name, header) {
            return self.diags.push(diag);
        }
        if self.overriding {
            // Terraform passes it over.
            return;
        }
        if self.module.provider_metas.contains_key(&label.name) {
            let detail = format!("There is a provider_meta block for {:?} already.", &*label.name);
            self.diags
                .push(Diag::error("Duplicate provider_meta block", detail).at(header));
        }
        let meta = ProviderMeta {
            body: block.body,
            provider: label.span,
            header,
        };
        self.module.provider_metas.insert(label.name.clone(), meta);
    }

    fn language(&mut self, expr: &Expr) {
        let (summary, detail) = match expr.keyword() {
            Some("TF2021") => return,
            Some(_) => (
                "Unsupported language edition",
                "Only the edition TF2021 is known.",
            ),
            None => ("Invalid language edition", "The edition is a bare word: TF2021."),
        };
        self.diags.push(Diag::error(summary, detail).at(expr.span));
    }

    fn required_version(&mut self, attribute: &Attribute) {
        let Some((_, constraints)) = self.version_constraint(attribute) else {
            return;
        };
        // Each override file replaces what was asked before it.
        if self.overriding && !std::mem::replace(&mut self.in_file.version, true) {
            self.module.core_versions.clear();
        }
        self.module.core_versions.push((constraints, attribute.span));
    }

    /// A constant constraint; `None` if it is null or at fault.
    pub(crate) fn version_constraint(&mut self, attribute: &Attribute) -> Option<(Arc<str>, Constraints)> {
        let (value, faults) = evaluate_constant(&attribute.expr);
        let failed = faults.has_errors();
        self.diags.extend(faults);
        if failed {
            return None;
        }
        match convert(&value, &Type::String) {
            Ok(value) => self.constraints(value.as_str()?, attribute.expr.span),
            Err(_) => {
                let detail = format!("{} must be a string.", attribute.name.name);
                self.diags
                    .push(Diag::error(BAD_CONSTRAINT, detail).at(attribute.expr.span));
                None
            }
        }
    }

    fn constraints(&mut self, text: &Arc<str>, span: Span) -> Option<(Arc<str>, Constraints)> {
        match text.parse() {
            Ok(constraints) => Some((text.clone(), constraints)),
            Err(error) => {
                let detail = format!("This is no version constraint: {error}.");
                self.diags.push(Diag::error(BAD_CONSTRAINT, detail).at(span));
                None
            }
        }
    }

    fn required_providers(&mut self, block: Block) {
        let again = self.required.is_some() && !self.overriding;
        if again {
            let detail = "A module can have one required_providers block. Put all entries into one.";
            let summary = "Duplicate required providers configuration";
            self.diags.push(Diag::error(summary, detail).at(block.header()));
        }
        self.required.get_or_insert(block.header());
        let (attributes, faults) = only_arguments(block.body);
        let failed = faults.has_errors();
        self.diags.extend(faults);
        if failed {
            return;
        }
        for attribute in attributes {
            if let Some(required) = self.required_provider(&attribute).filter(|_| !again) {
                self.module
                    .required_providers
                    .insert(attribute.name.name.clone(), required);
            }
        }
    }

    fn required_provider(&mut self, attribute: &Attribute) -> Option<RequiredProvider> {
        let name = &attribute.name.name;
        let span = attribute.expr.span;
        let (value, faults) = evaluate_constant(&attribute.expr);
        let is_primitive = matches!(value.data(), Data::String(_) | Data::Number(_) | Data::Bool(_));
        if is_primitive && !faults.has_errors() {
            // The old form: just a version.
            let version = self.version_constraint(attribute).map(|(text, _)| (text, span));
            let source = self.implied_source(name, span)?;
            return Some(RequiredProvider {
                source,
                version,
                aliases: Vec::new(),
                declared: span,
            });
        }
        if let Some(diag) = provider_name::local_name_fault(name, span) {
            self.diags.push(diag);
            return None;
        }
        let Some(items) = static_expr::items(&attribute.expr) else {
            let detail = "An entry of required_providers is an object with source and version.";
            self.diags
                .push(Diag::error("Invalid required_providers object", detail).at(span));
            return None;
        };
        let mut version = None;
        let mut source = None;
        let mut aliases = Vec::new();
        for item in items {
            let Some(key) = self.requirement_key(&item) else {
                continue;
            };
            match &*key {
                "version" => {
                    let text = self.requirement_text(item.value, BAD_CONSTRAINT);
                    version = text.and_then(|text| self.constraints(&text, item.value.span));
                }
                "source" => {
                    let text = self.requirement_text(item.value, "Invalid source");
                    source = match text.map(|text| provider_name::source(&text, item.value.span)) {
                        Some(Ok(source)) => Some(source),
                        Some(Err(diag)) => {
                            self.diags.push(diag);
                            None
                        }
                        None => None,
                    };
                }
                "configuration_aliases" => aliases = self.configuration_aliases(name, item.value),
                _ => {
                    let detail = "An entry of required_providers has only source, version and configuration_aliases. \
                                  Arguments of the provider itself belong into a provider block.";
                    let summary = "Invalid required_providers object";
                    self.diags.push(Diag::error(summary, detail).at(item.key.span));
                    break;
                }
            }
        }
        let source = match source {
            Some(source) => source,
            None => self.implied_source(name, span)?,
        };
        Some(RequiredProvider {
            source,
            version: version.map(|(text, _)| (text, span)),
            aliases,
            declared: span,
        })
    }

    fn implied_source(&mut self, name: &str, span: Span) -> Option<Provider> {
        if let Some(why) = provider_name::type_fault(name) {
            let detail = format!("{name:?} is no name for a provider: {why}.");
            self.diags
                .push(Diag::error("Invalid provider name", detail).at(span));
            return None;
        }
        Some(Provider::implied(&name.to_lowercase()))
    }

    fn requirement_key(&mut self, item: &Item<'_>) -> Option<Arc<str>> {
        if let Some(word) = item.word {
            return Some(word.into());
        }
        let (value, faults) = evaluate_constant(item.key);
        let failed = faults.has_errors();
        self.diags.extend(faults);
        let key = value.as_str().cloned();
        if key.is_none() && !failed {
            let detail = "The name of a setting must be a string.";
            self.diags
                .push(Diag::error("Invalid Attribute", detail).at(item.key.span));
        }
        key
    }

    fn requirement_text(&mut self, expr: &Expr, summary: &'static str) -> Option<Arc<str>> {
        let (value, faults) = evaluate_constant(expr);
        let text = Value::as_str(&value).filter(|_| !faults.has_errors()).cloned();
        if text.is_none() {
            self.diags
                .push(Diag::error(summary, "This must be a string.").at(expr.span));
        }
        text
    }

    fn configuration_aliases(&mut self, name: &str, expr: &Expr) -> Vec<Option<Arc<str>>> {
        let mut aliases = Vec::new();
        let items = match static_expr::list(expr) {
            Ok(items) => items,
            Err(diag) => {
                self.diags.push(diag);
                return aliases;
            }
        };
        for item in items {
            match static_expr::traversal(item) {
                Err(diag) => self.diags.push(diag),
                Ok(traversal) => match (&*traversal.root.name == name, &*traversal.steps) {
                    (true, [Step::Attr { name: alias, .. }]) => aliases.push(Some(alias.clone())),
                    (true, []) => aliases.push(None),
                    _ => {
                        let detail = format!("An alias is named after this entry, as in {name}.ALIAS.");
                        let diag = Diag::error("Invalid configuration_aliases value", detail);
                        self.diags.push(diag.at(expr.span));
                    }
                },
            }
        }
        aliases
    }
}

/// Is the module made for the version as which Ashlar runs configurations?
pub(crate) fn core_version_faults(module: &Module) -> Diags {
    let ours = module.dialect.version();
    let version = ours.parse::<Version>();
    let fault = |(constraints, span): &(Constraints, Span)| {
        let supported = version.as_ref().is_ok_and(|version| constraints.allow(version));
        let diag = if constraints.has_prerelease() {
            let detail =
                "Prereleases cannot be asked for here. Write the plain version; its prereleases match it.";
            Diag::error("Invalid required_version constraint", detail)
        } else if !supported {
            let detail = format!(
                "Ashlar runs configurations as {} {ours} does, which this constraint excludes. Widen it if the configuration \
                 works with that version.",
                module.dialect
            );
            let summary = match module.dialect {
                Dialect::Terraform => "Unsupported Terraform Core version",
                Dialect::OpenTofu => "Incompatible module",
            };
            Diag::error(summary, detail)
        } else {
            return None;
        };
        Some(diag.at(*span))
    };
    module.core_versions.iter().filter_map(fault).collect()
}

fn is_local(block: &Block) -> bool {
    block.labels.first().is_some_and(|label| &*label.name == "local")
}

/// What the local backend's arguments say, if they are constant texts.
fn local_backend(arguments: &[Attribute]) -> LocalBackend {
    let mut is_clear = true;
    let mut text = |name: &str| {
        let argument = arguments.iter().find(|argument| &*argument.name.name == name)?;
        let (value, faults) = evaluate_constant(&argument.expr);
        is_clear &= !faults.has_errors() && (value.is_null() || value.as_str().is_some());
        value.as_str().filter(|text| !text.is_empty()).cloned()
    };
    LocalBackend {
        path: text("path"),
        workspace_dir: text("workspace_dir"),
        is_clear,
    }
}

/// The arguments of a backend. Which there are is known of the local one alone: no other is ever used.
fn backend_arguments(block: &Block) -> (Vec<Attribute>, Diags) {
    let mut diags = Diags::new();
    let attributes = if is_local(block) {
        LOCAL_BACKEND
            .content(block.body.clone(), Some(block.open), &mut diags)
            .attributes
    } else {
        // Blocks are for others to know.
        only_arguments(block.body.clone()).0
    };
    (attributes, diags)
}

/// Told of the root module: that the blocks are not used. A called module's are told of where it is called.
pub(crate) fn backend_faults(module: &Module) -> Diags {
    if let (Some(backend), Some(_)) = (module.backend, module.cloud) {
        let detail = "A module can have a cloud block or a backend block, not both.";
        let summary = match module.dialect {
            Dialect::Terraform => "Conflicting 'cloud' and 'backend' configuration blocks are present",
            Dialect::OpenTofu => "Both a backend and a cloud configuration are present",
        };
        return Diag::error(summary, detail).at(backend).into();
    }
    Diags::new()
}
