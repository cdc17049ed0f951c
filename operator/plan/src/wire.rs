//! The stored form of a plan: MessagePack, versioned.
//!
//! Wire structs live here and nowhere else; domain types derive no serde. The bytes hold secrets: whoever stores them
//! seals them first. A plan of another format version is refused, so that it is made anew, never misread.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Module, Target};
use ashlar_diag::{Diag, Diags};
use ashlar_value::Dialect;
use serde::{Deserialize, Serialize};

use crate::{
    function_results::FunctionResults,
    model::{Check, CheckStatus, Mode, Options, PackagePin, Plan, ProviderPin},
    selection::Selection,
    steps::{Step, StepId},
};

mod change;
mod op;
mod value;

use change::{
    ChangeWire, InvocationWire, OutputWire, change_in, change_out, invocation_in, invocation_out, output_in,
    output_out,
};
use op::{OpWire, op_in, op_out};
pub(crate) use value::fingerprint_bytes;
use value::{ValueWire, value_in, value_out};

/// Raised with each change of the form.
const FORMAT: u32 = 8;
/// How deep the parts of a plan stand in each other, with room to spare; values are bytes here, and have a limit of their
/// own. Without it a damaged plan could overflow the stack.
const MAX_DEPTH: usize = 64;

#[derive(Serialize, Deserialize)]
struct PlanWire {
    format: u32,
    mode: u8,
    refresh: bool,
    replace: Vec<String>,
    parallelism: usize,
    workspace: String,
    dialect: u8,
    config: Vec<(String, String)>,
    modules: Vec<(Vec<String>, String)>,
    packages: Vec<(Vec<String>, PackageWire)>,
    variables: Vec<(String, ValueWire)>,
    #[serde(with = "serde_bytes")]
    previous_state: Vec<u8>,
    #[serde(with = "serde_bytes")]
    prior_state: Vec<u8>,
    changes: Vec<ChangeWire>,
    drift: Vec<ChangeWire>,
    outputs: Vec<(String, OutputWire)>,
    checks: Vec<(String, u8, Vec<String>, bool)>,
    steps: Vec<(OpWire, Vec<u32>)>,
    providers: Vec<(String, String, String)>,
    /// Hashes of calls and results, one after the other.
    #[serde(with = "serde_bytes")]
    functions: Vec<u8>,
    timestamp: String,
    errored: bool,
    invoke: Vec<String>,
    invocations: Vec<InvocationWire>,
    targets: Vec<String>,
    excludes: Vec<String>,
    generated: Vec<(String, String)>,
    given_again: Vec<String>,
    #[serde(default)]
    given: Vec<(String, ValueWire)>,
    #[serde(default)]
    module_outputs: Vec<(String, Vec<String>)>,
}

#[derive(Serialize, Deserialize)]
struct PackageWire {
    source: String,
    version: Option<String>,
    revision: String,
    digest: String,
}

const MODES: [Mode; 3] = [Mode::Normal, Mode::Destroy, Mode::RefreshOnly];

const STATUSES: [CheckStatus; 4] = [
    CheckStatus::Pass,
    CheckStatus::Fail,
    CheckStatus::Error,
    CheckStatus::Unknown,
];

fn code<T: PartialEq>(table: &[T], item: &T) -> u8 {
    table
        .iter()
        .position(|known| known == item)
        .and_then(|at| u8::try_from(at).ok())
        .unwrap_or(u8::MAX)
}

fn decode_code<T: Copy>(table: &[T], code: u8) -> Result<T, Diags> {
    let found = table.get(usize::from(code)).copied();
    found.ok_or_else(|| damaged("it holds a code that is not known"))
}

fn damaged(why: &str) -> Diags {
    let detail = format!("The stored plan is damaged or of another release: {why}. Plan anew.");
    Diag::error("Stored plan cannot be read", detail).into()
}

/// Writes a plan.
pub fn encode(plan: &Plan, terraform_version: &str) -> Result<Vec<u8>, Diags> {
    write(plan, terraform_version).map_err(|faults| {
        faults.map(|fault| {
            let detail = format!(
                "The plan cannot be kept, so it cannot be applied either: {}",
                fault.detail
            );
            Diag::error("Failed to write plan file", detail)
        })
    })
}

