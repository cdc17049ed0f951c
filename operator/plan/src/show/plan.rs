//! The plan as `terraform show -json` gives it; holds secrets in clear.

use serde_json::{Map, Value as Json, json};

use ashlar_config::Tree;
use ashlar_diag::Diags;

use super::{
    TERRAFORM_VERSION, change, checks, configuration::configuration, invocations, is_forgotten_data,
    modules::Modules, schema_of, state::state_json, tree,
};
use crate::{Action, Change, Mode, Plan, Schemas};

/// The plan in format 1.2. **Sensitive values stand in it in clear**, beside trees that tell where they are: never put it
/// into a status, an event or a log. Left out are `configuration`, `prior_state` and `relevant_attributes`.
/// Empty lists are written, where Terraform leaves them out.
pub fn plan_json(plan: &Plan, schemas: &Schemas) -> Json {
    let changes = plan.changes.iter().filter(|change| !is_forgotten_data(change));
    let changes: Vec<Json> = changes
        .map(|change| {
            let mut out = change::resource_change(change, schemas);
            if let (Some(block), None) = (plan.generated.get(&change.address), change.deposed) {
                out["change"]["generated_config"] = (**block).into();
            }
            out
        })
        .collect();
    // In other modes what only moved is among the changes.
    let told = |change: &&Change| plan.options.mode == Mode::RefreshOnly || change.action != Action::NoOp;
    let drift = plan
        .drift
        .iter()
        .filter(|change| !is_forgotten_data(change))
        .filter(told);
    let drift: Vec<Json> = drift
        .map(|change| change::resource_change(change, schemas))
        .collect();
    let outputs: Map<String, Json> = plan
        .outputs
        .iter()
        .map(|(name, output)| (name.to_string(), change::output_change(output)))
        .collect();
    let variables = plan.variables.iter().map(|(name, value)| {
        let value = tree::known(value).unwrap_or(Json::Null);
        (name.to_string(), json!({ "value": value }))
    });
    json!({
        "format_version": "1.2",
        "terraform_version": TERRAFORM_VERSION,
        "variables": variables.collect::<Map<_, _>>(),
        "planned_values": planned_values(plan, schemas),
        "resource_changes": changes,
        "resource_drift": drift,
        "output_changes": outputs,
        "checks": checks::of_plan(&plan.checks),
        "action_invocations": invocations::of_plan(plan, schemas),
        "timestamp": plan.timestamp,
        "applyable": plan.is_applyable(),
        "complete": plan.is_complete(),
        "errored": plan.errored,
    })
}

/// The plan with its configuration and what the state held before: all that `terraform show -json` gives, but for the attributes
/// outside of the changes that were relevant for them. As [`plan_json`] it holds what is sensitive in clear.
pub fn whole_plan_json(plan: &Plan, tree: &Tree, schemas: &Schemas) -> Result<Json, Diags> {
    let mut json = plan_json(plan, schemas);
    json["configuration"] = configuration(tree, schemas);
    if !plan.prior_state.is_empty() {
        json["prior_state"] = state_json(&plan.prior_state, schemas)?;
    }
    Ok(json)
}

/// What there will be after apply, as far as known.
fn planned_values(plan: &Plan, schemas: &Schemas) -> Json {
    let mut modules = Modules::default();
    let goes = |change: &Change| matches!(change.action, Action::Delete | Action::Forget);
    let staying = |change: &&Change| !goes(change) && change.deposed.is_none();
    for change in plan.changes.iter().filter(staying) {
        let schema = schema_of(change, schemas);
        let mut out = Map::new();
        change::place(&change.address, &mut out);
        out.insert(
            "provider_name".to_owned(),
            change.provider.provider.to_string().into(),
        );
        out.insert(
            "schema_version".to_owned(),
            schema.map_or(0, |schema| schema.version).into(),
        );
        if let Some(values) = tree::known(&change.after).filter(|values| !values.is_null()) {
            out.insert("values".to_owned(), values);
        }
        out.insert(
            "sensitive_values".to_owned(),
            change::sensitive(schema, &change.after),
        );
        modules.add(&change.address.resource.module, Json::Object(out));
    }
    let outputs = plan
        .outputs
        .iter()
        .filter(|(_, output)| output.action != Action::Delete);
    let outputs = outputs.map(|(name, output)| {
        let mut out = Map::new();
        out.insert(
            "sensitive".to_owned(),
            (output.sensitive.0 || output.sensitive.1).into(),
        );
        if output.after.is_wholly_known() {
            out.insert(
                "type".to_owned(),
                ashlar_value::json::type_to_json(&output.after.ty()),
            );
            out.insert(
                "value".to_owned(),
                tree::known(&output.after).unwrap_or(Json::Null),
            );
        }
        (name.to_string(), Json::Object(out))
    });
    json!({ "outputs": outputs.collect::<Map<_, _>>(), "root_module": modules.into_json() })
}
