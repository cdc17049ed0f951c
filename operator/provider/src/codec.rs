//! Messages of plugins, read only when they cannot take much more memory than they have bytes.
//!
//! Two bytes of a message can stand for a remark, an attribute or a step of a path, each of which takes a hundred in
//! memory; so a message within the limit of size could fill a machine. Here the parts of a message are counted before
//! it is read. What its values hold is not looked at: their own decoders bound that.

use std::marker::PhantomData;

use bytes::Buf;
use prost::{
    Message,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};
use tonic::{
    Status,
    codec::{BufferSettings, Codec, DecodeBuf, Decoder},
};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::proto::{goplugin, tfplugin, tfplugin5, tfplugin6};

/// What is told of a message with too many parts.
pub(crate) const CROWDED: &str = "the message has too many parts";
/// Parts of a usual answer; no sane one has a hundredth.
const MOST: usize = 100_000;
/// Parts of a schema; that of the largest provider has a fifth.
const MOST_OF_SCHEMA: usize = 2_000_000;
/// How deep parts may lie, as in prost.
const DEPTH: usize = 100;

/// Which fields of a message hold messages that have parts of their own.
pub(crate) struct Shape(&'static [(u32, &'static Shape)]);

const PLAIN: Shape = Shape(&[]);
const PATH: Shape = Shape(&[(1, &PLAIN)]);
const REMARK: Shape = Shape(&[(4, &PATH)]);
const EVENT: Shape = Shape(&[(1, &PLAIN), (2, &Shape(&[(1, &REMARK)]))]);
const IDENTITY: Shape = Shape(&[(2, &PLAIN)]);
// In generation 5 an attribute has no attributes inside; the fields that differ are no messages there.
static ATTRIBUTE: Shape = Shape(&[(10, &OBJECT)]);
static OBJECT: Shape = Shape(&[(1, &ATTRIBUTE)]);
static BLOCK: Shape = Shape(&[(2, &ATTRIBUTE), (3, &NESTED)]);
static NESTED: Shape = Shape(&[(2, &BLOCK)]);
static SCHEMA: Shape = Shape(&[(2, &BLOCK)]);
static SCHEMAS: Shape = Shape(&[(2, &SCHEMA)]);
static ACTIONS: Shape = Shape(&[(2, &Shape(&[(1, &SCHEMA)]))]);
static FUNCTIONS: Shape = Shape(&[(2, &Shape(&[(1, &PLAIN)]))]);
static WHOLE: Shape = Shape(&[
    (1, &SCHEMA),
    (2, &SCHEMAS),
    (3, &SCHEMAS),
    (4, &REMARK),
    (5, &SCHEMA),
    (7, &FUNCTIONS),
    (8, &SCHEMAS),
    (9, &SCHEMAS),
    (11, &ACTIONS),
]);

/// A message that plugins send.
pub(crate) trait Parts {
    const SHAPE: &'static Shape;
    const MOST: usize = MOST;
}

macro_rules! parts {
    ($($message:ty: $($field:literal $shape:ident),*;)*) => {$(
        impl Parts for $message {
            const SHAPE: &'static Shape = &Shape(&[$(($field, &$shape)),*]);
        }
    )*};
}

parts! {
    tfplugin::get_resource_identity_schemas::Response: 1 IDENTITIES, 2 REMARK;
    tfplugin::validate_provider_config::Response: 2 REMARK;
    tfplugin::configure_provider::Response: 1 REMARK;
    tfplugin::validate_resource_config::Response: 1 REMARK;
    tfplugin::validate_data_resource_config::Response: 1 REMARK;
    tfplugin::validate_ephemeral_resource_config::Response: 1 REMARK;
    tfplugin::open_ephemeral_resource::Response: 1 REMARK;
    tfplugin::renew_ephemeral_resource::Response: 1 REMARK;
    tfplugin::close_ephemeral_resource::Response: 1 REMARK;
    tfplugin::validate_action_config::Response: 1 REMARK;
    tfplugin::plan_action::Response: 1 REMARK;
    tfplugin::validate_list_resource_config::Response: 1 REMARK;
    tfplugin::list_resource::Event: 4 REMARK;
    tfplugin::upgrade_resource_state::Response: 2 REMARK;
    tfplugin::upgrade_resource_identity::Response: 2 REMARK;
    tfplugin::move_resource_state::Response: 2 REMARK;
    tfplugin::import_resource_state::Response: 1 PLAIN, 2 REMARK;
    tfplugin::generate_resource_config::Response: 2 REMARK;
    tfplugin::read_resource::Response: 2 REMARK;
    tfplugin::plan_resource_change::Response: 2 PATH, 4 REMARK;
    tfplugin::apply_resource_change::Response: 3 REMARK;
    tfplugin::read_data_source::Response: 2 REMARK;
    tfplugin::call_function::Response: ;
    tfplugin::stop_provider::Response: ;
    goplugin::Empty: ;
    goplugin::StdioData: ;
}

