//! Numbers against what Go's `math/big` gives.

use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is no number"))
}

#[test]
fn text_comes_back_shortest() {
    let check = |text: &str, shown: &str| assert_eq!(number(text).to_string(), shown);
    check("0.1", "0.1");
    check("1e21", "1000000000000000000000");
    check("-1.50", "-1.5");
    check("1p3", "8");
    check("1.5p-2", "0.375");
    check(".5", "0.5");
    check("5.", "5");
    check("-0", "-0");
    check("inf", "+Inf");
    check(
        "123456789012345678901234567890.123456789",
        "123456789012345678901234567890.123456789",
    );
    check("1e-30", "0.000000000000000000000000000001");
    for wrong in [
        "",
        "-",
        ".",
        "1e",
        "e1",
        "1_000",
        "0x10",
        " 1",
        "1 ",
        "infinity",
        "nan",
        "1e999999999",
        "1p999999999",
    ] {
        assert!(Number::parse(wrong).is_none(), "{wrong} is taken for a number");
    }
}

#[test]
fn operations_have_the_precision_of_big_float() {
    let (one, three) = (Number::from(1), Number::from(3));
    assert_eq!(one.divide(&three).unwrap().to_string(), "0.33333333333333333334");
    let precise = one.divide(&number("3")).unwrap();
    assert_eq!(precise.precision(), 512);
    assert_eq!(precise.to_string().len(), 157);
    let single = Number::from_f64(0.1).unwrap();
    assert_eq!(single.to_string(), "0.1");
    assert_eq!(single.add(&number("0.2")).unwrap().precision(), 512);
    assert_eq!(
        Number::from(i64::MAX)
            .multiply(&Number::from(i64::MAX))
            .unwrap()
            .precision(),
        126
    );
}

#[test]
fn zero_infinity_and_remainders() {
    let show = |result: Option<Number>| result.map(|number| number.to_string());
    let (zero, five, infinite) = (Number::from(0), Number::from(5), Number::infinity(false));
    assert_eq!(show(five.divide(&zero)).as_deref(), Some("+Inf"));
    assert_eq!(show(five.divide(&zero.negate())).as_deref(), Some("-Inf"));
    assert_eq!(show(zero.divide(&zero)), None);
    assert_eq!(show(infinite.subtract(&infinite)), None);
    assert_eq!(show(infinite.multiply(&zero)), None);
    assert_eq!(show(five.modulo(&zero)).as_deref(), Some("5"));
    assert_eq!(show(number("-7.5").modulo(&number("2"))).as_deref(), Some("-1.5"));
    assert_eq!(
        show(Number::from(-7).modulo(&Number::from(2))).as_deref(),
        Some("-1")
    );
}

#[test]
fn fractions_are_equal_by_text_and_ordered_by_value() {
    let (wide, narrow) = (number("0.1"), Number::from_f64(0.1).unwrap());
    assert_eq!(wide, narrow);
    assert_eq!(wide.compare(&narrow), Ordering::Less);
    assert_ne!(number("0.1"), number("0.10000000000000001"));
    assert_ne!(number("1e23"), Number::from_f64(1e23).unwrap());
    assert_eq!(number("-0"), Number::from(0));
}

#[test]
fn conversion_to_f64_rounds_once() {
    let check = |text: &str| {
        assert_eq!(
            number(text).to_f64().to_bits(),
            text.parse::<f64>().unwrap().to_bits(),
            "{text}"
        )
    };
    for text in [
        "0.1",
        "1e23",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "2.2250738585072011e-308",
        "9007199254740993",
        "-3.5",
        "1e-400",
        "1e400",
    ] {
        check(text);
    }
    assert_eq!(number("0.5").to_f64_exact(), Some(0.5));
    assert_eq!(number("0.1").to_f64_exact(), None);
}

#[test]
fn whole_parts() {
    let check = |text: &str, floor: &str, ceil: &str, trunc: &str| {
        let n = number(text);
        assert_eq!(
            [n.floor(), n.ceil(), n.trunc()].map(|n| n.to_string()),
            [floor, ceil, trunc]
        );
    };
    check("1.5", "1", "2", "1");
    check("-1.5", "-2", "-1", "-1");
    check("-0.5", "-1", "0", "0");
    check("3", "3", "3", "3");
}

#[test]
fn general_form_is_that_of_go() {
    let check = |text: &str, shown: &str| assert_eq!(number(text).to_general(10), shown);
    check("12345678901", "1.23456789e+10");
    check("10000000000", "1e+10");
    check("1000", "1000");
    check("0.00001", "1e-05");
    check("0.0001", "0.0001");
    check("1.23456789012345", "1.23456789");
    check("-0", "-0");
}

#[test]
fn decimal_digits() {
    let check = |text: &str, digits: Digits, want: (&str, i64)| {
        let got = Number::parse(text).unwrap().decimal(digits).unwrap();
        assert_eq!((got.0.as_str(), got.1), want, "{text} {digits:?}");
    };
    check("1234.5", Digits::Shortest, ("12345", 4));
    check("-0.00123", Digits::Shortest, ("123", -2));
    check("1234.5", Digits::Significant(2), ("12", 4));
    check("2.5", Digits::Places(0), ("2", 1));
    check("9.96", Digits::Places(1), ("1", 2));
    check("0.6", Digits::Places(0), ("1", 1));
    check("0.5", Digits::Places(0), ("", 0));
    check("0.004", Digits::Places(1), ("", 0));
    check("0", Digits::Shortest, ("", 0));
    assert_eq!(Number::infinity(true).decimal(Digits::Shortest), None);
}

#[test]
fn numbers_of_very_many_digits_are_written() {
    let written = |text: &str| Number::parse(text).unwrap().to_string();
    assert_eq!(written("1e74500"), format!("1{}", "0".repeat(74_500)));
    assert_eq!(written("1e-70000"), format!("0.{}1", "0".repeat(69_999)));
}
