//! Custom conditions: `validation`, `precondition`, `postcondition`, `assert`.
//!
//! Rules: Terraform `configs/checks.go`, `terraform/eval_conditions.go`, `terraform/eval_variable.go`.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Block, Expr};
use ashlar_value::{Mark, Type, Value, convert};

use crate::{Blame, Scope, Shape, body, check_references, evaluate, finder, named, variable::arguments};

/// What a block with a condition holds.
pub const CONDITION: Shape = Shape {
    required: &["condition", "error_message"],
    optional: &[],
    blocks: &[],
};

/// A condition with what to say when it does not hold.
#[derive(Clone, Debug)]
pub struct CheckRule {
    /// What must hold.
    pub condition: Expr,
    /// What to say if not.
    pub error_message: Expr,
    /// The block's header.
    pub declared: Span,
}

impl CheckRule {
    /// Reads a block of `condition` and `error_message`; `None` if one of them is missing.
    pub fn read(block: &Block) -> (Option<Self>, Diags) {
        let mut diags = Diags::new();
        let schema = arguments(CONDITION.required, CONDITION.optional);
        let body = body::by_form(&block.body, &schema);
        let place = body.missing_item().or(Some(block.open));
        body::sort_form(body, &schema, place, &mut diags);
        let condition = body.attribute("condition").map(|attribute| &attribute.expr);
        if let Some(condition) = condition.filter(|condition| finder::traversals(condition).is_empty()) {
            let detail = "The condition refers to nothing, so it is always the same and checks nothing.";
            let summary = format!("Invalid {} expression", block.kind.name);
            diags.push(Diag::error(summary, detail).at(condition.span));
        }
        let message = body.attribute("error_message").map(|attribute| &attribute.expr);
        let rule = condition.zip(message).map(|(condition, message)| CheckRule {
            condition: condition.clone(),
            error_message: message.clone(),
            declared: block.header(),
        });
        (rule, diags)
    }

    /// What can be told before values are known: references of both, and whether the message is a text.
    pub fn judge_form(&self, scope: &dyn Scope) -> Diags {
        let mut diags = check_references(&self.condition, scope);
        let (message, faults) = evaluate(&self.error_message, scope);
        let failed = faults.has_errors();
        diags.extend(faults);
        if !failed {
            self.message(&message, &mut diags);
        }
        diags
    }

    /// The summary of what is told of a value that a validation forbids.
    pub const INVALID_VALUE: &str = "Invalid value for variable";

    /// Checks a variable's value: what comes is an error for each fault, or for the value itself at `place`.
    pub fn validate_variable(&self, scope: &dyn Scope, place: Span) -> Diags {
        self.validate(scope, place, true)
    }

    /// The same before values are known: a message that is not known yet is no fault.
    pub fn validate_early(&self, scope: &dyn Scope, place: Span) -> Diags {
        self.validate(scope, place, false)
    }

    fn validate(&self, scope: &dyn Scope, place: Span, planned: bool) -> Diags {
        let (condition, mut diags) = evaluate(&self.condition, scope);
        let (message, message_diags) = evaluate(&self.error_message, scope);
        let message_failed = message_diags.has_errors();
        diags.extend(message_diags);
        if !condition.is_known() {
            return diags;
        }
        let holds = if condition.is_null() {
            Err("it is null".to_owned())
        } else {
            convert(&condition, &Type::Bool).map_err(|error| error.message)
        };
        match holds {
            Err(why) => {
                let detail = format!("The condition of a validation must be true or false: {why}.");
                let summary = "Invalid variable validation result";
                diags.push(Diag::error(summary, detail).at(self.condition.span));
                return diags;
            }
            Ok(holds) if holds.as_bool() != Some(false) => return diags,
            Ok(_) => {}
        }
        if !message.is_known() && !message_failed {
            if !planned {
                return diags;
            }
            let detail = "The message holds values that are known only after applying.";
            diags.push(Diag::error("Invalid error message", detail).at(self.error_message.span));
            return diags;
        }
        let text = if message_failed {
            None
        } else {
            self.message(&message, &mut diags)
        };
        // Terraform's words, for they are kept with the state, too.
        let text = text.unwrap_or_else(|| {
            let is_text = !message_failed && !message.is_null() && convert(&message, &Type::String).is_ok();
            if is_text && hidden(&message).is_some() {
                "The error message included a sensitive value, so it will not be displayed.".to_owned()
            } else {
                "Failed to evaluate condition error message.".to_owned()
            }
        });
        let values = named(&self.condition, scope, Blame::Content);
        diags.push(Diag::error(Self::INVALID_VALUE, text).at(place).naming(values));
        diags
    }

    /// The message as text; `None`, with a diagnostic, if it may not be shown or is none.
    pub(crate) fn message(&self, message: &Value, diags: &mut Diags) -> Option<String> {
        if message.is_null() {
            return None;
        }
        let (summary, detail) = match (convert(message, &Type::String), hidden(message)) {
            (Err(error), _) => (
                "Invalid error message".to_owned(),
                format!("The message must be a string: {}.", error.message),
            ),
            (Ok(_), Some((word, function))) => (
                format!("Error message refers to {word} values"),
                format!(
                    "The message is not shown. Take the {word} values out of it, or use {function} where that is safe."
                ),
            ),
            (Ok(text), None) => {
                return text
                    .as_str()
                    .map(|text| text.trim())
                    .filter(|text| !text.is_empty())
                    .map(str::to_owned);
            }
        };
        diags.push(Diag::error(summary, detail).at(self.error_message.span));
        None
    }
}

/// Why a message may not be shown, if so: the word for what it tells, and the function that takes the mark away.
fn hidden(message: &Value) -> Option<(&'static str, &'static str)> {
    let marks = message.marks_deep();
    let found = [
        (Mark::Sensitive, "sensitive", "nonsensitive"),
        (Mark::Ephemeral, "ephemeral", "ephemeralasnull"),
    ];
    let found = found.into_iter().find(|(mark, ..)| marks.contains(*mark));
    found.map(|(_, word, function)| (word, function))
}
