//! The stored form of steps.

use ashlar_diag::Diags;
use serde::{Deserialize, Serialize};

use super::{module_in, module_out, parse};
use crate::steps::Op;

#[derive(Serialize, Deserialize)]
pub(super) enum OpWire {
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
    Assert(usize),
}

pub(super) fn op_out(op: &Op) -> OpWire {
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
        Op::Assert(at) => OpWire::Assert(*at),
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

pub(super) fn op_in(wire: OpWire) -> Result<Op, Diags> {
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
        OpWire::Assert(at) => Op::Assert(at),
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