fn write(plan: &Plan, terraform_version: &str) -> Result<Vec<u8>, Diags> {
    let wire = PlanWire {
        format: FORMAT,
        mode: code(&MODES, &plan.options.mode),
        refresh: plan.options.refresh,
        replace: plan.options.replace.iter().map(ToString::to_string).collect(),
        parallelism: plan.options.parallelism,
        workspace: plan.options.workspace.clone(),
        dialect: code(&Dialect::ALL, &plan.options.dialect),
        config: plan
            .config
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .collect(),
        modules: plan
            .modules
            .iter()
            .map(|(path, folder)| (module_out(path), folder.to_string()))
            .collect(),
        packages: plan
            .packages
            .iter()
            .map(|(path, pin)| (module_out(path), package_out(pin.clone())))
            .collect(),
        variables: plan
            .variables
            .iter()
            .map(|(name, value)| Ok((name.to_string(), value_out(value)?)))
            .collect::<Result<_, Diags>>()?,
        previous_state: ashlar_state::write(&plan.previous_state, terraform_version)?,
        prior_state: ashlar_state::write(&plan.prior_state, terraform_version)?,
        changes: plan.changes.iter().map(change_out).collect::<Result<_, _>>()?,
        drift: plan.drift.iter().map(change_out).collect::<Result<_, _>>()?,
        outputs: plan
            .outputs
            .iter()
            .map(|(name, output)| Ok((name.to_string(), output_out(output)?)))
            .collect::<Result<_, Diags>>()?,
        checks: plan
            .checks
            .iter()
            .map(|(address, check)| {
                (
                    address.clone(),
                    code(&STATUSES, &check.status),
                    check.problems.clone(),
                    check.vacant,
                )
            })
            .collect(),
        steps: plan
            .steps
            .iter()
            .map(|step| (op_out(&step.op), step.after.iter().map(|id| id.0).collect()))
            .collect(),
        providers: plan
            .providers
            .iter()
            .map(|pin| (pin.provider.to_string(), pin.version.clone(), pin.digest.clone()))
            .collect(),
        functions: plan.functions.to_bytes(),
        timestamp: plan.timestamp.clone(),
        errored: plan.errored,
        invoke: plan.options.invoke.iter().map(ToString::to_string).collect(),
        invocations: plan
            .invocations
            .iter()
            .map(invocation_out)
            .collect::<Result<_, _>>()?,
        targets: texts(&plan.options.selection.targets),
        excludes: texts(&plan.options.selection.excludes),
        generated: plan
            .generated
            .iter()
            .map(|(address, block)| (address.to_string(), block.to_string()))
            .collect(),
        given_again: plan.given_again.iter().map(ToString::to_string).collect(),
        given: plan
            .given
            .iter()
            .map(|(name, value)| Ok((name.to_string(), value_out(value)?)))
            .collect::<Result<_, Diags>>()?,
        module_outputs: plan
            .module_outputs
            .iter()
            .map(|(module, names)| {
                (
                    module.to_string(),
                    names.iter().map(ToString::to_string).collect(),
                )
            })
            .collect(),
    };
    rmp_serde::to_vec(&wire).map_err(|fault| damaged(&fault.to_string()))
}

fn texts(named: &[Target]) -> Vec<String> {
    named.iter().map(ToString::to_string).collect()
}

fn targets_in(texts: &[String]) -> Result<Vec<Target>, Diags> {
    texts.iter().map(|text| parse(text)).collect()
}

