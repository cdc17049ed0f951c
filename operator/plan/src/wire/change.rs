//! The stored form of what changes: objects, outputs, and what is invoked.

use ashlar_config::TriggerEvent;
use ashlar_diag::Diags;
use serde::{Deserialize, Serialize};

use super::{
    code, decode_code, parse,
    value::{PathWire, ValueWire, path_in, path_out, value_in, value_out},
};
use crate::model::{Action, Change, Importing, Invocation, OutputChange, Reason, Trigger};

#[derive(Serialize, Deserialize)]
pub(super) struct ChangeWire {
    pub(super) address: String,
    pub(super) deposed: Option<u32>,
    pub(super) previous_address: Option<String>,
    pub(super) importing: Option<ImportingWire>,
    pub(super) provider: String,
    pub(super) action: u8,
    pub(super) reason: Option<u8>,
    pub(super) before: ValueWire,
    pub(super) after: ValueWire,
    pub(super) replace_paths: Vec<PathWire>,
    #[serde(with = "serde_bytes")]
    pub(super) private: Vec<u8>,
    pub(super) before_identity: Option<ValueWire>,
    pub(super) after_identity: Option<ValueWire>,
    pub(super) depose_as: Option<u32>,
    pub(super) dependencies: Vec<String>,
    pub(super) create_before_destroy: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) enum ImportingWire {
    Id(Box<ValueWire>),
    Identity(Box<ValueWire>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct OutputWire {
    pub(super) action: u8,
    pub(super) before: ValueWire,
    pub(super) after: ValueWire,
    pub(super) sensitive: (bool, bool),
}

#[derive(Serialize, Deserialize)]
pub(super) struct InvocationWire {
    pub(super) action: String,
    /// Whose change triggers it, the block, the entry, the event.
    pub(super) trigger: Option<(String, usize, usize, u8)>,
    pub(super) provider: String,
    pub(super) config: ValueWire,
}

pub(super) const ACTIONS: [Action; 9] = [
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

pub(super) const REASONS: [Reason; 16] = [
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

pub(super) fn change_out(change: &Change) -> Result<ChangeWire, Diags> {
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

pub(super) fn change_in(wire: &ChangeWire) -> Result<Change, Diags> {
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

pub(super) fn invocation_out(invocation: &Invocation) -> Result<InvocationWire, Diags> {
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

pub(super) fn invocation_in(wire: &InvocationWire) -> Result<Invocation, Diags> {
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

pub(super) fn output_out(output: &OutputChange) -> Result<OutputWire, Diags> {
    Ok(OutputWire {
        action: code(&ACTIONS, &output.action),
        before: value_out(&output.before)?,
        after: value_out(&output.after)?,
        sensitive: output.sensitive,
    })
}

pub(super) fn output_in(wire: &OutputWire) -> Result<OutputChange, Diags> {
    Ok(OutputChange {
        action: decode_code(&ACTIONS, wire.action)?,
        before: value_in(&wire.before)?,
        after: value_in(&wire.after)?,
        sensitive: wire.sensitive,
    })
}
