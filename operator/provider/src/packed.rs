//! A provider's schema in a compact form, of which a type is unpacked when it is first asked for.
//!
//! The form is bytes: a head, an index of names, and each type as its protocol message, compressed by itself. Every type was
//! read once before it was packed, so what makes no sense is an error then, of the provider, and never later. The digest in
//! the head tells damage; pure, files are `schema_cache`'s business.

use std::{collections::HashMap, sync::Arc};

use ashlar_value::schema::{Block, Offered, ProviderSchema, Schema};
use bytes::Bytes;
use prost::Message;
use sha2::{Digest, Sha256};

use crate::{
    proto::{
        tfplugin::{self, ResourceIdentitySchema},
        tfplugin6 as v6,
    },
    schema::{SchemaError, function, schema},
};

/// Stands at the beginning. The number changes with the form, and whenever less is taken for a schema than before.
const MAGIC: &[u8; 16] = b"ashlar schema 2\n";
const DIGEST: usize = 32;
/// Above the zstd library's default the messages shrink little more.
const LEVEL: i32 = 3;
/// Largest type unpacked: no schema can be sent that is larger.
const TYPE_LIMIT: u32 = 256 << 20;

/// What is packed is not what was packed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is damaged, or in another form")]
pub(crate) struct Damaged;

/// What is of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum Kind {
    Resource = 0,
    Data = 1,
    Ephemeral = 2,
    Action = 3,
    List = 4,
}

/// All but the types, and where these are.
#[derive(Clone, PartialEq, Message)]
struct Index {
    /// With no types in it.
    #[prost(message, optional, tag = "1")]
    head: Option<v6::SchemaResponse>,
    #[prost(message, repeated, tag = "2")]
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(enumeration = "Kind", tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    name: String,
    /// Its place among the types.
    #[prost(uint64, tag = "3")]
    at: u64,
    #[prost(uint32, tag = "4")]
    length: u32,
    /// Its length once unpacked.
    #[prost(uint32, tag = "5")]
    unpacked: u32,
}

/// One type.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(message, optional, tag = "1")]
    schema: Option<v6::Schema>,
    #[prost(message, optional, tag = "2")]
    identity: Option<ResourceIdentitySchema>,
}

impl Stored {
    fn read(self) -> Result<Schema, SchemaError> {
        schema(self.schema.unwrap_or_default(), self.identity)
    }
}

/// Packs what a provider sent, with the identity schemas by resource type, once all of it was read.
pub(crate) fn pack(
    mut sent: v6::SchemaResponse,
    mut identities: HashMap<String, ResourceIdentitySchema>,
) -> Result<Vec<u8>, SchemaError> {
    let mut packer = Packer::default();
    let sorted = |types: HashMap<String, v6::Schema>| {
        let mut types: Vec<_> = types.into_iter().collect();
        types.sort_by(|(one, _), (other, _)| one.cmp(other));
        types
    };
    for (name, schema) in sorted(std::mem::take(&mut sent.resource_schemas)) {
        let identity = identities.remove(&name);
        packer.add(Kind::Resource, name, schema, identity)?;
    }
    for (name, schema) in sorted(std::mem::take(&mut sent.data_source_schemas)) {
        packer.add(Kind::Data, name, schema, None)?;
    }
    for (name, schema) in sorted(std::mem::take(&mut sent.ephemeral_resource_schemas)) {
        packer.add(Kind::Ephemeral, name, schema, None)?;
    }
    let actions = std::mem::take(&mut sent.action_schemas);
    let actions = actions
        .into_iter()
        .map(|(name, action)| (name, action.schema.unwrap_or_default()));
    for (name, schema) in sorted(actions.collect()) {
        packer.add(Kind::Action, name, schema, None)?;
    }
    for (name, schema) in sorted(std::mem::take(&mut sent.list_resource_schemas)) {
        packer.add(Kind::List, name, schema, None)?;
    }
    sent.diagnostics.clear();
    head(sent.clone())?;
    packer.index.head = Some(sent);
    Ok(packer.finish())
}

#[derive(Default)]
struct Packer {
    index: Index,
    types: Vec<u8>,
}

