//! One resource of the state file: its instances, and the objects they have.
//!
//! Shared by the state file and the journal, whose outcomes hold a resource with just one object.

use std::{borrow::Cow, sync::Arc};

use ashlar_addr::{
    AbsResource, ConfigResource, DeposedKey, InstanceKey, Mode, ModuleInstance, ProviderConfig, Resource,
    ResourceInstance,
};
use ashlar_diag::{Diag, Diags};
use ashlar_value::{Path, PathStep, Type, json};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    Identity, Object, ResourceState, State, Status,
    file::{INVALID, unwritable},
    layout,
    wire::{self, Instance, Raw, Step},
};

const INVALID_INSTANCE: &str = "Invalid resource instance metadata in state";
/// Longer than any address or key a file may hold, so that hostile ones end in no diagnostic.
const MAX_SHOWN: usize = 500;

/// Adds what the file says of a resource.
pub(crate) fn read_into(state: &mut State, found: &wire::Resource<'_>, diags: &mut Diags) {
    let Some((address, provider)) = diags.take(read_address(found)) else {
        return;
    };
    // Kept though it may stay empty: Terraform leaves such resources behind when a run fails.
    let held = state.resources.entry(address.clone());
    let held = held.or_insert_with(|| ResourceState {
        provider,
        instances: Default::default(),
    });
    for instance in &found.instances {
        let Some((key, deposed, object)) = diags.take(read_instance(&address, instance)) else {
            continue;
        };
        let Some(provider_key) = diags.take(read_provider_key(&address, &held.provider, instance)) else {
            continue;
        };
        let held = held.instances.entry(key.clone()).or_default();
        held.provider_key = provider_key;
        let twice = match deposed {
            None => held.current.replace(Arc::new(object)).is_some(),
            Some(deposed) => held.deposed.insert(deposed, Arc::new(object)).is_some(),
        };
        if twice {
            let which = deposed
                .map(|key| format!(" (deposed object {key})"))
                .unwrap_or_default();
            diags.push(
                Diag::error(
                    "Duplicate resource instance in state",
                    format!("The state file holds {address}{key}{which} more than once."),
                )
                .about(address.instance(key)),
            );
        }
    }
}

fn read_address(found: &wire::Resource<'_>) -> Result<(AbsResource, ProviderConfig), Diags> {
    let mode = match &*found.mode {
        "managed" => Mode::Managed,
        "data" => Mode::Data,
        other => {
            return Err(Diag::error(
                "Invalid resource mode in state",
                format!(
                    "The state file holds a resource of mode {:?}; there are \"managed\" and \"data\".",
                    shown(other)
                ),
            )
            .into());
        }
    };
    let module: ModuleInstance = found.module.parse().map_err(|_| {
        Diag::error(
            INVALID,
            format!(
                "The state file holds an invalid module address: {:?}.",
                shown(&found.module)
            ),
        )
    })?;
    let address = Resource::new(mode, &*found.kind, &*found.name).within(module);
    // A name that is no name would make an address that cannot be read back, from a journal or a command line.
    if address.to_string().parse::<ResourceInstance>().ok() != Some(address.instance(InstanceKey::None)) {
        return Err(Diag::error(
            INVALID,
            format!(
                "The state file holds an invalid resource address: {:?}.",
                shown(&address.to_string())
            ),
        )
        .into());
    }
    // Where provider configurations are repeated, only the instances say which they have.
    let own = found
        .instances
        .iter()
        .find_map(|instance| instance.provider.as_ref());
    let written = own.unwrap_or(&found.provider);
    let provider = read_provider(&address, written)?;
    Ok((address, provider.whole()))
}

fn read_provider(address: &AbsResource, written: &str) -> Result<ProviderConfig, Diags> {
    written.parse().map_err(|_| {
        Diag::error(
            INVALID,
            format!(
                "The state file names the provider of {address} as {:?}, which is not valid. Terraform 0.12 wrote \
                 providers without their source: run `terraform state replace-provider` on it first.",
                shown(written)
            ),
        )
        .about(address)
        .into()
    })
}

/// Which of a repeated provider configuration an instance has.
fn read_provider_key(
    address: &AbsResource,
    of_resource: &ProviderConfig,
    found: &Instance<'_>,
) -> Result<InstanceKey, Diags> {
    let Some(written) = found.provider.as_deref().filter(|written| !written.is_empty()) else {
        return Ok(InstanceKey::None);
    };
    let provider = read_provider(address, written)?;
    if provider.whole() == *of_resource {
        return Ok(provider.key);
    }
    let detail = format!(
        "The state file has instances of {address} with different provider configurations, {of_resource} and {provider}. All \
         instances of one resource have the same, and differ in its key alone."
    );
    Err(Diag::error("Provider instance field conflict in state", detail)
        .about(address)
        .into())
}

