//! Where a move begins or ends: in every instance of the module that declares it, some module, resource, or instance.
//!
//! Source: Terraform `internal/addrs/move_endpoint_module.go`.

use std::{fmt, sync::Arc};

use ashlar_addr::{
    AbsResource, InstanceKey, Module as ModuleAddr, ModuleInstance, Resource, ResourceInstance,
};
use ashlar_config::Endpoint;

/// One end of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The module that declares the move; it holds in each of its instances.
    pub(crate) declared: ModuleAddr,
    /// What is meant, as seen from there.
    pub(crate) subject: Subject,
}

/// What a move is about. Modules here are relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// All instances of a called module.
    Call(ModuleInstance, Arc<str>),
    /// One instance of a called module.
    Module(ModuleInstance),
    /// All instances of a resource.
    Resource(ModuleInstance, Resource),
    /// One instance of a resource.
    Instance(ModuleInstance, Resource, InstanceKey),
}

/// Something that can move, by its full address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moveable {
    Call(ModuleInstance, Arc<str>),
    Module(ModuleInstance),
    Resource(AbsResource),
    Instance(ResourceInstance),
}

impl Moveable {
    /// What kind of thing it is, for people.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Moveable::Call(..) => "module call",
            Moveable::Module(_) => "module instance",
            Moveable::Resource(_) => "resource",
            Moveable::Instance(_) => "resource instance",
        }
    }
}

impl fmt::Display for Moveable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moveable::Call(module, name) => {
                let dot = if module.is_root() { "" } else { "." };
                write!(f, "{module}{dot}module.{name}")
            }
            Moveable::Module(module) => write!(f, "{module}"),
            Moveable::Resource(resource) => write!(f, "{resource}"),
            Moveable::Instance(instance) => write!(f, "{instance}"),
        }
    }
}

/// Joins a module instance and one that is relative to it.
fn join(outer: Steps<'_>, inner: Steps<'_>) -> ModuleInstance {
    ModuleInstance(outer.iter().chain(inner).cloned().collect())
}

/// Steps on the way to a module instance.
type Steps<'m> = &'m [(Arc<str>, InstanceKey)];

/// A step on the way to a module; `None` stands for any key.
type Step<'p> = (&'p str, Option<&'p InstanceKey>);

impl Place {
    /// Both ends of a `moved` block. Where one names an instance, so does the other.
    pub(crate) fn pair(declared: &ModuleAddr, from: &Endpoint, to: &Endpoint) -> (Self, Self) {
        let keyed = |end: &Endpoint| match &end.resource {
            Some((_, key)) => *key != InstanceKey::None,
            None => end
                .module
                .last()
                .is_some_and(|(_, key)| *key != InstanceKey::None),
        };
        let single = keyed(from) || keyed(to);
        let place = |end: &Endpoint| {
            let module = ModuleInstance(end.module.clone().into());
            let subject = match (&end.resource, single) {
                (Some((resource, key)), true) => Subject::Instance(module, resource.clone(), key.clone()),
                (Some((resource, _)), false) => Subject::Resource(module, resource.clone()),
                (None, true) => Subject::Module(module),
                (None, false) => match end.module.split_last() {
                    Some(((name, _), outer)) => Subject::Call(ModuleInstance(outer.into()), name.clone()),
                    None => Subject::Module(module),
                },
            };
            Self {
                declared: declared.clone(),
                subject,
            }
        };
        (place(from), place(to))
    }

    /// An instance by its full address.
    pub(crate) fn of(instance: &ResourceInstance) -> Self {
        let AbsResource { module, resource } = instance.resource.clone();
        Self {
            declared: ModuleAddr::root(),
            subject: Subject::Instance(module, resource, instance.key.clone()),
        }
    }

    /// Is a module meant, or an instance of one?
    pub(crate) fn is_module(&self) -> bool {
        matches!(self.subject, Subject::Call(..) | Subject::Module(_))
    }

    /// What is meant in one instance of the module that declares the move.
    pub(crate) fn within(&self, outer: &ModuleInstance) -> Moveable {
        let inside = |inner: &ModuleInstance| join(&outer.0, &inner.0);
        match &self.subject {
            Subject::Call(module, name) => Moveable::Call(inside(module), name.clone()),
            Subject::Module(module) => Moveable::Module(inside(module)),
            Subject::Resource(module, resource) => Moveable::Resource(resource.within(inside(module))),
            Subject::Instance(module, resource, key) => {
                Moveable::Instance(resource.within(inside(module)).instance(key.clone()))
            }
        }
    }

