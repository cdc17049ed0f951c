//! The schema of a provider beside what follows from it, worked out once and shared by all its processes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_value::{Type, Value, json::WireError, schema::ProviderSchema};

use crate::{proto::tfplugin::DynamicValue, wire};

/// A schema with the types that follow from it, made once each.
pub(crate) struct KnownSchema {
    pub(crate) schema: Arc<ProviderSchema>,
    pub(crate) provider: Type,
    /// A null of the type of `provider_meta`, if there is one.
    pub(crate) meta: Option<DynamicValue>,
    resources: Mutex<HashMap<Arc<str>, ResourceTypes>>,
    data_sources: Mutex<HashMap<Arc<str>, Type>>,
}

/// The types of a resource type's values.
#[derive(Clone)]
pub(crate) struct ResourceTypes {
    pub(crate) object: Type,
    pub(crate) identity: Option<Type>,
}

impl KnownSchema {
    pub(crate) fn new(schema: ProviderSchema) -> Result<Self, WireError> {
        let meta = match &schema.provider_meta {
            Some(meta) => {
                let ty = meta.block.ty();
                wire::encode(&Value::null(ty.clone()), &ty)?
            }
            None => None,
        };
        Ok(Self {
            provider: schema.provider.block.ty(),
            schema: Arc::new(schema),
            meta,
            resources: Mutex::default(),
            data_sources: Mutex::default(),
        })
    }

    pub(crate) fn resource(&self, kind: &str) -> Option<ResourceTypes> {
        let mut known = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(types) = known.get(kind) {
            return Some(types.clone());
        }
        let (name, schema) = self.schema.resources.get_key_value(kind)?;
        let types = ResourceTypes {
            object: schema.block.ty(),
            identity: schema.identity.as_ref().map(|identity| identity.ty()),
        };
        known.insert(name.clone(), types.clone());
        Some(types)
    }

    pub(crate) fn data_source(&self, kind: &str) -> Option<Type> {
        let mut known = self.data_sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ty) = known.get(kind) {
            return Some(ty.clone());
        }
        let (name, schema) = self.schema.data_sources.get_key_value(kind)?;
        let ty = schema.block.ty();
        known.insert(name.clone(), ty.clone());
        Some(ty)
    }
}
