//! Blocks that say what became of objects: `moved`, `removed`, `import`.

use std::sync::Arc;

use ashlar_addr::{InstanceKey, Module as ModuleAddr, Resource};
use ashlar_diag::Span;
use ashlar_syntax::{Body, Expr};

use super::{call::ProviderRef, resource::Provisioner};

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Where objects were.
    pub from: Endpoint,
    /// Where they are now.
    pub to: Endpoint,
    /// The block's header.
    pub header: Span,
}

/// An end of a `moved` block: a resource, a module, or an instance of either, as seen from its module.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Calls on the way, keys where they are written.
    pub module: Vec<(Arc<str>, InstanceKey)>,
    /// The resource in there, unless modules are meant.
    pub resource: Option<(Resource, InstanceKey)>,
    /// Its place.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// Calls on the way.
    pub module: ModuleAddr,
    /// The resource in there, unless all of the module is meant.
    pub resource: Option<Resource>,
    /// Are the objects destroyed, not only forgotten?
    pub destroy: bool,
    /// How the object is reached by provisioners.
    pub connection: Option<Body>,
    /// What is run when it is destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The block's header.
    pub header: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The id of the object to be taken in.
    pub id: Option<Expr>,
    /// Its identity.
    pub identity: Option<Expr>,
    /// The instance it becomes.
    pub to: Expr,
    /// The resource that `to` names.
    pub resource: (ModuleAddr, Resource),
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration to be asked, if the resource's is not meant.
    pub provider: Option<ProviderRef>,
    /// The place of the argument that names it.
    pub provider_span: Option<Span>,
    /// The block's header.
    pub header: Span,
}
