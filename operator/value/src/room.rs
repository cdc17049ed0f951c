//! How much memory a value may take that comes from outside: a byte or two of a message can stand for a value, which
//! takes fifty times that, so a message within its limit of size could fill a machine.
//!
//! What is charged follows from the value alone, not from the form it comes in, so that what one decoder took the other
//! takes too: a provider's answer is read as MessagePack, and from the state as JSON. It is near to what is taken, not exact.

use crate::Number;

/// The most memory of a value that comes as MessagePack.
const LIMIT: u64 = 512 << 20;
/// What a value takes in its place, with what a growing list has to spare.
const PLACE: u64 = 64;
/// What a list, a map or an object takes beside what is in it.
const CONTAINER: u64 = 128;
/// What a node of a map's tree takes, and how many entries each has at least if they come in order.
const NODE: (u64, u64) = (800, 6);
/// What an own text takes beside its bytes.
const TEXT: u64 = 32;
/// What any number takes that is not a whole one of 64 bits.
const NUMBER: u64 = 192;
/// What is known of an unknown value.
const REFINEMENT: u64 = 256;
/// A type takes no more than so many times its description.
const TYPE: u64 = 8;

/// There is no room for the value.
pub(crate) struct Full;

impl Full {
    pub(crate) fn message(&self) -> String {
        format!(
            "the value has too many parts: it would take more than {} MiB of memory",
            LIMIT >> 20
        )
    }
}

/// The memory that is left to a value while it is read.
pub(crate) struct Room(u64);

impl Room {
    /// For a value as MessagePack.
    pub(crate) fn of_message() -> Self {
        Self(LIMIT)
    }

    /// For a value as JSON. It has a little more, as what was read once has to be read again.
    pub(crate) fn of_text() -> Self {
        Self(LIMIT + LIMIT / 8)
    }

    /// So much of it.
    pub(crate) fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    fn take(&mut self, bytes: u64) -> Result<(), Full> {
        self.0 = self.0.checked_sub(bytes).ok_or(Full)?;
        Ok(())
    }

    pub(crate) fn container(&mut self) -> Result<(), Full> {
        self.take(CONTAINER)
    }

    /// Elements of a list, a set or a tuple.
    pub(crate) fn elements(&mut self, count: usize) -> Result<(), Full> {
        self.take(PLACE.saturating_mul(count as u64))
    }

    /// The attributes of an object, whose names are the type's.
    pub(crate) fn attributes(&mut self, count: usize) -> Result<(), Full> {
        let nodes = (count as u64).div_ceil(NODE.1);
        self.take(NODE.0.saturating_mul(nodes))
    }

    /// One more entry, where there are `count`.
    pub(crate) fn entry(&mut self, count: usize, key: &str) -> Result<(), Full> {
        if (count as u64).is_multiple_of(NODE.1) {
            self.take(NODE.0)?;
        }
        self.text(key)
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Full> {
        self.take(TEXT + text.len() as u64)
    }

    pub(crate) fn number(&mut self, number: &Number) -> Result<(), Full> {
        self.take(if number.to_i64().is_some() { 0 } else { NUMBER })
    }

    /// Facts of so many bytes about an unknown value.
    pub(crate) fn facts(&mut self, bytes: usize) -> Result<(), Full> {
        self.take(REFINEMENT + bytes as u64)
    }

    /// A type by its description.
    pub(crate) fn described(&mut self, text: &[u8]) -> Result<(), Full> {
        self.take(TYPE.saturating_mul(text.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Type, Value, json, msgpack};

    /// The least room in which a value is read, in either form.
    fn needed(value: &Value, ty: &Type) -> (u64, u64) {
        let least = |reads: &dyn Fn(u64) -> bool| {
            let (mut low, mut high) = (0, 1 << 30);
            while low < high {
                let middle = (low + high) / 2;
                if reads(middle) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        let (message, text) = (
            msgpack::encode(value, ty).unwrap(),
            json::encode(value, ty).unwrap(),
        );
        (
            least(&|room| msgpack::decode_within(&message, ty, Room::of(room)).is_ok()),
            least(&|room| json::decode_within(&text, ty, Room::of(room)).is_ok()),
        )
    }

    #[track_caller]
    fn check(value: Value, least: u64) {
        let ty = value.ty();
        let (message, text) = needed(&value, &ty);
        assert_eq!(message, text);
        assert!(message >= least, "{message} of {least}");
        // A place without a type has the same, and the description.
        let (message, text) = needed(&value, &Type::Dynamic);
        assert_eq!(message, text);
    }

    #[test]
    fn both_forms_charge_the_same_and_no_less_than_is_taken() {
        let place = size_of::<Value>() as u64;
        assert!(place <= PLACE);
        let many = |item: Value| Value::tuple(vec![item; 1000]);
        check(many(Value::bool(true)), 1000 * place);
        check(
            Value::list(Type::Bool, vec![Value::bool(true); 1000]),
            1000 * place,
        );
        check(
            many(Value::number(Number::parse("0.1").unwrap())),
            1000 * (place + 150),
        );
        check(many(Value::string("x".repeat(100))), 1000 * (place + 116));
        check(
            many(Value::tuple(vec![Value::bool(true)])),
            1000 * (2 * place + 64),
        );
        // A node of a tree has room for eleven.
        let small = Value::object([("a", Value::bool(true))]);
        check(many(small), 1000 * (place + 11 * (place + 16)));
        let entries = (0..1000).map(|at| (format!("key{at:04}").into(), Value::bool(true)));
        check(
            Value::map_of(Type::Bool, entries.collect()),
            1000 * (2 * (place + 16) + 23),
        );
    }

    #[test]
    fn what_is_declared_takes_no_memory_before_there_is_room_for_it() {
        // A hundred million elements that are there, of a byte each.
        let mut bytes = vec![0xdd, 0x05, 0xf5, 0xe1, 0x00];
        bytes.resize(5 + 100_000_000, 0xc3);
        let error = msgpack::decode(&bytes, &Type::list(Type::Bool)).unwrap_err();
        assert_eq!(
            error.message,
            "the value has too many parts: it would take more than 512 MiB of memory"
        );
    }

    #[test]
    fn facts_about_what_is_unknown_take_room() {
        let fact = [0xc7, 3, 12, 0x81, 1, 0xc2];
        let many = [&[0xdc, 0, 100][..], &fact.repeat(100)].concat();
        let ty = Type::list(Type::String);
        let read = |room| msgpack::decode_within(&many, &ty, Room::of(room));
        assert!(read(1 << 20).is_ok());
        assert!(read(100 * REFINEMENT).is_err());
    }
}