impl Packer {
    fn add(
        &mut self,
        kind: Kind,
        name: String,
        schema: v6::Schema,
        identity: Option<ResourceIdentitySchema>,
    ) -> Result<(), SchemaError> {
        let stored = Stored {
            schema: Some(schema),
            identity,
        };
        let bytes = stored.encode_to_vec();
        stored.read().map_err(|error| error.inside(&name))?;
        let too_large = |_| SchemaError::new("it is too large").inside(&name);
        let unpacked = u32::try_from(bytes.len()).map_err(too_large)?;
        let packed = zstd::bulk::compress(&bytes, LEVEL)
            .map_err(|error| SchemaError::new(format!("it cannot be kept: {error}")).inside(&name))?;
        let length = u32::try_from(packed.len()).map_err(too_large)?;
        self.index.entries.push(Entry {
            kind: kind.into(),
            at: u64::try_from(self.types.len()).unwrap_or(u64::MAX),
            length,
            unpacked,
            name,
        });
        self.types.extend(packed);
        Ok(())
    }

    fn finish(self) -> Vec<u8> {
        let index = self.index.encode_length_delimited_to_vec();
        let mut digest = Sha256::new();
        digest.update(&index);
        digest.update(&self.types);
        let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST + index.len() + self.types.len());
        bytes.extend(MAGIC);
        bytes.extend(digest.finalize());
        bytes.extend(index);
        bytes.extend(self.types);
        bytes
    }
}

/// All that is not a type.
fn head(sent: v6::SchemaResponse) -> Result<ProviderSchema, SchemaError> {
    let provider = sent
        .provider
        .ok_or_else(|| SchemaError::new("missing provider schema").inside("provider"))?;
    let capabilities = sent.server_capabilities.unwrap_or_default();
    Ok(ProviderSchema {
        provider: schema(provider, None).map_err(|error| error.inside("provider"))?,
        provider_meta: sent
            .provider_meta
            .map(|meta| schema(meta, None).map_err(|error| error.inside("provider_meta")))
            .transpose()?,
        functions: sent
            .functions
            .into_iter()
            .map(|(name, sent): (String, tfplugin::Function)| {
                let converted = function(sent).map_err(|error| error.inside(&name))?;
                Ok((Arc::from(name), converted))
            })
            .collect::<Result<_, SchemaError>>()?,
        plan_destroy: capabilities.plan_destroy,
        get_provider_schema_optional: capabilities.get_provider_schema_optional,
        move_resource_state: capabilities.move_resource_state,
        generate_resource_config: capabilities.generate_resource_config,
        ..ProviderSchema::default()
    })
}

/// The packed types and where each is.
struct Types {
    bytes: Bytes,
    /// Where they begin.
    start: usize,
    places: HashMap<(i32, Box<str>), Entry>,
}

impl Types {
    fn stored(&self, kind: Kind, name: &str) -> Option<Stored> {
        let entry = self.places.get(&(kind.into(), name.into()))?;
        let at = self.start.checked_add(usize::try_from(entry.at).ok()?)?;
        let end = at.checked_add(usize::try_from(entry.length).ok()?)?;
        let packed = self.bytes.get(at..end)?;
        let unpacked = usize::try_from(entry.unpacked.min(TYPE_LIMIT)).ok()?;
        let bytes = zstd::bulk::decompress(packed, unpacked).ok()?;
        Stored::decode(&*bytes).ok()
    }

    fn schema(&self, kind: Kind, name: &str) -> Option<Schema> {
        let schema = self.stored(kind, name).and_then(|stored| stored.read().ok());
        if schema.is_none() {
            // It was read when it was packed, and the digest says that it is what was packed.
            tracing::error!(
                name,
                "a type cannot be unpacked from the kept schema of its provider"
            );
        }
        schema
    }
}

