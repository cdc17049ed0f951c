//! The builtin functions as family tables.
//!
//! Stands between `value` and `eval`: the evaluator looks a function up by name, hands its arguments over and gets a value
//! or span-less errors, which it places. One table entry says all there is to know of a function; the calling protocol
//! settles arity, conversion, null, unknown, marks and refinements before an entry's code runs. Nothing here reads
//! files, the clock or randomness but through [`Caps`], and no error text shows what a sensitive argument holds.

mod caps;
mod error;
mod protocol;

mod collection;
mod convert;
mod digest;
mod encoding;
mod files;
mod format;
mod gzip;
mod mapping;
mod marks;
mod net;
mod numeric;
mod regex;
mod rsa;
mod sequence;
mod sets;
mod text;
mod time;
mod yaml;

use std::{collections::HashMap, sync::LazyLock};

pub use caps::{Caps, CapsError, FileKind, NoCaps};
pub use error::{Fault, FuncError};
pub use protocol::{Args, Builtin, Code, Param, Purity, Rule, Ty, call};

/// Every family's table, in the order of the manual.
const FAMILIES: &[&[Builtin]] = &[
    numeric::TABLE,
    text::TABLE,
    format::TABLE,
    regex::TABLE,
    collection::TABLE,
    sequence::TABLE,
    mapping::TABLE,
    sets::TABLE,
    encoding::TABLE,
    yaml::TABLE,
    files::TABLE,
    time::TABLE,
    digest::TABLE,
    net::TABLE,
    convert::TABLE,
    marks::TABLE,
];

/// All functions, family by family.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// The function of this name; `core::NAME` names the same function as `NAME`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Builtin>> =
        LazyLock::new(|| all().map(|builtin| (builtin.name, builtin)).collect());
    BY_NAME.get(name.strip_prefix("core::").unwrap_or(name)).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use ashlar_value::json::type_from_json;

    use super::*;

    /// The functions of Terraform 1.15.5 as it tells them itself.
    const TERRAFORMS: &str = include_str!("../../../tests/oracle/expressions/functions.json");

    fn terraforms() -> BTreeMap<String, serde_json::Value> {
        serde_json::from_str(TERRAFORMS).unwrap()
    }

    #[test]
    fn names_are_unique_and_sorted_within_a_family() {
        let mut seen = HashSet::new();
        for family in FAMILIES {
            assert!(
                family.is_sorted_by_key(|builtin| builtin.name),
                "the family of {}",
                family[0].name
            );
            for builtin in *family {
                assert!(seen.insert(builtin.name), "{} stands twice", builtin.name);
                assert_eq!(
                    find(&format!("core::{}", builtin.name)).map(|found| found.name),
                    Some(builtin.name)
                );
            }
        }
        assert!(find("nope").is_none());
    }

    #[test]
    fn names_are_terraforms() {
        let ours: Vec<&str> = all().map(|builtin| builtin.name).collect();
        for name in terraforms().keys() {
            assert!(ours.contains(&name.as_str()), "{name} is missing");
        }
        // Terraform tells nothing of these, though they exist: two that only raise errors, one of the console alone.
        let untold: Vec<&str> = ours
            .into_iter()
            .filter(|name| !terraforms().contains_key(*name))
            .collect();
        assert_eq!(untold, ["list", "map", "type"]);
    }

    #[test]
    fn parameters_are_terraforms() {
        for (name, told) in terraforms() {
            let check = |told: &serde_json::Value, param: &Param| {
                assert_eq!(told["name"], param.name, "a parameter of {name}");
                assert_eq!(
                    type_from_json(&told["type"]).unwrap(),
                    param.ty.to_type(),
                    "{} of {name}",
                    param.name
                );
                assert_eq!(told["nullable"] == true, param.null, "{} of {name}", param.name);
            };
            let builtin = find(&name).unwrap();
            let params = told["params"].as_array().unwrap();
            assert_eq!(params.len(), builtin.params.len(), "{name}");
            params
                .iter()
                .zip(builtin.params)
                .for_each(|(told, param)| check(told, param));
            assert_eq!(
                told.get("variadic").is_some(),
                builtin.variadic.is_some(),
                "{name}"
            );
            if let (Some(told), Some(param)) = (told.get("variadic"), &builtin.variadic) {
                check(told, param);
            }
        }
    }

    #[test]
    fn all_are_documented_and_shown() {
        for builtin in all() {
            assert!(
                builtin.doc.ends_with('.') && !builtin.doc.contains('\n'),
                "the doc of {}",
                builtin.name
            );
            assert!(
                builtin.name == "type" || !builtin.examples.is_empty(),
                "{} has no example",
                builtin.name
            );
            for example in builtin.examples {
                assert!(
                    example.contains(&format!("{}(", builtin.name)),
                    "{example} does not call {}",
                    builtin.name
                );
            }
        }
    }
}
