//! Why a call failed, without a place: the evaluator knows where call and arguments stand.

use std::fmt;

use ashlar_value::{convert::ConvertError, ops::OpError};

/// Which of Terraform's four summaries a failed call gets.
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
}

impl Fault {
    /// The diagnostic's summary, as Terraform words it.
    pub fn summary(self) -> &'static str {
        match self {
            Fault::TooFew => "Not enough function arguments",
            Fault::TooMany => "Too many function arguments",
            Fault::Argument => "Invalid function argument",
            Fault::Call => "Error in function call",
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

    /// The same fault, blamed on one argument.
    pub(crate) fn at(self, index: usize) -> Self {
        Self::argument(index, self.message)
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
