//! The stored form of a plan: MessagePack, versioned.
//!
//! Wire structs live here and nowhere else; domain types derive no serde. The bytes hold secrets: whoever stores them
//! seals them first. A plan of another format version is refused, so that it is made anew, never misread.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Module, Target};
use ashlar_config::TriggerEvent;
use ashlar_diag::{Diag, Diags};
use ashlar_value::{Dialect, Marks, Path, PathStep, Value, json, msgpack};
use serde::{Deserialize, Serialize};

use crate::{
    function_results::FunctionResults,
    model::{
        Action, Change, Check, CheckStatus, Importing, Invocation, Mode, Options, OutputChange, PackagePin,
        Plan, ProviderPin, Reason, Trigger,
    },
    selection::Selection,
    steps::{Op, Step, StepId},
};

/// Raised with each change of the form.
const FORMAT: u32 = 6;
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
    #[serde(default)]
    invoke: Vec<String>,
    #[serde(default)]
    invocations: Vec<InvocationWire>,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    excludes: Vec<String>,
    #[serde(default)]
    generated: Vec<(String, String)>,
    #[serde(default)]
    given_again: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct InvocationWire {
    action: String,
    /// Whose change triggers it, the block, the entry, the event.
    trigger: Option<(String, usize, usize, u8)>,
    provider: String,
    config: ValueWire,
}

