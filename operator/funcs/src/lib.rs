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

use ashlar_value::Dialect;

pub use caps::{Caps, CapsError, FileKind, NoCaps};
pub use error::{Fault, FuncError};
pub use files::path::clean as clean_path;
pub use protocol::{Args, Builtin, Code, Param, Purity, Rule, Ty, call};

/// Every family, in the order of the manual.
const FAMILIES: &[Family] = &[
    Family {
        title: "Numbers",
        table: numeric::TABLE,
    },
    Family {
        title: "Strings",
        table: text::TABLE,
    },
    Family {
        title: "Formatting",
        table: format::TABLE,
    },
    Family {
        title: "Patterns",
        table: regex::TABLE,
    },
    Family {
        title: "Looking into collections",
        table: collection::TABLE,
    },
    Family {
        title: "Sequences",
        table: sequence::TABLE,
    },
    Family {
        title: "Maps and objects",
        table: mapping::TABLE,
    },
    Family {
        title: "Sets",
        table: sets::TABLE,
    },
    Family {
        title: "Encodings",
        table: encoding::TABLE,
    },
    Family {
        title: "YAML",
        table: yaml::TABLE,
    },
    Family {
        title: "Files and paths",
        table: files::TABLE,
    },
    Family {
        title: "Dates and times",
        table: time::TABLE,
    },
    Family {
        title: "Digests, keys and identifiers",
        table: digest::TABLE,
    },
    Family {
        title: "IP networks",
        table: net::TABLE,
    },
    Family {
        title: "Conversions, templates and faults",
        table: convert::TABLE,
    },
    Family {
        title: "Sensitive and ephemeral values",
        table: marks::TABLE,
    },
];

/// A family: its title and its table.
#[derive(Clone, Copy)]
pub struct Family {
    /// What its functions are about, for the manual.
    pub title: &'static str,
    /// Its functions.
    pub table: &'static [Builtin],
}

/// All families, in the order of the manual.
pub fn families() -> &'static [Family] {
    FAMILIES
}

/// All functions, family by family. One that differs between the dialects stands here once for each.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().flat_map(|family| family.table)
}

/// The function of this name; `core::NAME` names the same function as `NAME`.
pub fn find(name: &str, dialect: Dialect) -> Option<&'static Builtin> {
    static BY_NAME: LazyLock<HashMap<(Dialect, &'static str), &'static Builtin>> = LazyLock::new(|| {
        let of = |dialect| {
            all()
                .filter(move |builtin| builtin.is_in(dialect))
                .map(move |builtin| ((dialect, builtin.name), builtin))
        };
        Dialect::ALL.into_iter().flat_map(of).collect()
    });
    BY_NAME
        .get(&(dialect, name.strip_prefix("core::").unwrap_or(name)))
        .copied()
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

    const TERRAFORM: Dialect = Dialect::Terraform;

    #[test]
    fn names_are_unique_and_sorted_within_a_family() {
        let mut seen = HashSet::new();
        for Family { title, table } in families() {
            assert!(
                table.is_sorted_by_key(|builtin| (builtin.name, builtin.only)),
                "the family of {title}"
            );
            for builtin in *table {
                for dialect in Dialect::ALL.into_iter().filter(|dialect| builtin.is_in(*dialect)) {
                    assert!(
                        seen.insert((dialect, builtin.name)),
                        "{} stands twice",
                        builtin.name
                    );
                    for name in [builtin.name, &format!("core::{}", builtin.name)] {
                        let found = find(name, dialect);
                        assert!(found.is_some_and(|found| std::ptr::eq(found, builtin)), "{name}");
                    }
                }
            }
        }
        for dialect in Dialect::ALL {
            assert!(find("nope", dialect).is_none());
        }
    }

    #[test]
    fn functions_of_one_dialect_are_none_of_the_other() {
        for (name, only) in [
            ("base64gunzip", Dialect::OpenTofu),
            ("cidrcontains", Dialect::OpenTofu),
            ("convert", Dialect::Terraform),
            ("urldecode", Dialect::OpenTofu),
        ] {
            assert!(
                find(name, only).is_some() && find(name, only.other()).is_none(),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_terraforms() {
        let ours: Vec<&str> = all()
            .filter(|builtin| builtin.is_in(TERRAFORM))
            .map(|builtin| builtin.name)
            .collect();
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
            let builtin = find(&name, TERRAFORM).unwrap();
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
            assert_eq!(
                type_from_json(&told["returns"]).unwrap(),
                builtin.result_type(),
                "the result of {name}"
            );
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
