use super::*;

fn variables(name: &str) -> Option<String> {
    (name == "HOME").then(|| "/me".to_owned())
}

fn parse(name: &str, text: &str) -> Result<CliConfig, String> {
    CliConfig::parse(name, text, &variables).map_err(|error| error.to_string())
}

const HCL: &str = r#"
plugin_cache_dir   = "$HOME/.plugins"
disable_checkpoint = true # for Terraform alone

credentials "App.Test" {
  token = "t"
}
host "app.test" {
  services = {
    "providers.v1" = "https://r.test/p/"
  }
}
provider_installation {
  dev_overrides {
    "studio/kiln" = "${HOME}/kiln"
  }
  network_mirror {
    url     = "https://m.test/x"
    include = ["forge.test/*/*"]
  }
  filesystem_mirror {
    path = "/usr/share/terraform"
  }
  oci_mirror {
    repository_template = "r.test/${namespace}/${type}"
    include             = ["registry.terraform.io/*/*"]
  }
  direct {
    exclude = ["forge.test/*/*"]
  }
}
"#;

const JSON: &str = r#"{
  "plugin_cache_dir": "$HOME/.plugins",
  "credentials": {"app.test": {"token": "t"}},
  "host": [{"app.test": {"services": {"providers.v1": "https://r.test/p/"}}}],
  "provider_installation": [
    {"dev_overrides": {"studio/kiln": "${HOME}/kiln"}},
    {"network_mirror": {"url": "https://m.test/x", "include": ["forge.test/*/*"]}},
    {"filesystem_mirror": [{"path": "/usr/share/terraform"}]},
    {"oci_mirror": {"repository_template": "r.test/${namespace}/${type}", "include": ["registry.terraform.io/*/*"]}},
    {"direct": {"exclude": ["forge.test/*/*"]}}
  ]
}"#;

fn told(config: &CliConfig) -> String {
    let installation = config.installation.as_ref().unwrap();
    let mut out = String::new();
    for (provider, path) in &installation.overrides {
        out.push_str(&format!("{provider} is {}\n", path.display()));
    }
    for method in &installation.methods {
        let place = match &method.location {
            Location::Direct => "direct".to_owned(),
            Location::Filesystem(path) => path.display().to_string(),
            Location::Network(url) => url.clone(),
            Location::Oci(template) => template.to_string(),
        };
        let shown = |patterns: &[Pattern]| {
            patterns
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        out.push_str(&format!(
            "{place} +{} -{}\n",
            shown(&method.include),
            shown(&method.exclude)
        ));
    }
    out
}

#[test]
fn both_forms_say_the_same() {
    for (name, text) in [("x.tfrc", HCL), ("x.tfrc.json", JSON)] {
        let config = parse(name, text).unwrap();
        assert_eq!(config.plugin_cache.as_deref(), Some("/me/.plugins".as_ref()));
        assert_eq!(config.tokens, [("app.test".to_owned(), "t".to_owned())].into());
        assert_eq!(config.services["app.test"]["providers.v1"], "https://r.test/p/");
        assert!(!config.has_helper);
        assert_eq!(
            told(&config),
            "registry.terraform.io/studio/kiln is /me/kiln\n\
             https://m.test/x/ +forge.test/*/* -\n\
             /usr/share/terraform + -\n\
             r.test/${namespace}/${type} +registry.terraform.io/*/* -\n\
             direct + -forge.test/*/*\n",
            "{name}"
        );
        assert!(!format!("{config:?}").contains("\"t\""));
    }
}

#[test]
fn blocks_may_stand_in_one_line() {
    let text =
        "provider_installation { filesystem_mirror { path = \"/x\" } direct { exclude = [\"a.test/*/*\"] } }";
    let want = "/x + -\ndirect + -a.test/*/*\n";
    assert_eq!(told(&parse("x.tfrc", text).unwrap()), want);
    assert_eq!(
        told(&parse("x.tfrc", JSON).unwrap()),
        told(&parse("x.tfrc", HCL).unwrap())
    );
}

#[test]
fn the_chart_gives_a_list_or_a_text() {
    let parse = |text: &str| CliConfig::parse_value("providers.installation", text, &variables);
    let list = r#"[{"networkMirror": {"url": "https://m.test/"}}, {"direct": {}}]"#;
    let want = "https://m.test/ + -\ndirect + -\n";
    assert_eq!(told(&parse(list).unwrap()), want);
    let text = "provider_installation {\n network_mirror {\n  url = \"https://m.test/\"\n }\n direct {}\n}\n";
    assert_eq!(told(&parse(text).unwrap()), want);
    assert!(parse("[").is_err());
}

#[test]
fn what_is_wrong_is_told_without_tokens() {
    let check = |inner: &str, part: &str| {
        let error = parse("x.tfrc", &format!("provider_installation {{\n{inner}\n}}\n")).unwrap_err();
        assert!(error.contains(part), "{inner}: {error}");
    };
    check("registry {}", "Unknown provider installation method \"registry\"");
    check("filesystem_mirror {}", "\"path\" is required");
    check("network_mirror {\n url = \"http://m.test/\"\n}", "https:");
    check("network_mirror {\n url = \"https:///x\"\n}", "https:");
    check(
        "direct {\n include = [\"a\"]\n}",
        "invalid provider matching pattern \"a\"",
    );
    check("direct {\n include = [1]\n}", "invalid provider matching pattern");
    check("direct {\n path = \"x\"\n}", "no argument \"path\"");
    check(
        "direct {}\ndev_overrides {\n \"a/b\" = \"/x\"\n}",
        "must stand before",
    );
    check("dev_overrides {\n \"a/b\" = \"$NO/x\"\n}", "variable NO");
    check("dev_overrides {\n \"a/b/c/d\" = \"x\"\n}", "no source address");
    let twice = "provider_installation {}\nprovider_installation {}\n";
    assert!(parse("x", twice).unwrap_err().contains("No more than one"));
    let error = parse("x", "credentials \"a\" {\n token = \"s3cret\n}\n").unwrap_err();
    assert!(
        error.starts_with("x line 2: ") && !error.contains("s3cret"),
        "{error}"
    );
    let error = parse("x.json", "{\"token\": \"s3cret\"").unwrap_err();
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn the_first_of_several_files_wins() {
    let one = parse(
        "a",
        "plugin_cache_dir = \"/a\"\ncredentials \"h\" {\n token = \"1\"\n}\n",
    )
    .unwrap();
    let other = parse(
        "b",
        "plugin_cache_dir = \"/b\"\ncredentials \"h\" {\n token = \"2\"\n}\nprovider_installation {}\n",
    );
    let both = one.and(other.clone().unwrap()).unwrap();
    assert_eq!(both.plugin_cache.as_deref(), Some("/a".as_ref()));
    assert_eq!(both.tokens["h"], "1");
    assert!(both.clone().and(other.unwrap()).is_err());
}
