//! The schema of a provider beside what follows from it, worked out once and shared by all its processes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_value::{
    Type, Value,
    json::WireError,
    schema::{Block, ProviderSchema},
};

use crate::{proto::tfplugin::DynamicValue, wire};

/// A schema with the types that follow from it, made once each.
pub(crate) struct KnownSchema {
    pub(crate) schema: Arc<ProviderSchema>,
    pub(crate) provider: Type,
    /// The type of `provider_meta`, and a null of it, if there is one.
    meta: Option<(Type, Option<DynamicValue>)>,
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
                let null = wire::encode(&Value::null(ty.clone()), &ty)?;
                Some((ty, null))
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

    /// What a module tells the provider about itself, on the wire.
    pub(crate) fn meta(&self, given: Option<&Value>) -> Result<Option<DynamicValue>, WireError> {
        match (&self.meta, given) {
            (Some((ty, _)), Some(given)) => wire::encode(given, ty),
            (Some((_, null)), None) => Ok(null.clone()),
            (None, _) => Ok(None),
        }
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

    pub(crate) fn resource_block(&self, kind: &str) -> Option<&Block> {
        self.schema.resources.get(kind).map(|schema| &schema.block)
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

#[cfg(test)]
mod tests {
    use ashlar_value::schema::{Attribute, AttributeType, Schema};

    use super::*;

    #[test]
    fn a_module_s_words_about_itself_go_to_a_provider_that_takes_them() {
        let attribute = Attribute {
            ty: AttributeType::Plain(Type::String),
            required: true,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        let block = Block {
            attributes: [("tag".into(), attribute)].into(),
            ..Block::default()
        };
        let said = Value::object(vec![(Arc::from("tag"), Value::string("mine"))]);
        let sent = |known: &KnownSchema, said| known.meta(said).unwrap().map(|sent| sent.msgpack);
        let takes = ProviderSchema {
            provider_meta: Some(Schema {
                block,
                ..Schema::default()
            }),
            ..ProviderSchema::default()
        };
        let takes = KnownSchema::new(takes).unwrap();
        assert_eq!(sent(&takes, Some(&said)).unwrap(), b"\x81\xa3tag\xa4mine");
        assert_eq!(sent(&takes, None).unwrap(), b"\xc0");
        let other = KnownSchema::new(ProviderSchema::default()).unwrap();
        assert_eq!(sent(&other, None), None);
    }
}