/// Reads a plan.
pub fn decode(bytes: &[u8]) -> Result<Plan, Diags> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(MAX_DEPTH);
    let wire = PlanWire::deserialize(&mut reader).map_err(|fault| damaged(&fault.to_string()))?;
    if wire.format != FORMAT {
        return Err(damaged(&format!(
            "its format is {}, this release reads {FORMAT}",
            wire.format
        )));
    }
    let mut variables = BTreeMap::new();
    for (name, value) in wire.variables {
        variables.insert(Arc::from(name), value_in(&value)?);
    }
    let mut given = BTreeMap::new();
    for (name, value) in wire.given {
        given.insert(Arc::from(name), value_in(&value)?);
    }
    let mut outputs = BTreeMap::new();
    for (name, output) in wire.outputs {
        outputs.insert(Arc::from(name), output_in(&output)?);
    }
    let mut checks = BTreeMap::new();
    for (address, status, problems, vacant) in wire.checks {
        checks.insert(
            address,
            Check {
                status: decode_code(&STATUSES, status)?,
                problems,
                vacant,
            },
        );
    }
    let providers = wire.providers.into_iter().map(|(provider, version, digest)| {
        Ok(ProviderPin {
            provider: parse(&provider)?,
            version,
            digest,
        })
    });
    let steps = wire.steps.into_iter().map(|(op, after)| {
        Ok(Step {
            op: op_in(op)?,
            after: after.into_iter().map(StepId).collect(),
        })
    });
    Ok(Plan {
        options: Options {
            mode: decode_code(&MODES, wire.mode)?,
            refresh: wire.refresh,
            replace: wire
                .replace
                .iter()
                .map(|text| parse(text))
                .collect::<Result<_, _>>()?,
            parallelism: wire.parallelism,
            workspace: wire.workspace,
            dialect: decode_code(&Dialect::ALL, wire.dialect)?,
            invoke: wire
                .invoke
                .iter()
                .map(|text| parse(text))
                .collect::<Result<_, _>>()?,
            selection: Selection {
                targets: targets_in(&wire.targets)?,
                excludes: targets_in(&wire.excludes)?,
            },
        },
        config: wire
            .config
            .into_iter()
            .map(|(name, text)| (name.into(), text.into()))
            .collect(),
        modules: wire
            .modules
            .into_iter()
            .map(|(path, folder)| (module_in(path), folder.into()))
            .collect(),
        packages: wire
            .packages
            .into_iter()
            .map(|(path, pin)| (module_in(path), package_in(pin)))
            .collect(),
        variables,
        previous_state: ashlar_state::read(&wire.previous_state)?,
        prior_state: ashlar_state::read(&wire.prior_state)?,
        changes: wire.changes.iter().map(change_in).collect::<Result<_, _>>()?,
        drift: wire.drift.iter().map(change_in).collect::<Result<_, _>>()?,
        outputs,
        checks,
        steps: steps.collect::<Result<_, Diags>>()?,
        providers: providers.collect::<Result<_, Diags>>()?,
        functions: FunctionResults::from_bytes(&wire.functions)
            .ok_or_else(|| damaged("results of functions are cut off"))?,
        timestamp: wire.timestamp,
        errored: wire.errored,
        invocations: wire
            .invocations
            .iter()
            .map(invocation_in)
            .collect::<Result<_, _>>()?,
        generated: wire
            .generated
            .into_iter()
            .map(|(address, block)| Ok((parse(&address)?, block.into())))
            .collect::<Result<_, Diags>>()?,
        given_again: wire.given_again.into_iter().map(Arc::from).collect(),
        given,
        module_outputs: wire
            .module_outputs
            .into_iter()
            .map(|(module, names)| Ok((parse(&module)?, names.into_iter().map(Arc::from).collect())))
            .collect::<Result<_, Diags>>()?,
    })
}

fn package_out(pin: PackagePin) -> PackageWire {
    let PackagePin {
        source,
        version,
        revision,
        digest,
    } = pin;
    PackageWire {
        source,
        version,
        revision,
        digest,
    }
}

fn package_in(wire: PackageWire) -> PackagePin {
    let PackageWire {
        source,
        version,
        revision,
        digest,
    } = wire;
    PackagePin {
        source,
        version,
        revision,
        digest,
    }
}

fn module_out(module: &Module) -> Vec<String> {
    module.0.iter().map(ToString::to_string).collect()
}

fn module_in(names: Vec<String>) -> Module {
    Module(names.into_iter().map(Arc::from).collect())
}

fn parse<T: std::str::FromStr<Err = ashlar_addr::ParseError>>(text: &str) -> Result<T, Diags> {
    text.parse()
        .map_err(|fault: ashlar_addr::ParseError| damaged(&fault.to_string()))
}
