use super::*;

/// Reads and writes again; must give the same bytes.
fn check(file: &str) -> State {
    let state = read(file.as_bytes()).unwrap();
    let version = file
        .split("terraform_version\": \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    assert_eq!(
        String::from_utf8(write(&state, version.unwrap()).unwrap()).unwrap(),
        file
    );
    state
}

fn refuse(file: &str, summary: &str, word: &str) {
    let diags = read(file.as_bytes()).unwrap_err();
    let found = diags
        .iter()
        .any(|diag| diag.summary == summary && diag.detail.contains(word));
    assert!(found, "{diags}");
}

/// A file whose only resource has these instances.
fn with_instances(instances: &str) -> String {
    format!(
        "{{\"version\":4,\"serial\":1,\"lineage\":\"l\",\"outputs\":{{}},\"resources\":[{{\"mode\":\"managed\",\
         \"type\":\"t\",\"name\":\"n\",\"provider\":\"provider[\\\"h.example/n/t\\\"]\",\"instances\":[{instances}]}}]}}"
    )
}

#[test]
fn what_terraform_wrote_comes_back_byte_for_byte() {
    check(include_str!("sample-backend.json"));
    let state = check(include_str!("sample-every-field.json"));
    assert_eq!(state.resources.len(), 6);
    assert_eq!(state.objects().count(), 8);
    let shown: Vec<String> = state
        .objects()
        .map(|(address, deposed, _)| {
            format!(
                "{address}{}",
                deposed.map(|key| format!(" {key}")).unwrap_or_default()
            )
        })
        .collect();
    assert!(
        shown.contains(&"t.each[\"0\"]".to_owned()) && shown.contains(&"t.each[0]".to_owned()),
        "{shown:?}"
    );
}

#[test]
fn which_of_a_repeated_provider_configuration_an_instance_has_is_kept_with_it() {
    let of = |provider: &str| {
        format!(
            "{{\"version\":4,\"serial\":1,\"lineage\":\"l\",\"outputs\":{{}},\"resources\":[{{\"mode\":\"managed\",\"type\":\"t\",\
             \"name\":\"n\",\"instances\":[{{\"index_key\":0,\"provider\":\"provider[\\\"h.example/n/t\\\"].by[\\\"eu\\\"]\",\
             \"schema_version\":0,\"attributes\":{{}}}},{{\"index_key\":1,\"provider\":\"{provider}\",\"schema_version\":0,\
             \"attributes\":{{}}}}]}}]}}"
        )
    };
    let state = read(of("provider[\\\"h.example/n/t\\\"].by[\\\"us\\\"]").as_bytes()).unwrap();
    let again = read(&write(&state, "1.12.6").unwrap()).unwrap();
    assert_eq!(again, state);
    let held = state.resources.values().next().unwrap();
    assert_eq!(held.provider.to_string(), "provider[\"h.example/n/t\"].by");
    let providers: Vec<String> = held
        .instances
        .keys()
        .map(|key| held.provider_of(key).to_string())
        .collect();
    let wanted = ["eu", "us"].map(|key| format!("provider[\"h.example/n/t\"].by[{key:?}]"));
    assert_eq!(providers, wanted);
    let text = String::from_utf8(write(&state, "1.12.6").unwrap()).unwrap();
    assert_eq!(text.matches("\"provider\"").count(), 2, "{text}");

    // One without a key is a configuration like any other; another block's is none of theirs.
    let mixed = read(of("provider[\\\"h.example/n/t\\\"].by").as_bytes()).unwrap();
    assert_eq!(read(&write(&mixed, "1.12.6").unwrap()).unwrap(), mixed);
    let other = of("provider[\\\"h.example/n/t\\\"].other[\\\"us\\\"]");
    refuse(
        &other,
        "Provider instance field conflict in state",
        "differ in its key",
    );
}