fn shown(text: &str) -> &str {
    let mut end = text.len().min(MAX_SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn read_instance(
    address: &AbsResource,
    found: &Instance<'_>,
) -> Result<(InstanceKey, Option<DeposedKey>, Object), Diags> {
    let fault = |detail: String| Diag::error(INVALID_INSTANCE, detail).about(address);
    let key = match &found.index_key {
        None => InstanceKey::None,
        Some(raw) => read_key(raw.text()).ok_or_else(|| {
            fault(format!(
                "{address} has an instance key that is neither a whole number nor a string."
            ))
        })?,
    };
    let name = format!("{address}{key}");
    let fault = |detail: String| Diag::error(INVALID_INSTANCE, detail).about(&name);
    if found.attributes.is_none() && found.attributes_flat.is_some() {
        return Err(fault(format!(
            "{name} has its attributes in the form of Terraform 0.11, which is not read. Run `terraform apply \
             -refresh-only` with Terraform 1.x on this state first."
        ))
        .into());
    }
    let status = match found.status.as_deref() {
        None | Some("") => Status::Ready,
        Some("tainted") => Status::Tainted,
        Some(other) => {
            return Err(fault(format!("{name} has the unknown status {:?}.", shown(other))).into());
        }
    };
    let deposed = match found.deposed.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| {
            fault(format!(
                "{name} has a deposed object with the invalid key {:?}.",
                shown(text)
            ))
        })?),
    };
    let json = |raw: Option<&Raw<'_>>| -> Result<Arc<[u8]>, Diags> {
        let text = raw.map_or("{}", |raw| raw.text());
        layout::compact(text)
            .map(Arc::from)
            .ok_or_else(|| fault(format!("{name} has attributes that nest too deep.")).into())
    };
    let version = |version: u64| -> Result<i64, Diags> {
        i64::try_from(version)
            .map_err(|_| fault(format!("{name} has a schema version that is out of range.")).into())
    };
    let private = STANDARD
        .decode(found.private.as_deref().unwrap_or_default())
        .map_err(|_| fault(format!("The private data of {name} is not base64.")))?;
    let sensitive = found
        .sensitive_attributes
        .iter()
        .flatten()
        .map(|steps| read_path(steps));
    let sensitive = sensitive.collect::<Option<Vec<Path>>>().ok_or_else(|| {
        Diag::error(
            "Unsupported path step",
            format!("A path to a sensitive attribute of {name} cannot be read."),
        )
        .about(&name)
    })?;
    let dependencies = found
        .dependencies
        .iter()
        .flatten()
        .map(|text| read_dependency(text));
    let dependencies = dependencies
        .collect::<Option<Arc<[ConfigResource]>>>()
        .ok_or_else(|| {
            fault(format!(
                "{name} depends on something that is not the address of a resource."
            ))
        })?;
    let identity_version = version(found.identity_schema_version)?;
    let identity = match &found.identity {
        Some(raw) => Some(Identity {
            version: identity_version,
            json: json(Some(raw))?,
        }),
        None if identity_version != 0 => Some(Identity {
            version: identity_version,
            json: Arc::default(),
        }),
        None => None,
    };
    let object = Object {
        schema_version: version(found.schema_version)?,
        attributes: json(found.attributes.as_ref())?,
        sensitive,
        private: private.into(),
        status,
        dependencies,
        create_before_destroy: found.create_before_destroy,
        skip_destroy: found.skip_destroy,
        identity,
    };
    Ok((key, deposed, object))
}

/// A number, which may be written as a float (`1.0`), or a string.
fn read_key(json: &str) -> Option<InstanceKey> {
    if json.starts_with('"') {
        return serde_json::from_str::<String>(json)
            .ok()
            .map(|key| InstanceKey::String(key.into()));
    }
    let whole = |number: f64| {
        let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        exact.then_some(number as i64)
    };
    json.parse()
        .ok()
        .or_else(|| json.parse().ok().and_then(whole))
        .map(InstanceKey::Int)
}

fn read_path(steps: &[Step<'_>]) -> Option<Path> {
    steps
        .iter()
        .map(|step| match &*step.kind {
            "get_attr" => serde_json::from_str::<String>(step.value.text())
                .ok()
                .map(|name| PathStep::Attr(name.into())),
            "index" => json::decode(step.value.text().as_bytes(), &Type::Dynamic)
                .ok()
                .map(PathStep::Index),
            _ => None,
        })
        .collect()
}

/// Keys of modules are allowed, and dropped: old releases wrote them.
fn read_dependency(text: &str) -> Option<ConfigResource> {
    let instance: ResourceInstance = text.parse().ok()?;
    (instance.key == InstanceKey::None).then(|| instance.resource.config())
}

/// A resource as the file has it.
pub(crate) fn to_wire<'a>(
    module: String,
    address: &'a AbsResource,
    held: &'a ResourceState,
) -> Result<wire::Resource<'a>, Diags> {
    let mut instances = Vec::with_capacity(held.instances.len());
    let keyed = held
        .instances
        .values()
        .any(|instance| instance.provider_key != InstanceKey::None);
    for (key, instance) in &held.instances {
        let provider = keyed.then(|| held.provider_of(key));
        let current = instance.current.iter().map(|object| (None, object));
        let deposed = instance
            .deposed
            .iter()
            .map(|(deposed, object)| (Some(*deposed), object));
        for (deposed, object) in current.chain(deposed) {
            let written = instance_to_wire(key, deposed, provider.as_ref(), object);
            instances.push(written.ok_or_else(|| unwritable(&format!("an object of {address}{key}")))?);
        }
    }
    let provider = (!keyed).then_some(&held.provider);
    Ok(resource_to_wire(module, address, provider, instances))
}