#[derive(Serialize, Deserialize)]
struct PackageWire {
    source: String,
    version: Option<String>,
    revision: String,
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct ValueWire {
    #[serde(with = "serde_bytes")]
    ty: Vec<u8>,
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
    marks: Vec<(PathWire, bool, bool)>,
}

type PathWire = Vec<StepWire>;

#[derive(Serialize, Deserialize)]
enum StepWire {
    Attr(String),
    Key(String),
    At(i64),
    Member(Box<ValueWire>),
}

#[derive(Serialize, Deserialize)]
struct ChangeWire {
    address: String,
    deposed: Option<u32>,
    previous_address: Option<String>,
    importing: Option<ImportingWire>,
    provider: String,
    action: u8,
    reason: Option<u8>,
    before: ValueWire,
    after: ValueWire,
    replace_paths: Vec<PathWire>,
    #[serde(with = "serde_bytes")]
    private: Vec<u8>,
    before_identity: Option<ValueWire>,
    after_identity: Option<ValueWire>,
    depose_as: Option<u32>,
    dependencies: Vec<String>,
    create_before_destroy: bool,
}

#[derive(Serialize, Deserialize)]
enum ImportingWire {
    Id(Box<ValueWire>),
    Identity(Box<ValueWire>),
}

#[derive(Serialize, Deserialize)]
struct OutputWire {
    action: u8,
    before: ValueWire,
    after: ValueWire,
    sensitive: (bool, bool),
}

#[derive(Serialize, Deserialize)]
enum OpWire {
    Configure(String),
    Call(Vec<String>),
    Variable(Vec<String>, String),
    Validate(Vec<String>, String),
    Local(Vec<String>, String),
    Write(usize),
    Read(usize),
    Delete(usize),
    Drop(usize),
    Forget(usize),
    Settle(String),
    Join(u32),
    Output(Vec<String>, String),
    Close(Vec<String>),
    Check(Vec<String>, String),
    Action(String),
    Invoke(usize),
    Open(String),
    Release(String),
}

const ACTIONS: [Action; 9] = [
    Action::NoOp,
    Action::Create,
    Action::Read,
    Action::Update,
    Action::DeleteThenCreate,
    Action::CreateThenDelete,
    Action::Delete,
    Action::Forget,
    Action::ForgetThenCreate,
];

const REASONS: [Reason; 16] = [
    Reason::ReplaceBecauseTainted,
    Reason::ReplaceBecauseCannotUpdate,
    Reason::ReplaceByRequest,
    Reason::ReplaceByTriggers,
    Reason::DeleteBecauseNoResourceConfig,
    Reason::DeleteBecauseWrongRepetition,
    Reason::DeleteBecauseCountIndex,
    Reason::DeleteBecauseEachKey,
    Reason::DeleteBecauseNoModule,
    Reason::DeleteBecauseNoMoveTarget,
    Reason::ReadBecauseCheckNested,
    Reason::ReadBecauseConfigUnknown,
    Reason::ReadBecauseDependencyPending,
    Reason::DeleteBecauseEnabledFalse,
    Reason::ForgotBecauseLifecycleDestroyInConfig,
    Reason::ForgotBecauseLifecycleDestroyInState,
];

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
    let mut outputs = BTreeMap::new();
    for (name, output) in wire.outputs {
        let change = OutputChange {
            action: decode_code(&ACTIONS, output.action)?,
            before: value_in(&output.before)?,
            after: value_in(&output.after)?,
            sensitive: output.sensitive,
        };
        outputs.insert(Arc::from(name), change);
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

fn value_out(value: &Value) -> Result<ValueWire, Diags> {
    let ty = value.ty();
    let (plain, marks) = value.clone().unmark_deep_with_paths();
    let ty_json = json::type_to_json(&ty).to_string().into_bytes();
    let data = msgpack::encode(&plain, &ty).map_err(|fault| damaged(&fault.message))?;
    let marks = marks
        .into_iter()
        .map(|(path, marks)| {
            use ashlar_value::Mark::{Ephemeral, Sensitive};
            Ok((
                path_out(&path)?,
                marks.contains(Sensitive),
                marks.contains(Ephemeral),
            ))
        })
        .collect::<Result<_, Diags>>()?;
    Ok(ValueWire {
        ty: ty_json,
        data,
        marks,
    })
}

fn value_in(wire: &ValueWire) -> Result<Value, Diags> {
    let ty = serde_json::from_slice(&wire.ty).map_err(|fault| damaged(&fault.to_string()))?;
    let ty = json::type_from_json(&ty).map_err(|fault| damaged(&fault.message))?;
    let value = msgpack::decode(&wire.data, &ty).map_err(|fault| damaged(&fault.message))?;
    let mut marks = Vec::with_capacity(wire.marks.len());
    for (path, sensitive, ephemeral) in &wire.marks {
        let sensitive = if *sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let ephemeral = if *ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
        marks.push((path_in(path)?, sensitive.union(ephemeral)));
    }
    Ok(value.mark_paths(&marks))
}

fn path_out(path: &Path) -> Result<PathWire, Diags> {
    let step = |step: &PathStep| {
        Ok(match step {
            PathStep::Attr(name) => StepWire::Attr(name.to_string()),
            PathStep::Index(key) => {
                match (key.as_str(), key.as_number().and_then(|number| number.to_i64())) {
                    (Some(text), _) => StepWire::Key(text.to_string()),
                    (None, Some(at)) => StepWire::At(at),
                    (None, None) => StepWire::Member(Box::new(value_out(key)?)),
                }
            }
        })
    };
    path.0.iter().map(step).collect()
}

fn path_in(wire: &PathWire) -> Result<Path, Diags> {
    let step = |step: &StepWire| {
        Ok(match step {
            StepWire::Attr(name) => PathStep::Attr(name.as_str().into()),
            StepWire::Key(key) => PathStep::Index(Value::string(key)),
            StepWire::At(at) => PathStep::from(*at),
            StepWire::Member(value) => PathStep::Index(value_in(value)?),
        })
    };
    wire.iter().map(step).collect()
}

fn change_out(change: &Change) -> Result<ChangeWire, Diags> {
    let Change {
        address,
        deposed,
        previous_address,
        importing,
        provider,
        action,
        reason,
        before,
        after,
        replace_paths,
        private,
        before_identity,
        after_identity,
        depose_as,
        dependencies,
        create_before_destroy,
    } = change;
    Ok(ChangeWire {
        address: address.to_string(),
        deposed: deposed.map(|key| key.0),
        previous_address: previous_address.as_ref().map(ToString::to_string),
        importing: match importing {
            None => None,
            Some(Importing::Id(id)) => Some(ImportingWire::Id(Box::new(value_out(id)?))),
            Some(Importing::Identity(identity)) => {
                Some(ImportingWire::Identity(Box::new(value_out(identity)?)))
            }
        },
        provider: provider.to_string(),
        action: code(&ACTIONS, action),
        reason: reason.map(|reason| code(&REASONS, &reason)),
        before: value_out(before)?,
        after: value_out(after)?,
        replace_paths: replace_paths.iter().map(path_out).collect::<Result<_, _>>()?,
        private: private.to_vec(),
        before_identity: before_identity.as_ref().map(value_out).transpose()?,
        after_identity: after_identity.as_ref().map(value_out).transpose()?,
        depose_as: depose_as.map(|key| key.0),
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
        create_before_destroy: *create_before_destroy,
    })
}

fn change_in(wire: &ChangeWire) -> Result<Change, Diags> {
    Ok(Change {
        address: parse(&wire.address)?,
        deposed: wire.deposed.map(ashlar_addr::DeposedKey),
        previous_address: wire.previous_address.as_deref().map(parse).transpose()?,
        importing: match &wire.importing {
            None => None,
            Some(ImportingWire::Id(id)) => Some(Importing::Id(value_in(id)?)),
            Some(ImportingWire::Identity(identity)) => Some(Importing::Identity(value_in(identity)?)),
        },
        provider: parse(&wire.provider)?,
        action: decode_code(&ACTIONS, wire.action)?,
        reason: wire
            .reason
            .map(|reason| decode_code(&REASONS, reason))
            .transpose()?,
        before: value_in(&wire.before)?,
        after: value_in(&wire.after)?,
        replace_paths: wire.replace_paths.iter().map(path_in).collect::<Result<_, _>>()?,
        private: wire.private.clone().into(),
        before_identity: wire.before_identity.as_ref().map(value_in).transpose()?,
        after_identity: wire.after_identity.as_ref().map(value_in).transpose()?,
        depose_as: wire.depose_as.map(ashlar_addr::DeposedKey),
        dependencies: wire
            .dependencies
            .iter()
            .map(|text| parse(text))
            .collect::<Result<_, _>>()?,
        create_before_destroy: wire.create_before_destroy,
    })
}

fn invocation_out(invocation: &Invocation) -> Result<InvocationWire, Diags> {
    let Invocation {
        action,
        trigger,
        provider,
        config,
    } = invocation;
    Ok(InvocationWire {
        action: action.to_string(),
        trigger: trigger.as_ref().map(|trigger| {
            let event = code(&TriggerEvent::ALL, &trigger.event);
            (trigger.resource.to_string(), trigger.block, trigger.at, event)
        }),
        provider: provider.to_string(),
        config: value_out(config)?,
    })
}

fn invocation_in(wire: &InvocationWire) -> Result<Invocation, Diags> {
    let trigger = wire.trigger.as_ref().map(|(resource, block, at, event)| {
        Ok::<_, Diags>(Trigger {
            resource: parse(resource)?,
            block: *block,
            at: *at,
            event: decode_code(&TriggerEvent::ALL, *event)?,
        })
    });
    Ok(Invocation {
        action: parse(&wire.action)?,
        trigger: trigger.transpose()?,
        provider: parse(&wire.provider)?,
        config: value_in(&wire.config)?,
    })
}

fn output_out(output: &OutputChange) -> Result<OutputWire, Diags> {
    Ok(OutputWire {
        action: code(&ACTIONS, &output.action),
        before: value_out(&output.before)?,
        after: value_out(&output.after)?,
        sensitive: output.sensitive,
    })
}

fn op_out(op: &Op) -> OpWire {
    match op {
        Op::Configure(provider) => OpWire::Configure(provider.to_string()),
        Op::Call(module) => OpWire::Call(module_out(module)),
        Op::Variable(module, name) => OpWire::Variable(module_out(module), name.to_string()),
        Op::Validate(module, name) => OpWire::Validate(module_out(module), name.to_string()),
        Op::Local(module, name) => OpWire::Local(module_out(module), name.to_string()),
        Op::Write(at) => OpWire::Write(*at),
        Op::Read(at) => OpWire::Read(*at),
        Op::Delete(at) => OpWire::Delete(*at),
        Op::Drop(at) => OpWire::Drop(*at),
        Op::Forget(at) => OpWire::Forget(*at),
        Op::Settle(resource) => OpWire::Settle(resource.to_string()),
        Op::Join(join) => OpWire::Join(*join),
        Op::Output(module, name) => OpWire::Output(module_out(module), name.to_string()),
        Op::Close(module) => OpWire::Close(module_out(module)),
        Op::Check(module, name) => OpWire::Check(module_out(module), name.to_string()),
        Op::Action(action) => OpWire::Action(action.to_string()),
        Op::Invoke(at) => OpWire::Invoke(*at),
        Op::Open(resource) => OpWire::Open(resource.to_string()),
        Op::Release(resource) => OpWire::Release(resource.to_string()),
    }
}

fn op_in(wire: OpWire) -> Result<Op, Diags> {
    Ok(match wire {
        OpWire::Configure(provider) => Op::Configure(parse(&provider)?),
        OpWire::Call(module) => Op::Call(module_in(module)),
        OpWire::Variable(module, name) => Op::Variable(module_in(module), name.into()),
        OpWire::Validate(module, name) => Op::Validate(module_in(module), name.into()),
        OpWire::Local(module, name) => Op::Local(module_in(module), name.into()),
        OpWire::Write(at) => Op::Write(at),
        OpWire::Read(at) => Op::Read(at),
        OpWire::Delete(at) => Op::Delete(at),
        OpWire::Drop(at) => Op::Drop(at),
        OpWire::Forget(at) => Op::Forget(at),
        OpWire::Settle(resource) => Op::Settle(parse(&resource)?),
        OpWire::Join(join) => Op::Join(join),
        OpWire::Output(module, name) => Op::Output(module_in(module), name.into()),
        OpWire::Close(module) => Op::Close(module_in(module)),
        OpWire::Check(module, name) => Op::Check(module_in(module), name.into()),
        OpWire::Action(action) => Op::Action(parse(&action)?),
        OpWire::Invoke(at) => Op::Invoke(at),
        OpWire::Open(resource) => Op::Open(parse(&resource)?),
        OpWire::Release(resource) => Op::Release(parse(&resource)?),
    })
}

/// The bytes that stand for a value in keyed hashes: type, content and marks.
pub(crate) fn fingerprint_bytes(value: &Value) -> Vec<u8> {
    value_out(value)
        .ok()
        .and_then(|wire| rmp_serde::to_vec(&wire).ok())
        .unwrap_or_default()
}