/// Of a schema that is known already only the remarks are read.
pub(crate) static REMARKED: Shape = Shape(&[(4, &REMARK)]);
static IDENTITIES: Shape = Shape(&[(2, &IDENTITY)]);

impl Parts for tfplugin::invoke_action::Event {
    const SHAPE: &'static Shape = &EVENT;
}

impl Parts for tfplugin5::SchemaResponse {
    const SHAPE: &'static Shape = &WHOLE;
    const MOST: usize = MOST_OF_SCHEMA;
}

impl Parts for tfplugin6::SchemaResponse {
    const SHAPE: &'static Shape = &WHOLE;
    const MOST: usize = MOST_OF_SCHEMA;
}

/// Has the message more parts than `most`? What cannot be read is left to who reads it.
fn is_crowded(mut message: &[u8], shape: &Shape, most: usize) -> bool {
    let mut left = most;
    !takes(&mut message, shape, &mut left, DEPTH)
}

fn takes(message: &mut &[u8], shape: &Shape, left: &mut usize, depth: usize) -> bool {
    while message.has_remaining() {
        let Ok((field, wire)) = decode_key(message) else {
            return true;
        };
        // Any field may be repeated, and each time is a part.
        let Some(fewer) = left.checked_sub(1) else {
            return false;
        };
        *left = fewer;
        let inner = shape.0.iter().find(|(number, _)| *number == field);
        match (inner, wire) {
            (Some((_, shape)), WireType::LengthDelimited) if depth > 0 => {
                let Some(mut part) = part(message) else {
                    return true;
                };
                if !takes(&mut part, shape, left, depth - 1) {
                    return false;
                }
            }
            _ if skip_field(wire, field, message, DecodeContext::default()).is_err() => return true,
            _ => {}
        }
    }
    true
}

fn part<'a>(message: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(decode_varint(message).ok()?).ok()?;
    let (part, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(part)
}

/// Protocol buffers, as prost reads and writes them, within bounds.
pub(crate) struct Bounded<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Bounded<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for Bounded<T, U>
where
    T: Message + Send + 'static,
    U: Message + Parts + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(PhantomData)
    }
}

/// Reads messages.
pub(crate) struct BoundedDecoder<U>(PhantomData<U>);

impl<U: Message + Parts + Default> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let message = source.copy_to_bytes(source.remaining());
        if is_crowded(&message, U::SHAPE, U::MOST) {
            return Err(Status::resource_exhausted(CROWDED));
        }
        let read = U::decode(message);
        read.map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &impl Message, shape: &Shape, parts: usize) {
        let message = message.encode_to_vec();
        assert!(!is_crowded(&message, shape, parts));
        assert!(is_crowded(&message, shape, parts - 1));
    }

    #[test]
    fn parts_are_counted_at_any_depth() {
        use tfplugin::{AttributePath, Diagnostic, attribute_path::Step};
        let remark = |steps: usize| Diagnostic {
            attribute: Some(AttributePath {
                steps: vec![Step::default(); steps],
            }),
            ..Diagnostic::default()
        };
        let response = tfplugin::validate_resource_config::Response {
            diagnostics: vec![remark(0), remark(3)],
        };
        // Each remark and each path, and the steps.
        check(
            &response,
            tfplugin::validate_resource_config::Response::SHAPE,
            4 + 3,
        );
        let attribute = |inside: Vec<tfplugin6::schema::Attribute>| tfplugin6::schema::Attribute {
            nested_type: Some(tfplugin6::schema::Object {
                attributes: inside,
                ..Default::default()
            }),
            ..Default::default()
        };
        let block = tfplugin6::schema::Block {
            attributes: vec![attribute(vec![attribute(Vec::new()); 5])],
            ..Default::default()
        };
        let schema = tfplugin6::Schema {
            version: 0,
            block: Some(block),
        };
        let whole = tfplugin6::SchemaResponse {
            resource_schemas: [("x".to_owned(), schema)].into(),
            ..Default::default()
        };
        // An entry with key and value, a block, an attribute, its object, and five of both.
        check(&whole, &WHOLE, 3 + 1 + 2 + 10);
    }

    #[test]
    fn values_and_nonsense_are_left_to_who_reads_them() {
        let state = tfplugin::DynamicValue {
            msgpack: [0x0a, 0x00].repeat(1000),
            json: Vec::new(),
        };
        let read = tfplugin::read_resource::Response {
            new_state: Some(state),
            ..Default::default()
        };
        check(&read, tfplugin::read_resource::Response::SHAPE, 1);
        for nonsense in [&[0xff; 30][..], &[0x0a, 0xff], &[0x0a, 5, 1]] {
            assert!(!is_crowded(nonsense, &REMARK, 2));
        }
    }
}
