//! The state as `terraform show -json` gives it; holds secrets in clear.

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_state::{Object, State, Status, decode_identity, decode_object};
use ashlar_value::json::type_to_json;
use serde_json::{Map, Value as Json, json};

use super::{TERRAFORM_VERSION, change, checks, find_schema, modules::Modules, tree};
use crate::Schemas;

/// The state's values in format 1.0. **Sensitive values stand in it in clear**, beside trees
/// that tell where they are: never put it into a status, an event or a log. Fails where an object does not fit its
/// provider's schema.
pub fn state_json(state: &State, schemas: &Schemas) -> Result<Json, Diags> {
    if state.is_empty() {
        return Ok(json!({ "format_version": "1.0" }));
    }
    let mut modules = Modules::default();
    for (address, deposed, object) in state.objects() {
        let resource = resource(state, schemas, &address, deposed, object)?;
        modules.add(&address.resource.module, resource);
    }
    let mut values = Map::new();
    let outputs: Map<String, Json> = state
        .outputs
        .iter()
        .map(|(name, output)| {
            let value = tree::known(&output.value).unwrap_or(Json::Null);
            let ty = type_to_json(&output.value.ty());
            (
                name.to_string(),
                json!({ "sensitive": output.sensitive, "value": value, "type": ty }),
            )
        })
        .collect();
    if !outputs.is_empty() {
        values.insert("outputs".to_owned(), Json::Object(outputs));
    }
    values.insert("root_module".to_owned(), modules.into_json());
    let mut out =
        json!({ "format_version": "1.0", "terraform_version": TERRAFORM_VERSION, "values": values });
    if let Some(results) = &state.check_results {
        let checks = checks::of_state(results);
        if checks != json!([]) {
            out["checks"] = checks;
        }
    }
    Ok(out)
}

fn resource(
    state: &State,
    schemas: &Schemas,
    address: &ResourceInstance,
    deposed: Option<DeposedKey>,
    object: &Object,
) -> Result<Json, Diags> {
    let fault = |detail: String| Diags::from(Diag::error("Failed to read state", detail).about(address));
    let provider = state
        .resources
        .get(&address.resource)
        .map(|resource| &resource.provider.provider);
    let schema = provider.and_then(|provider| find_schema(provider, &address.resource.resource, schemas));
    let (Some(provider), Some(schema)) = (provider, schema) else {
        return Err(fault(format!(
            "There is no schema for {address}, so its attributes cannot be read."
        )));
    };
    if object.schema_version != schema.version {
        let detail = format!(
            "{address} was stored by schema version {}, but the provider has version {}. Plan or apply once, so that it is brought up to date.",
            object.schema_version, schema.version
        );
        return Err(fault(detail));
    }
    let value = decode_object(object, schema)?;
    let mut out = Map::new();
    change::place(address, &mut out);
    out.insert("provider_name".to_owned(), provider.to_string().into());
    // Terraform writes no version for deposed objects, which reads as 0.
    let version = if deposed.is_none() {
        object.schema_version
    } else {
        0
    };
    out.insert("schema_version".to_owned(), version.into());
    if let Some(values) = tree::attributes(&value) {
        out.insert("values".to_owned(), values);
    }
    out.insert(
        "sensitive_values".to_owned(),
        change::sensitive(Some(schema), &value),
    );
    if !object.dependencies.is_empty() {
        let dependencies = object.dependencies.iter().map(ToString::to_string);
        out.insert("depends_on".to_owned(), dependencies.collect());
    }
    if object.status == Status::Tainted {
        out.insert("tainted".to_owned(), true.into());
    }
    if let Some(key) = deposed {
        out.insert("deposed_key".to_owned(), key.to_string().into());
    }
    if let (Some(schema), Some(identity)) = (&schema.identity, &object.identity) {
        if deposed.is_none() {
            out.insert("identity_schema_version".to_owned(), identity.version.into());
        }
        if let Some(identity) = decode_identity(object, schema)?.as_ref().and_then(tree::known) {
            out.insert("identity".to_owned(), identity);
        }
    }
    Ok(Json::Object(out))
}
