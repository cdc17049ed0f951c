//! The plan as `terraform show -json` gives it; holds secrets in clear.

use serde_json::{Map, Value as Json, json};

use ashlar_addr::Mode as ResourceMode;
use ashlar_config::Tree;
use ashlar_diag::Diags;
use ashlar_state::State;

use super::{
    TERRAFORM_VERSION, change, checks, configuration::configuration, invocations, is_forgotten_data,
    modules::Modules, relevant, schema_of, state::state_json, tree,
};
use crate::{Action, Change, Mode, Plan, Schemas};

/// The plan in format 1.2. **Sensitive values stand in it in clear**, beside trees that tell where they are: never put it
/// into a status, an event or a log. Left out are `configuration`, `prior_state` and `relevant_attributes`.
pub fn plan_json(plan: &Plan, schemas: &Schemas) -> Json {
    let changes = in_order(&plan.changes).into_iter();
    let changes: Vec<Json> = changes
        .filter(|change| !is_forgotten_data(change))
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
    let drift = in_order(&plan.drift)
        .into_iter()
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
    let variables = plan.given.iter().map(|(name, value)| {
        let value = tree::known(value).unwrap_or(Json::Null);
        (name.to_string(), json!({ "value": value }))
    });
    let mut out = json!({
        "format_version": "1.2",
        "terraform_version": TERRAFORM_VERSION,
        "planned_values": planned_values(plan, schemas),
        "timestamp": plan.timestamp,
        "applyable": is_applyable(plan),
        "complete": plan.is_complete(),
        "errored": plan.errored,
    });
    let lists = [
        ("variables", variables.collect::<Map<_, _>>().into()),
        ("resource_changes", changes.into()),
        ("resource_drift", drift.into()),
        ("output_changes", outputs.into()),
        ("checks", checks::of_plan(&plan.checks)),
        ("action_invocations", invocations::of_plan(plan, schemas)),
    ];
    for (name, value) in lists {
        put(&mut out, name, value);
    }
    out
}

/// Terraform holds the states before and after a refresh against each other as they are written, and data sources are written
/// anew whenever they are read. So a refresh-only plan counts as applyable wherever there are any.
fn is_applyable(plan: &Plan) -> bool {
    let rewritten = plan.options.mode == Mode::RefreshOnly && plan.options.selection.is_whole();
    let has_data = |state: &State| {
        let mut objects = state.objects();
        objects.any(|(address, ..)| address.resource.resource.mode == ResourceMode::Data)
    };
    plan.is_applyable()
        || rewritten && !plan.errored && (has_data(&plan.previous_state) || has_data(&plan.prior_state))
}

/// As Terraform has them here: modules of fewer steps come first.
fn in_order(changes: &[Change]) -> Vec<&Change> {
    let mut changes: Vec<&Change> = changes.iter().collect();
    changes.sort_by_key(|change| change.address.resource.module.0.len());
    changes
}

/// Puts a list or a map in, unless it is empty.
fn put(out: &mut Json, name: &str, value: Json) {
    if value != json!([]) && value != json!({}) {
        out[name] = value;
    }
}

/// The plan with its configuration, what the state held before and the attributes that changes follow from: all that
/// `terraform show -json` gives. As [`plan_json`] it holds what is sensitive in clear.
pub fn whole_plan_json(plan: &Plan, config: &Tree, schemas: &Schemas) -> Result<Json, Diags> {
    let mut json = plan_json(plan, schemas);
    // A variable that was given no value to keep has its default there, an ephemeral one too.
    for (name, variable) in &config.root().variables {
        if let Some(default) = variable
            .default
            .as_ref()
            .filter(|_| !plan.given.contains_key(name))
        {
            json["variables"][&**name] = json!({ "value": tree::known(default) });
        }
    }
    // What was generated is not yet in any file.
    let generated = plan.generated.keys().map(|address| &address.resource.resource);
    json["configuration"] = configuration(config, schemas, generated.collect());
    put(
        &mut json,
        "relevant_attributes",
        relevant::of_plan(plan, config, schemas),
    );
    if !plan.prior_state.is_empty() {
        let mut state = state_json(&plan.prior_state, schemas)?;
        // Results of checks of the last run are no part of it.
        if let Some(members) = state.as_object_mut() {
            members.remove("checks");
        }
        json["prior_state"] = state;
    }
    Ok(json)
}

/// What there will be after apply, as far as known.
fn planned_values(plan: &Plan, schemas: &Schemas) -> Json {
    let mut modules = Modules::default();
    // Terraform tells of what it forgets, without values.
    let staying = |change: &&Change| change.action != Action::Delete && change.deposed.is_none();
    let mut changes: Vec<_> = plan.changes.iter().filter(staying).collect();
    changes.sort_by_cached_key(|change| change.address.to_string());
    for change in changes {
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
        if let Some(values) = tree::attributes(&change.after) {
            out.insert("values".to_owned(), values);
        }
        out.insert(
            "sensitive_values".to_owned(),
            // Planning marks what is sensitive by its schema; without one, nobody can tell what is.
            match schema {
                Some(_) => tree::sensitive(&change.after),
                None => change::sensitive(None, &change.after),
            },
        );
        if let (Some(identity), Some(value)) = (
            schema.and_then(|schema| schema.identity.as_ref()),
            change.after_identity.as_ref().filter(|value| !value.is_null()),
        ) {
            out.insert("identity_schema_version".to_owned(), identity.version.into());
            if let Some(identity) = tree::known(value) {
                out.insert("identity".to_owned(), identity);
            }
        }
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
        // A plan holds one value of what stays: that of the state, which keeps no null, nor the type of one.
        let value = match output.action {
            Action::NoOp => &output.before,
            _ => &output.after,
        };
        if value.is_wholly_known() {
            let ty = ashlar_value::json::type_to_json(&value.ty());
            out.insert("type".to_owned(), ty);
            out.insert("value".to_owned(), tree::known(value).unwrap_or(Json::Null));
        }
        (name.to_string(), Json::Object(out))
    });
    let mut out = json!({ "root_module": modules.into_json() });
    put(&mut out, "outputs", outputs.collect::<Map<_, _>>().into());
    out
}
