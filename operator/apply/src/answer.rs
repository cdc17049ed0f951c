//! What a provider answered to the making or changing of an object: what of it can be kept, and what is wrong with it.
//!
//! Source: Terraform `apply` in `node_resource_abstract_instance.go`. It decides about values only and asks nobody.

use ashlar_plan::{
    known_part,
    objchange::{Problem, assert_object_compatible, non_null_write_only, null_write_only},
};
use ashlar_value::{Path, Value, schema::Block};

/// Did the provider tell of errors? Then what it answered is explained, and only looked at for what can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Errors,
    Nothing,
}

/// How exactly an answer must be what was planned. Providers of the older kit cannot be held to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Strict,
    Legacy,
}

/// The object, null if there is none, without unknown parts; and each fault: its summary, and what the answer was.
pub(crate) fn judge(
    block: &Block,
    planned: &Value,
    answer: Option<Value>,
    told: Told,
    rules: Rules,
) -> (Value, Vec<(&'static str, String)>) {
    const INVALID: &str = "Provider returned invalid result object after apply";
    let mut faults = Vec::new();
    let missing = answer.is_none();
    let mut value = answer.unwrap_or_else(|| Value::null(block.ty()));
    let leaked = non_null_write_only(block, &value);
    if !leaked.is_empty() {
        // Nothing else is looked at then; but what was made is kept.
        let fault = |path: &Path| {
            let what = format!("a value for the write-only attribute {path}, which must never be returned");
            ("Provider produced invalid object", what)
        };
        let kept = null_write_only(block, value);
        return (known_part(kept), leaked.iter().map(fault).collect());
    }
    if !value.is_wholly_known() {
        // Told whether or not there were other errors; the known rest is kept.
        faults.push((
            INVALID,
            "values that are not known even after the change".to_owned(),
        ));
        value = known_part(value);
    }
    if told == Told::Nothing && faults.is_empty() {
        if missing {
            faults.push(("Provider produced invalid object", "no object at all".to_owned()));
        } else if rules == Rules::Strict {
            let problems = assert_object_compatible(block, planned, &value);
            faults.extend(problems.into_iter().map(|Problem { path, message }| {
                let summary = "Provider produced inconsistent result after apply";
                (summary, format!("{path}: {message}"))
            }));
        }
        if value.is_null() && faults.is_empty() {
            faults.push((
                INVALID,
                "a null object, which only a destruction may end with".to_owned(),
            ));
        }
    }
    (value, faults)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ashlar_value::{
        Type,
        schema::{Attribute, AttributeType},
    };

    use super::*;

    fn block() -> Block {
        block_of(false)
    }

    fn block_of(write_only: bool) -> Block {
        let attribute = Attribute {
            ty: AttributeType::Plain(Type::String),
            required: false,
            optional: true,
            computed: !write_only,
            sensitive: false,
            write_only,
            deprecated: None,
        };
        Block {
            attributes: [("a".into(), attribute)].into(),
            ..Block::default()
        }
    }

    fn object(a: Value) -> Value {
        Value::object(vec![(Arc::from("a"), a)])
    }

    /// Judges an answer to a plan of `a = "x"`; gives back what is kept and the summaries of its faults.
    fn check(answer: Option<Value>, told: Told, rules: Rules) -> (Value, Vec<&'static str>) {
        let planned = object(Value::string("x"));
        let (kept, faults) = judge(&block(), &planned, answer, told, rules);
        (kept, faults.into_iter().map(|(summary, _)| summary).collect())
    }

    const INVALID: &str = "Provider returned invalid result object after apply";
    const INCONSISTENT: &str = "Provider produced inconsistent result after apply";

    #[test]
    fn what_was_planned_is_kept() {
        let answer = object(Value::string("x"));
        let got = check(Some(answer.clone()), Told::Nothing, Rules::Strict);
        assert_eq!(got, (answer, vec![]));
    }

    #[test]
    fn another_object_than_planned_is_a_fault_but_of_the_older_kit() {
        let answer = object(Value::string("y"));
        let got = check(Some(answer.clone()), Told::Nothing, Rules::Strict);
        assert_eq!(got, (answer.clone(), vec![INCONSISTENT]));
        let got = check(Some(answer.clone()), Told::Nothing, Rules::Legacy);
        assert_eq!(got, (answer.clone(), vec![]));
        let got = check(Some(answer.clone()), Told::Errors, Rules::Strict);
        assert_eq!(got, (answer, vec![]));
    }

    #[test]
    fn no_object_is_always_a_fault() {
        let null = Value::null(block().ty());
        let got = check(Some(null.clone()), Told::Nothing, Rules::Legacy);
        assert_eq!(got, (null.clone(), vec![INVALID]));
        let got = check(Some(null.clone()), Told::Nothing, Rules::Strict);
        assert_eq!(got, (null.clone(), vec![INCONSISTENT]));
        let got = check(None, Told::Nothing, Rules::Legacy);
        assert_eq!(got, (null.clone(), vec!["Provider produced invalid object"]));
        let got = check(None, Told::Errors, Rules::Strict);
        assert_eq!(got, (null, vec![]));
    }

    #[test]
    fn a_write_only_value_is_a_fault_and_left_out() {
        let block = block_of(true);
        let null = object(Value::null(Type::String));
        let answer = object(Value::string("secret"));
        for (told, rules) in [(Told::Nothing, Rules::Legacy), (Told::Errors, Rules::Strict)] {
            let (kept, faults) = judge(&block, &null, Some(answer.clone()), told, rules);
            assert_eq!(kept, null);
            let summaries: Vec<_> = faults.iter().map(|(summary, _)| *summary).collect();
            assert_eq!(summaries, ["Provider produced invalid object"]);
        }
    }

    #[test]
    fn what_stays_unknown_is_a_fault_and_left_out() {
        for told in [Told::Errors, Told::Nothing] {
            let answer = object(Value::unknown(Type::String));
            let got = check(Some(answer), told, Rules::Legacy);
            assert_eq!(got, (object(Value::null(Type::String)), vec![INVALID]));
        }
    }
}