#[test]
fn a_file_that_is_no_version_4_is_refused() {
    for text in [
        "",
        "{",
        "[]",
        "tfstate",
        "\u{0}\u{1}",
        "{\"version\":\"4\"}",
        "{}",
        "{\"version\":0}",
        "{\"version\":-4}",
    ] {
        refuse(text, UNSUPPORTED, "");
    }
    refuse(
        "{\"version\":3,\"terraform_version\":\"0.11.14\"}",
        UNSUPPORTED,
        "0.11.14",
    );
    refuse(
        "{\"version\":5,\"terraform_version\":\"9.0.0\"}",
        UNSUPPORTED,
        "9.0.0",
    );
    refuse(
        &format!(
            "{{\"version\":4,\"x\":{}1{}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        ),
        INVALID,
        "lineage",
    );
}

#[test]
fn what_is_damaged_inside_is_refused() {
    refuse("{\"version\":4,\"serial\":1}", INVALID, "lineage");
    refuse(
        "{\"version\":4,\"serial\":-1,\"lineage\":\"l\"}",
        INVALID,
        "structure",
    );
    let twice = "Duplicate resource instance in state";
    refuse(
        &with_instances("{\"attributes\":{}},{\"attributes\":{}}"),
        twice,
        "t.n",
    );
    refuse(
        &with_instances(
            "{\"deposed\":\"00000001\",\"attributes\":{}},{\"deposed\":\"00000001\",\"attributes\":{}}",
        ),
        twice,
        "00000001",
    );
    refuse(
        &with_instances("{\"index_key\":1.5}"),
        "Invalid resource instance metadata in state",
        "key",
    );
    refuse(
        &with_instances("{\"status\":\"odd\"}"),
        "Invalid resource instance metadata in state",
        "odd",
    );
    refuse(
        &with_instances("{\"private\":\"*\"}"),
        "Invalid resource instance metadata in state",
        "base64",
    );
    refuse(
        &with_instances("{\"attributes_flat\":{}}"),
        "Invalid resource instance metadata in state",
        "0.11",
    );
    refuse(
        &with_instances("{\"dependencies\":[\"x\"]}"),
        "Invalid resource instance metadata in state",
        "depends",
    );
    refuse(
        &with_instances("{\"sensitive_attributes\":[[{\"type\":\"x\",\"value\":1}]]}"),
        "Unsupported path step",
        "",
    );
    let deep = format!("{{\"attributes\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    refuse(
        &with_instances(&deep),
        "Invalid resource instance metadata in state",
        "deep",
    );
}

#[test]
fn a_state_that_was_never_saved_comes_back() {
    let bytes = write(&State::default(), "1.15.5").unwrap();
    assert_eq!(read(&bytes).unwrap(), State::default());
}

#[test]
fn an_instance_key_may_be_written_as_a_float() {
    let state = read(with_instances("{\"index_key\":1.0}").as_bytes()).unwrap();
    assert_eq!(state.objects().next().unwrap().0.to_string(), "t.n[1]");
}

#[test]
fn content_is_compared_as_it_would_be_written() {
    let one = read(with_instances("{\"attributes\":{\"a\":1}}").as_bytes()).unwrap();
    let mut other = read(with_instances("{\"attributes\":{ \"a\" : 1 }}").as_bytes()).unwrap();
    other.serial = 7;
    assert!(same_content(&one, &other));
    let other = read(with_instances("{\"attributes\":{\"a\":1.0}}").as_bytes()).unwrap();
    assert!(!same_content(&one, &other));
}

#[test]
fn modules_are_sorted_by_their_printed_address() {
    let resource = |module: &str| {
        format!(
            "{{\"module\":{module:?},\"mode\":\"managed\",\"type\":\"t\",\"name\":\"n\",\
             \"provider\":\"provider[\\\"h.example/n/t\\\"]\",\"instances\":[{{\"attributes\":{{}}}}]}}"
        )
    };
    let file = format!(
        "{{\"version\":4,\"lineage\":\"l\",\"resources\":[{},{},{}]}}",
        resource("module.a[2]"),
        resource("module.a[10]"),
        resource("module.a.module.b")
    );
    let written = String::from_utf8(write(&read(file.as_bytes()).unwrap(), "1.15.5").unwrap()).unwrap();
    let order: Vec<&str> = written
        .lines()
        .filter(|line| line.contains("\"module\""))
        .map(str::trim)
        .collect();
    assert_eq!(
        order,
        [
            "\"module\": \"module.a.module.b\",",
            "\"module\": \"module.a[10]\",",
            "\"module\": \"module.a[2]\","
        ]
    );
}