/// The schema, with no type unpacked yet.
pub(crate) fn unpack(bytes: Bytes) -> Result<ProviderSchema, Damaged> {
    let body = bytes.strip_prefix(MAGIC.as_slice()).ok_or(Damaged)?;
    let (digest, body) = body.split_at_checked(DIGEST).ok_or(Damaged)?;
    if Sha256::digest(body).as_slice() != digest {
        return Err(Damaged);
    }
    let mut rest = body;
    let index = Index::decode_length_delimited(&mut rest).map_err(|_| Damaged)?;
    let start = bytes.len() - rest.len();
    let schema = head(index.head.unwrap_or_default()).map_err(|_| Damaged)?;
    let mut names: [Vec<Arc<str>>; 5] = Default::default();
    let mut places = HashMap::new();
    for mut entry in index.entries {
        let place = usize::try_from(entry.kind).map_err(|_| Damaged)?;
        let names = names.get_mut(place).ok_or(Damaged)?;
        let name = std::mem::take(&mut entry.name);
        names.push(name.as_str().into());
        places.insert((entry.kind, name.into()), entry);
    }
    let types = Arc::new(Types {
        bytes: bytes.clone(),
        start,
        places,
    });
    let [resources, data_sources, ephemeral_resources, actions, lists] = names;
    let offered = |names: Vec<Arc<str>>, kind: Kind| -> Offered<Schema> {
        let types = types.clone();
        Offered::made_by(names, Arc::new(move |name: &str| types.schema(kind, name)))
    };
    let blocks: Offered<Block> = {
        let types = types.clone();
        let block = move |name: &str| types.schema(Kind::Action, name).map(|schema| schema.block);
        Offered::made_by(actions, Arc::new(block))
    };
    Ok(ProviderSchema {
        resources: offered(resources, Kind::Resource),
        data_sources: offered(data_sources, Kind::Data),
        ephemeral_resources: offered(ephemeral_resources, Kind::Ephemeral),
        actions: blocks,
        lists: offered(lists, Kind::List),
        ..schema
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(name: &str, ty: &str) -> v6::Schema {
        let attribute = v6::schema::Attribute {
            name: name.to_owned(),
            r#type: ty.into(),
            ..Default::default()
        };
        v6::Schema {
            version: 3,
            block: Some(v6::schema::Block {
                attributes: vec![attribute],
                ..Default::default()
            }),
        }
    }

    fn sent() -> v6::SchemaResponse {
        v6::SchemaResponse {
            provider: Some(of_text("region", "\"string\"")),
            resource_schemas: HashMap::from([
                ("a_pot".to_owned(), of_text("clay", "\"number\"")),
                ("a_tile".to_owned(), of_text("glaze", "[\"list\",\"string\"]")),
            ]),
            data_source_schemas: HashMap::from([("a_pot".to_owned(), of_text("of", "\"bool\""))]),
            action_schemas: HashMap::from([(
                "a_fire".to_owned(),
                v6::ActionSchema {
                    schema: Some(of_text("heat", "\"number\"")),
                },
            )]),
            list_resource_schemas: HashMap::from([("a_pot".to_owned(), of_text("shelf", "\"string\""))]),
            server_capabilities: Some(tfplugin::ServerCapabilities {
                plan_destroy: true,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn what_is_packed_comes_out_by_kind_and_name() {
        let identity = ResourceIdentitySchema {
            version: 2,
            identity_attributes: Vec::new(),
        };
        let packed = pack(sent(), HashMap::from([("a_pot".to_owned(), identity)])).unwrap();
        let schema = unpack(packed.into()).unwrap();
        let pot = schema.resources.get("a_pot").unwrap();
        assert_eq!(pot.version, 3);
        assert_eq!(pot.block.ty().to_string(), "object({clay = number})");
        assert_eq!(pot.identity.as_ref().unwrap().version, 2);
        let data = schema.data_sources.get("a_pot").unwrap();
        assert_eq!(data.block.ty().to_string(), "object({of = bool})");
        assert!(data.identity.is_none());
        assert!(
            schema
                .actions
                .get("a_fire")
                .unwrap()
                .attributes
                .contains_key("heat")
        );
        let list = schema.lists.get("a_pot").unwrap();
        assert_eq!(list.block.ty().to_string(), "object({shelf = string})");
        assert_eq!(schema.resources.keys().count(), 2);
        assert!(schema.plan_destroy && !schema.move_resource_state);
        assert!(schema.provider.block.attributes.contains_key("region"));
    }

    #[test]
    fn what_makes_no_sense_is_told_when_it_is_packed() {
        let mut faulty = sent();
        let broken = of_text("glaze", "\"wat\"");
        faulty.resource_schemas.insert("a_tile".to_owned(), broken);
        let error = pack(faulty, HashMap::new()).unwrap_err();
        assert_eq!(error.to_string(), "a_tile.glaze: the type cannot be read");
        let error = pack(v6::SchemaResponse::default(), HashMap::new()).unwrap_err();
        assert_eq!(error.to_string(), "provider: missing provider schema");
    }

    #[test]
    fn any_change_is_noticed() {
        let packed = pack(sent(), HashMap::new()).unwrap();
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 1;
            assert_eq!(unpack(changed.into()).err(), Some(Damaged), "byte {at}");
            assert_eq!(
                unpack(packed[..at].to_vec().into()).err(),
                Some(Damaged),
                "cut at {at}"
            );
        }
        assert!(unpack(packed.into()).is_ok());
    }
}
