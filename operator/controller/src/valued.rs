//! Values of variables and the environment, read from a workspace's own fields and from the objects that they name.
//!
//! What a value is taken for is settled by the module's declarations, elsewhere; here nothing is parsed.

use std::collections::BTreeMap;

use ashlar_api::{Format, InputKind, KeyRef, Variable, VariablesFrom, WorkspaceSpec};
use ashlar_config::Origin;

use crate::{
    decide::InputFault,
    inputs::{Found, target, text_of},
    message::Secrets,
    values::{Form, Given, rank},
};

/// Values and environment, as they were found.
pub(crate) struct Valued {
    /// Values of variables, later ones already having won.
    pub(crate) values: BTreeMap<String, Given>,
    /// The environment of provider processes.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) secrets: Secrets,
}

/// What comes of a value whose object is gone, or is not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing is read at all.
    Refused,
    /// The others are read. The environment is needed in whole even so.
    PassedOver,
}

type Named = Vec<(String, Given)>;

/// Reads values and environment.
pub(crate) fn valued(
    spec: &WorkspaceSpec,
    found: &Found<'_>,
    missing: Missing,
) -> Result<Valued, InputFault> {
    let mut secrets = Secrets::default();
    let mut values = BTreeMap::new();
    let mut take = |read: Result<Named, InputFault>| match read {
        Ok(named) => {
            values.extend(named);
            Ok(())
        }
        Err(_) if missing == Missing::PassedOver => Ok(()),
        Err(fault) => Err(fault),
    };
    for (at, from) in spec.variables_from.iter().enumerate() {
        take(of_object(at, from, found, &mut secrets))?;
    }
    for variable in &spec.variables {
        take(of_variable(variable, found, &mut secrets))?;
    }
    let env = environment(spec, found, &mut secrets)?;
    for (name, given) in of_environment(spec, &env) {
        values.entry(name).or_insert(given);
    }
    Ok(Valued { values, env, secrets })
}

/// The values that an object gives; `at`: its place among such objects.
fn of_object(
    at: usize,
    from: &VariablesFrom,
    found: &Found<'_>,
    secrets: &mut Secrets,
) -> Result<Named, InputFault> {
    let sensitive = from.kind == InputKind::Secret;
    let mut texts: Vec<(&str, String)> = Vec::new();
    match &from.key {
        Some(key) => {
            let key_ref = KeyRef {
                name: from.name.clone(),
                key: key.clone(),
                optional: from.optional,
            };
            texts.extend(found.text(from.kind, &key_ref)?.map(|text| (key.as_str(), text)));
        }
        None => {
            let object = found.object(from.kind, &from.name, from.optional)?;
            for (key, bytes) in object.into_iter().flatten() {
                texts.push((key, text_of(from.kind, &from.name, key, bytes)?));
            }
        }
    }
    let named = texts.into_iter().map(|(key, text)| {
        if sensitive {
            secrets.add(&text);
        }
        // A file of values gives many; its place in the order is kept by a name no variable can have.
        let (name, form) = match from.format {
            Format::Keys => (key.to_owned(), Form::Text(text)),
            Format::TFVars => (format!("\0{at:02}"), Form::Tfvars(text)),
            Format::JSON => (format!("\0{at:02}"), Form::JsonObject(text)),
        };
        let given = Given {
            form,
            sensitive,
            origin: Origin::Shared,
            place: format!("{} {}", from.kind.as_str(), from.name),
            rank: rank::OBJECTS.saturating_add(at),
        };
        (name, given)
    });
    Ok(named.collect())
}

fn of_variable(variable: &Variable, found: &Found<'_>, secrets: &mut Secrets) -> Result<Named, InputFault> {
    let mut sensitive = variable.sensitive;
    let mut place = format!("spec.variables[{}]", variable.name);
    let form = match (&variable.value, &variable.hcl, &variable.value_from) {
        (Some(json), _, _) => Form::Json(json.to_string()),
        (None, Some(hcl), _) => Form::Expression(hcl.clone()),
        (None, None, Some(source)) => {
            let Some((kind, key)) = target(source) else {
                return Ok(Vec::new());
            };
            let Some(text) = found.text(kind, key)? else {
                return Ok(Vec::new());
            };
            sensitive |= kind == InputKind::Secret;
            place = format!("{} {}, key {}", kind.as_str(), key.name, key.key);
            Form::Text(text)
        }
        (None, None, None) => return Ok(Vec::new()),
    };
    if sensitive {
        match &variable.value {
            Some(serde_json::Value::String(text)) => secrets.add(text),
            _ => secrets.add(form.text()),
        }
    }
    let given = Given {
        form,
        sensitive,
        origin: Origin::Direct,
        place,
        rank: rank::DIRECT,
    };
    Ok(vec![(variable.name.clone(), given)])
}

fn environment(
    spec: &WorkspaceSpec,
    found: &Found<'_>,
    secrets: &mut Secrets,
) -> Result<Vec<(String, String)>, InputFault> {
    let mut env = Vec::new();
    for variable in &spec.env {
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(source)) => match target(source) {
                Some((kind, key)) => found.text(kind, key)?,
                None => None,
            },
            (None, None) => None,
        };
        if let Some(value) = value {
            secrets.add(&value);
            env.push((variable.name.clone(), value));
        }
    }
    Ok(env)
}

/// The values that `TF_VAR_` in the environment gives to variables.
fn of_environment<'e>(
    spec: &'e WorkspaceSpec,
    env: &'e [(String, String)],
) -> impl Iterator<Item = (String, Given)> + 'e {
    env.iter().filter_map(|(full, value)| {
        let name = full.strip_prefix("TF_VAR_")?;
        let from = spec.env.iter().find(|variable| variable.name == *full)?;
        let secret = from
            .value_from
            .as_ref()
            .and_then(|source| source.secret_key_ref.as_ref());
        let given = Given {
            form: Form::Text(value.clone()),
            sensitive: secret.is_some(),
            origin: Origin::Shared,
            place: format!("spec.env[{full}]"),
            rank: rank::ENVIRONMENT,
        };
        Some((name.to_owned(), given))
    })
}
