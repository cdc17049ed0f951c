use super::*;

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// `providers` and `others`: which of the candidates each question lets through.
fn check(constraints: &str, candidates: &str, providers: &str, others: &str) {
    let parsed: Constraints = constraints.parse().unwrap();
    let allowed = |question: &dyn Fn(&Version) -> bool| {
        candidates
            .split_whitespace()
            .filter(|candidate| question(&version(candidate)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        allowed(&|v| parsed.allow_provider(v)),
        providers,
        "providers: {constraints}"
    );
    assert_eq!(allowed(&|v| parsed.allow(v)), others, "others: {constraints}");
}

#[test]
fn operators() {
    let all = "0.9.0 1.0.0 1.2.0 1.2.3 1.3.0 2.0.0";
    check("1.2.3", all, "1.2.3", "1.2.3");
    check("= 1.2", all, "1.2.0", "1.2.0");
    check(
        "!= 1.2.3",
        all,
        "0.9.0 1.0.0 1.2.0 1.3.0 2.0.0",
        "0.9.0 1.0.0 1.2.0 1.3.0 2.0.0",
    );
    check("> 1.2.3", all, "1.3.0 2.0.0", "1.3.0 2.0.0");
    check(">=1.2.3, <2", all, "1.2.3 1.3.0", "1.2.3 1.3.0");
    check("<= 1.0.0", all, "0.9.0 1.0.0", "0.9.0 1.0.0");
    check("~> 1.2", all, "1.2.0 1.2.3 1.3.0", "1.2.0 1.2.3 1.3.0");
    check("~> 1.2.0", all, "1.2.0 1.2.3", "1.2.0 1.2.3");
    // The two libraries part ways here.
    check(
        "~> 1",
        all,
        "1.0.0 1.2.0 1.2.3 1.3.0",
        "1.0.0 1.2.0 1.2.3 1.3.0 2.0.0",
    );
}

#[test]
fn prereleases() {
    let all = "1.0.0-beta1 1.0.0-beta2 1.0.0 1.1.0-rc.1 1.1.0";
    check(">= 0.1", all, "1.0.0 1.1.0", "1.0.0 1.1.0");
    check("1.0.0-beta1", all, "1.0.0-beta1", "1.0.0-beta1");
    check(
        ">= 1.0.0-beta1",
        all,
        "1.0.0 1.1.0",
        "1.0.0-beta1 1.0.0-beta2 1.0.0 1.1.0",
    );
    check("~> 1.0.0-beta1", all, "1.0.0", "1.0.0-beta1 1.0.0-beta2");
    check("= 1.0.0-beta1, >= 0.1", all, "1.0.0-beta1", "");
}

#[test]
fn order() {
    let texts = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
        "1.0.1",
        "1.10.0",
    ];
    let mut sorted: Vec<Version> = texts.iter().rev().map(|text| version(text)).collect();
    sorted.sort();
    assert_eq!(sorted.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
}

#[test]
fn written_forms() {
    for (text, shown) in [
        ("v1.2", "1.2.0"),
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3beta", "1.2.3-beta"),
        ("1.2.3+x.1", "1.2.3+x.1"),
    ] {
        assert_eq!(version(text).to_string(), shown);
    }
    let shown = |text: &str| text.parse::<Constraints>().unwrap().to_string();
    assert_eq!(shown(">=1.2,<  2, =3"), ">= 1.2, < 2, 3");
    for bad in [
        "",
        "x",
        "1.",
        "1..2",
        "1.2.3-",
        "1.2.3-a..b",
        "99999999999999999999",
        "-1",
    ] {
        assert!(bad.parse::<Version>().is_err(), "{bad}");
    }
    for bad in ["", ">= 1,", "=> 1", "~ 1", ">= 1 < 2"] {
        assert!(bad.parse::<Constraints>().is_err(), "{bad}");
    }
}
