//! Conversion cases beyond those of the recorded ones.

use crate::{Marks, ObjectAttr, ObjectType, Type, Value, convert, unify};

fn check(value: Value, to: Type, want: Result<Value, &str>) {
    match (convert(&value, &to), want) {
        (Ok(got), Ok(want)) => assert_eq!(got, want),
        (Err(error), Err(at)) => assert_eq!(error.path.to_string(), at, "{}", error.message),
        (got, want) => panic!("converting {value:?} to {to} gave {got:?}, not {want:?}"),
    }
}

#[test]
fn a_null_leaves_its_marks_behind_in_an_object_and_takes_them_along_in_a_tuple() {
    let secret = || Value::null(Type::String).with_marks(Marks::SENSITIVE);
    let attr = |name: &str, optional| ObjectAttr {
        name: name.into(),
        ty: Type::String,
        optional,
    };
    let wanted = Type::Object(ObjectType::new([attr("a", false), attr("b", true)]).into());
    let converted = convert(&Value::object([("a", secret())]), &wanted).unwrap();
    assert_eq!(converted.marks_deep(), Marks::NONE);
    let list = Type::List(Type::String.into());
    let items = Value::tuple(vec![secret(), Value::number(1)]);
    assert_eq!(convert(&items, &list).unwrap().marks_deep(), Marks::SENSITIVE);
}

#[test]
fn marks_stay_where_they_are() {
    let secret = Value::string("1").with_marks(Marks::SENSITIVE);
    check(
        Value::tuple(vec![secret, Value::number(2)]).with_marks(Marks::EPHEMERAL),
        Type::list(Type::Number),
        Ok(Value::list(
            Type::Number,
            vec![Value::number(1).with_marks(Marks::SENSITIVE), Value::number(2)],
        )
        .with_marks(Marks::EPHEMERAL)),
    );
}

#[test]
fn errors_have_the_path() {
    let value = Value::object([("a", Value::tuple(vec![Value::string("1"), Value::string("x")]))]);
    check(
        value.clone(),
        Type::object([("a", Type::list(Type::Number))]),
        Err(".a[1]"),
    );
    check(value, Type::map(Type::list(Type::Number)), Err("[\"a\"][1]"));
}

#[test]
fn optional_attributes_leave_no_trace_in_types() {
    let optional = |ty| ObjectAttr {
        name: "o".into(),
        ty,
        optional: true,
    };
    let inner = Type::Object(ObjectType::new([optional(Type::Bool)]).into());
    let to = Type::Object(ObjectType::new([optional(inner)]).into());
    let want_inner = Type::object([("o", Type::Bool)]);
    check(
        Value::object::<&str>([]),
        to.clone(),
        Ok(Value::object([("o", Value::null(want_inner.clone()))])),
    );
    check(
        Value::null(Type::Dynamic),
        to,
        Ok(Value::null(Type::object([("o", want_inner)]))),
    );
}

#[test]
fn many_types_unify_in_reasonable_time() {
    let types: Vec<Type> = (0..20_000)
        .map(|at| if at % 2 == 0 { Type::Number } else { Type::String })
        .collect();
    assert_eq!(unify(&types), Some(Type::String));
}