    fn steps(&self) -> Vec<Step<'_>> {
        let (relative, call) = match &self.subject {
            Subject::Call(module, name) => (module, Some(name)),
            Subject::Module(module) | Subject::Resource(module, _) | Subject::Instance(module, ..) => {
                (module, None)
            }
        };
        let declared = self.declared.0.iter().map(|name| (&**name, None));
        let inner = relative.0.iter().map(|(name, key)| (&**name, Some(key)));
        declared
            .chain(inner)
            .chain(call.map(|name| (&**name, None)))
            .collect()
    }

    fn resource(&self) -> Option<&Resource> {
        match &self.subject {
            Subject::Resource(_, resource) | Subject::Instance(_, resource, _) => Some(resource),
            Subject::Call(..) | Subject::Module(_) => None,
        }
    }

    /// Is this the resource, or an instance of it?
    pub(crate) fn selects(&self, resource: &AbsResource) -> bool {
        let steps = self.steps();
        self.resource() == Some(&resource.resource)
            && steps.len() == resource.module.0.len()
            && steps
                .iter()
                .zip(&*resource.module.0)
                .all(|((name, key), (other, other_key))| {
                    *name == &**other && key.is_none_or(|key| key == other_key)
                })
    }

    /// Can something that arrived at `other` go on from here?
    pub(crate) fn chains_from(&self, other: &Self) -> bool {
        let (own, others) = (self.steps(), other.steps());
        own.len() == others.len()
            && can_match(&others, &own)
            && match (&self.subject, &other.subject) {
                (Subject::Call(..) | Subject::Module(_), Subject::Call(..) | Subject::Module(_)) => true,
                (Subject::Resource(_, one), Subject::Resource(_, other)) => one == other,
                (Subject::Instance(_, one, key), Subject::Instance(_, other, other_key)) => {
                    one == other && key == other_key
                }
                _ => false,
            }
    }

    /// Does this lie inside the other?
    pub(crate) fn nested_within(&self, other: &Self) -> bool {
        let (own, others) = (self.steps(), other.steps());
        if others.len() > own.len() || !can_match(&others, &own) {
            return false;
        }
        let deeper = own.len() > others.len();
        match (&other.subject, &self.subject) {
            (Subject::Call(..), Subject::Call(..)) => deeper,
            (Subject::Call(..), _) => true,
            (Subject::Module(_), Subject::Module(_) | Subject::Call(..)) => deeper,
            (Subject::Module(_), _) => true,
            (Subject::Resource(_, outer), Subject::Instance(_, inner, _)) => !deeper && outer == inner,
            _ => false,
        }
    }

    /// Is the move from here to there one of keys of a module alone?
    pub(crate) fn is_rekeying(&self, to: &Self) -> bool {
        let names = |place: &Self| -> Vec<String> {
            place.steps().iter().map(|(name, _)| (*name).to_owned()).collect()
        };
        matches!(
            (&self.subject, &to.subject),
            (Subject::Call(..), Subject::Module(_))
                | (Subject::Module(_), Subject::Call(..) | Subject::Module(_))
        ) && names(self) == names(to)
    }

    /// Splits off the instance of the declaring module.
    fn split<'m>(&self, module: &'m ModuleInstance) -> Option<(Steps<'m>, Steps<'m>)> {
        let (outer, inner) = module.0.split_at_checked(self.declared.0.len())?;
        let same = self
            .declared
            .0
            .iter()
            .zip(outer)
            .all(|(name, (other, _))| name == other);
        same.then_some((outer, inner))
    }

    /// Where a module instance, or one inside of what is meant, goes by a move from here.
    pub(crate) fn moves_module(&self, to: &Self, module: &ModuleInstance) -> Option<ModuleInstance> {
        let (outer, inner) = self.split(module)?;
        let (target, rest) = match (&self.subject, &to.subject) {
            (Subject::Module(own), Subject::Module(target)) => (target.clone(), inner.strip_prefix(&*own.0)?),
            (Subject::Call(own, name), Subject::Call(target, to)) => {
                let [(called, key), rest @ ..] = inner.strip_prefix(&*own.0)? else {
                    return None;
                };
                if called != name {
                    return None;
                }
                (target.child(to.clone(), key.clone()), rest)
            }
            _ => return None,
        };
        Some(join(&join(outer, &target.0).0, rest))
    }

    /// Where a whole resource goes by a move from here.
    pub(crate) fn moves_resource(&self, to: &Self, resource: &AbsResource) -> Option<AbsResource> {
        let (outer, inner) = self.split(&resource.module)?;
        match (&self.subject, &to.subject) {
            (Subject::Resource(module, own), Subject::Resource(target, other)) => (*own == resource.resource
                && inner == &*module.0)
                .then(|| other.within(join(outer, &target.0))),
            _ => None,
        }
    }

    /// Where an instance goes by a move from here that names it.
    pub(crate) fn moves_instance(&self, to: &Self, instance: &ResourceInstance) -> Option<ResourceInstance> {
        let (outer, inner) = self.split(&instance.resource.module)?;
        match (&self.subject, &to.subject) {
            (Subject::Instance(module, own, key), Subject::Instance(target, other, other_key)) => {
                let same = *own == instance.resource.resource && *key == instance.key && inner == &*module.0;
                same.then(|| other.within(join(outer, &target.0)).instance(other_key.clone()))
            }
            _ => None,
        }
    }
}

/// Can the first steps be the same as these?
fn can_match(these: &[Step<'_>], others: &[Step<'_>]) -> bool {
    these.iter().zip(others).all(|((name, key), (other, other_key))| {
        name == other
            && match (key, other_key) {
                (Some(key), Some(other)) => key == other,
                _ => true,
            }
    })
}
