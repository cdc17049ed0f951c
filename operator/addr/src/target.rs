//! What a person points at: everything in a module, all instances of a resource, or one of them.
//!
//! Source: Terraform `internal/addrs/parse_target.go`, `target_contains.go` (`TargetContains`).

use std::fmt;

use crate::{AbsResource, ConfigResource, InstanceKey, ModuleInstance, ResourceInstance, parse::ParseError};

/// One or more objects, named by a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A module with all in it. Without a last key it is all instances of the module.
    Module(ModuleInstance),
    /// All instances of a resource.
    Resource(AbsResource),
    /// One instance, by its key.
    Instance(ResourceInstance),
}

impl Target {
    /// Is this instance, or what is at this address, part of it?
    pub fn contains(&self, instance: &ResourceInstance) -> bool {
        match self {
            Target::Module(module) => holds(module, &instance.resource.module),
            Target::Resource(resource) => *resource == instance.resource,
            Target::Instance(wanted) => wanted == instance,
        }
    }

    /// Is all of this module instance part of it?
    pub fn contains_module(&self, module: &ModuleInstance) -> bool {
        matches!(self, Target::Module(outer) if holds(outer, module))
    }

    /// Is every instance of this resource part of it, whichever there are?
    pub fn contains_all(&self, resource: &ConfigResource) -> bool {
        let is_plain = |module: &ModuleInstance| module.0.iter().all(|(_, key)| *key == InstanceKey::None);
        match self {
            Target::Module(module) => is_plain(module) && resource.module.0.starts_with(&module.config().0),
            Target::Resource(own) => is_plain(&own.module) && own.config() == *resource,
            Target::Instance(_) => false,
        }
    }

    /// Can some instance of this resource be part of it?
    pub fn concerns(&self, resource: &ConfigResource) -> bool {
        match self {
            Target::Module(module) => resource.module.0.starts_with(&module.config().0),
            Target::Resource(of) | Target::Instance(ResourceInstance { resource: of, .. }) => {
                of.config() == *resource
            }
        }
    }

    /// Does a dependency, recorded without keys, lead to some of it? One on what is in a module with a key never does, as with
    /// Terraform.
    pub fn meets(&self, resource: &ConfigResource) -> bool {
        match self {
            Target::Module(module) => {
                let plain = module.0.iter().all(|(_, key)| *key == InstanceKey::None);
                plain && resource.module.0.starts_with(&module.config().0)
            }
            Target::Resource(of) | Target::Instance(ResourceInstance { resource: of, .. }) => {
                of.config() == *resource
            }
        }
    }
}

/// Is `inner` the module `outer` or one inside it?
fn holds(outer: &ModuleInstance, inner: &ModuleInstance) -> bool {
    let Some((last, parents)) = outer.0.split_last() else {
        return true;
    };
    let Some((found, above)) = inner.0.get(..outer.0.len()).and_then(<[_]>::split_last) else {
        return false;
    };
    // Only the last step may stand for all instances: a module with keys and one without is never the same call.
    above == parents && last.0 == found.0 && (last.1 == InstanceKey::None || last.1 == found.1)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Module(module) => module.fmt(f),
            Target::Resource(resource) => resource.fmt(f),
            Target::Instance(instance) => instance.fmt(f),
        }
    }
}

impl std::str::FromStr for Target {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.is_empty() {
            let wanted = "the address of a module or of a resource should stand here";
            return Err(ParseError::new(text, 0, wanted));
        }
        if let Ok(module) = text.parse() {
            return Ok(Self::Module(module));
        }
        let instance: ResourceInstance = text.parse()?;
        Ok(match instance.key {
            InstanceKey::None => Self::Resource(instance.resource),
            _ => Self::Instance(instance),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in [
            "module.a",
            "module.a[0].module.b[\"k\"]",
            "a.b",
            "module.a.data.a.b[\"x\"]",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", "a", "module", "module.a.", "a.b."] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    fn check(target: &str, instance: &str, want: bool) {
        let (target, instance): (Target, ResourceInstance) =
            (target.parse().unwrap(), instance.parse().unwrap());
        assert_eq!(target.contains(&instance), want, "{target} {instance}");
    }

    #[test]
    fn a_target_holds_what_is_in_it() {
        check("a.b", "a.b", true);
        check("a.b", "a.b[0]", true);
        check("a.b[0]", "a.b[1]", false);
        check("a.b", "module.m.a.b", false);
        check("module.m", "module.m.a.b", true);
        check("module.m", "module.m[\"k\"].module.n[2].a.b", true);
        check("module.m[0]", "module.m[1].a.b", false);
        check("module.m.module.n", "module.m[1].module.n.a.b", false);
        check("module.m.module.n", "module.m.a.b", false);
    }

    #[test]
    fn recorded_dependencies_are_met_whatever_their_instance() {
        let meets = |target: &str, resource: &str| {
            let target: Target = target.parse().unwrap();
            target.meets(&resource.parse().unwrap())
        };
        assert!(meets("module.m", "module.m.module.n.a.b"));
        assert!(!meets("module.m[0]", "module.m.a.b"));
        assert!(meets("a.b[0]", "a.b"));
        assert!(!meets("module.m", "a.b"));
        assert!(!meets("a.b", "module.m.a.b"));
    }

    #[test]
    fn of_a_resource_all_or_some_can_be_meant() {
        let check = |text: &str, some: bool, all: bool| {
            let resource = "module.m.a.b".parse().unwrap();
            let target: Target = text.parse().unwrap();
            assert_eq!(target.concerns(&resource), some, "{text}");
            assert_eq!(target.contains_all(&resource), all, "{text}");
        };
        check("module.m", true, true);
        check("module.m[0]", true, false);
        check("module.m.a.b", true, true);
        check("module.m[0].a.b", true, false);
        check("module.m.a.b[0]", true, false);
        check("module.m.a.c", false, false);
        check("module.m.module.n", false, false);
    }
}
