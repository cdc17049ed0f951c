//! Why a call failed, without a place: the evaluator knows where call and arguments stand.

use std::fmt;

use ashlar_value::{convert::ConvertError, ops::OpError};

/// What summary a failed call gets: one of Terraform's four, or our own of a run that makes too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `Not enough function arguments`; blames the closing parenthesis.
    TooFew,
    /// `Too many function arguments`; blames the first argument too many.
    TooMany,
    /// `Invalid function argument`; blames the argument, or the whole call where [`FuncError::arg`] is `None`.
    Argument,
    /// `Error in function call`; blames the function's name.
    Call,
    /// `Module uses too much memory`; [`Caps::grant`](crate::Caps::grant) has refused. Must not be tried over.
    Memory,
}

impl Fault {
    /// The diagnostic's summary, as Terraform words it.
    pub fn summary(self) -> &'static str {
        match self {
            Fault::TooFew => "Not enough function arguments",
            Fault::TooMany => "Too many function arguments",
            Fault::Argument => "Invalid function argument",
            Fault::Call => "Error in function call",
            Fault::Memory => "Module uses too much memory",
        }
    }
}

/// A failed call. The message is a clause without capital and full stop, and shows nothing sensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncError {
    /// What kind of failure.
    pub fault: Fault,
    /// The argument at fault, counted from 0; always one that was given.
    pub arg: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl FuncError {
    /// The call as a whole failed.
    pub(crate) fn call(message: impl Into<String>) -> Self {
        Self {
            fault: Fault::Call,
            arg: None,
            message: message.into(),
        }
    }

    /// One argument is wrong.
    pub(crate) fn argument(index: usize, message: impl Into<String>) -> Self {
        Self {
            fault: Fault::Argument,
            arg: Some(index),
            message: message.into(),
        }
    }

    /// What it makes is too much.
    pub(crate) fn memory() -> Self {
        Self {
            fault: Fault::Memory,
            arg: None,
            message: "all texts and collections that this module makes are too large together; make fewer or smaller ones"
                .to_owned(),
        }
    }

    /// The same fault, blamed on one argument.
    pub(crate) fn at(self, index: usize) -> Self {
        match self.fault {
            Fault::Memory => self,
            _ => Self::argument(index, self.message),
        }
    }
}

impl fmt::Display for FuncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FuncError {}

impl From<OpError> for FuncError {
    fn from(error: OpError) -> Self {
        Self::call(error.message())
    }
}

impl From<ConvertError> for FuncError {
    fn from(error: ConvertError) -> Self {
        Self::call(error.message)
    }
}