fn resource_to_wire<'a>(
    module: String,
    address: &'a AbsResource,
    provider: Option<&ProviderConfig>,
    instances: Vec<Instance<'a>>,
) -> wire::Resource<'a> {
    wire::Resource {
        module: module.into(),
        mode: address.resource.mode.as_str().into(),
        kind: Cow::Borrowed(&address.resource.kind),
        name: Cow::Borrowed(&address.resource.name),
        provider: provider.map(ToString::to_string).unwrap_or_default().into(),
        instances,
    }
}

fn instance_to_wire<'a>(
    key: &InstanceKey,
    deposed: Option<DeposedKey>,
    provider: Option<&ProviderConfig>,
    object: &'a Object,
) -> Option<Instance<'a>> {
    let index_key = match key {
        InstanceKey::None => None,
        InstanceKey::Int(at) => Some(serde_json::to_vec(at).ok()?),
        InstanceKey::String(name) => Some(serde_json::to_vec(&**name).ok()?),
    };
    let sensitive = object
        .sensitive
        .iter()
        .map(path_to_wire)
        .collect::<Option<Vec<_>>>()?;
    let dependencies: Vec<_> = object
        .dependencies
        .iter()
        .map(|address| address.to_string().into())
        .collect();
    let identity = object.identity.as_ref();
    Some(Instance {
        index_key: index_key.map(Raw::owned).transpose().ok()?,
        status: (object.status == Status::Tainted).then_some("tainted".into()),
        deposed: deposed.map(|key| key.to_string().into()),
        provider: provider.map(|provider| provider.to_string().into()),
        schema_version: u64::try_from(object.schema_version).ok()?,
        attributes: Some(Raw::borrowed(&object.attributes).ok()?),
        attributes_flat: None,
        sensitive_attributes: Some(sensitive),
        identity_schema_version: identity.map_or(Some(0), |identity| u64::try_from(identity.version).ok())?,
        identity: identity
            .filter(|identity| !identity.json.is_empty())
            .map(|identity| Raw::borrowed(&identity.json))
            .transpose()
            .ok()?,
        private: (!object.private.is_empty()).then(|| STANDARD.encode(&object.private).into()),
        dependencies: (!dependencies.is_empty()).then_some(dependencies),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
    })
}

fn path_to_wire(path: &Path) -> Option<Vec<Step<'static>>> {
    path.0
        .iter()
        .map(|step| {
            let (kind, value) = match step {
                PathStep::Attr(name) => ("get_attr", serde_json::to_vec(&**name).ok()?),
                PathStep::Index(key) => ("index", json::encode(key, &Type::Dynamic).ok()?),
            };
            Some(Step {
                kind: kind.into(),
                value: Raw::owned(value).ok()?,
            })
        })
        .collect()
}

/// One object as the state file writes its resource, for the journal. Reading it back needs nothing else.
pub fn outcome_object(
    address: &ResourceInstance,
    deposed: Option<DeposedKey>,
    provider: &ProviderConfig,
    object: &Object,
) -> Result<Vec<u8>, Diags> {
    let fault = || Diags::from(unwritable(&format!("an object of {address}")));
    let keyed = provider.key != InstanceKey::None;
    let own = keyed.then_some(provider);
    let instance = instance_to_wire(&address.key, deposed, own, object).ok_or_else(fault)?;
    let module = address.resource.module.to_string();
    let of_resource = (!keyed).then_some(provider);
    let resource = resource_to_wire(module, &address.resource, of_resource, vec![instance]);
    serde_json::to_vec(&resource).map_err(|_| fault())
}

/// Reads what [`outcome_object`] wrote.
pub fn read_outcome_object(
    json: &[u8],
) -> Result<(ResourceInstance, Option<DeposedKey>, ProviderConfig, Object), Diags> {
    let broken = || {
        Diags::from(Diag::error(
            INVALID,
            "A journal of an earlier run holds an object that cannot be read; see to it by hand.",
        ))
    };
    let resource: wire::Resource<'_> = serde_json::from_slice(json).map_err(|_| broken())?;
    let [instance] = resource.instances.as_slice() else {
        return Err(broken());
    };
    let (address, provider) = read_address(&resource)?;
    let (key, deposed, object) = read_instance(&address, instance)?;
    let provider = provider.with_key(read_provider_key(&address, &provider, instance)?);
    Ok((address.instance(key), deposed, provider, object))
}
