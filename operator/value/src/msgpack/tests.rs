//! MessagePack beyond the recorded cases.

use crate::{Bound, Number, Refinement, Type, Value, msgpack, ops};

fn check(value: Value, ty: Type, bytes: &[u8]) {
    assert_eq!(msgpack::encode(&value, &ty).unwrap(), bytes);
    assert_eq!(msgpack::decode(bytes, &ty).unwrap(), value);
}

#[test]
fn values_go_there_and_back() {
    check(Value::number(-129), Type::Number, &[0xd1, 0xff, 0x7f]);
    check(Value::dynamic(), Type::Dynamic, &[0xd4, 0, 0]);
    check(Value::bool(true), Type::Dynamic, b"\x92\xc4\x06\"bool\"\xc3");
    let facts = Refinement {
        min: Some(Bound {
            value: Number::from(5),
            inclusive: true,
        }),
        ..Refinement::not_null()
    };
    let refined = ops::unknown_refined(Type::Number, facts);
    check(
        refined,
        Type::Number,
        &[0xc7, 7, 12, 0x82, 1, 0xc2, 3, 0x92, 5, 0xc3],
    );
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        let mut bytes = b"\x92\xc4\x09\"dynamic\"".repeat(depth);
        bytes.extend_from_slice(b"\x92\xc4\x06\"bool\"\xc3");
        bytes
    };
    assert_eq!(
        msgpack::decode(&nested(500), &Type::Dynamic),
        Ok(Value::bool(true))
    );
    assert!(msgpack::decode(&nested(100_000), &Type::Dynamic).is_err());
}

#[test]
fn few_bytes_do_not_become_much_memory() {
    // Unknown lists of exactly 60,000 elements, many times.
    let one = [
        0xc7, 9, 12, 0x83, 1, 0xc2, 5, 0xcd, 0xea, 0x60, 6, 0xcd, 0xea, 0x60,
    ];
    let mut one = one.to_vec();
    one[1] = u8::try_from(one.len() - 3).unwrap();
    let ty = Type::list(Type::list(Type::String));
    let many = |count: u8| [&[0xdc, 0, count][..], &one.repeat(usize::from(count))].concat();
    assert!(msgpack::decode(&many(2), &ty).is_ok());
    assert!(msgpack::decode(&many(200), &ty).is_err());
}

/// Whatever is cut off or changed, there is an answer.
#[test]
fn damaged_bytes_never_panic() {
    let ty = Type::object([
        ("a", Type::list(Type::Number)),
        ("d", Type::Dynamic),
        ("s", Type::set(Type::String)),
    ]);
    let value = Value::object([
        (
            "a",
            Value::list(
                Type::Number,
                vec![Value::number(1), Value::number(Number::parse("0.1").unwrap())],
            ),
        ),
        (
            "d",
            ops::unknown_refined(
                Type::String,
                Refinement {
                    prefix: Some("ab".into()),
                    ..Refinement::not_null()
                },
            ),
        ),
        (
            "s",
            Value::set(
                Type::String,
                vec![Value::string("x"), Value::unknown(Type::String)],
            ),
        ),
    ]);
    let bytes = msgpack::encode(&value, &ty).unwrap();
    assert_eq!(msgpack::decode(&bytes, &ty).unwrap(), value);
    for at in 0..bytes.len() {
        assert!(msgpack::decode(&bytes[..at], &ty).is_err());
        for byte in 0..=255 {
            let mut changed = bytes.clone();
            changed[at] = byte;
            let _ = msgpack::decode(&changed, &ty);
        }
    }
}
