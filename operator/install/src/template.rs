//! `repository_template`: which repository of an OCI registry has a provider.
//!
//! Source: OpenTofu `internal/command/cliconfig/provider_installation.go`. A template may name `hostname`, `namespace` and `type`
//! and nothing else, and must name each of them that the patterns leave open, so that no two providers share a repository.

use std::{fmt, sync::Arc};

use ashlar_addr::Provider;
use ashlar_diag::Sources;
use ashlar_eval::{MapScope, evaluate_with, traversals};
use ashlar_syntax::parse_template;
use ashlar_value::Value;

use crate::method::Pattern;

/// A template that was found to be sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

const NAMES: [&str; 3] = ["hostname", "namespace", "type"];

impl Template {
    /// Reads a template for the providers that are included.
    pub fn parse(text: &str, include: &[Pattern]) -> Result<Self, String> {
        let mut sources = Sources::new();
        let file = sources.add("repository_template", text);
        let (expr, diags) = parse_template(&sources, file);
        if let Some(diag) = diags.iter().next() {
            return Err(format!("the repository template {text:?} cannot be read: {diag}"));
        }
        let mut named = [false; 3];
        for traversal in traversals(&expr) {
            let root = &*traversal.root.name;
            let at = NAMES.iter().position(|name| **name == *root).ok_or_else(|| {
                format!("the repository template names {root:?}; there are only hostname, namespace and type")
            })?;
            if let Some(named) = named.get_mut(at) {
                *named = true;
            }
        }
        for (at, name) in NAMES.iter().enumerate() {
            let mut chosen: Vec<&str> = include
                .iter()
                .filter_map(|pattern| pattern.parts().get(at).copied().flatten())
                .collect();
            chosen.sort_unstable();
            chosen.dedup();
            if chosen.len() != 1 && named.get(at) != Some(&true) {
                return Err(format!(
                    "the repository template must name {name}, because \"include\" does not leave exactly one of it"
                ));
            }
        }
        let template = Self(text.to_owned());
        let example = Provider {
            host: "example.com".into(),
            namespace: "example-namespace".into(),
            name: "example-type".into(),
        };
        let address = template.repository(&example)?;
        if !address.contains('/') {
            return Err(format!(
                "the repository template {text:?} makes no address: a registry's host, a slash and a repository's name"
            ));
        }
        Ok(template)
    }

    /// `HOST[:PORT]/NAME` for a provider.
    pub fn repository(&self, provider: &Provider) -> Result<String, String> {
        let mut sources = Sources::new();
        let file = sources.add("repository_template", &*self.0);
        let (expr, _) = parse_template(&sources, file);
        let values = [&provider.host, &provider.namespace, &provider.name];
        let values: Vec<(Arc<str>, Value)> = NAMES
            .iter()
            .zip(values)
            .map(|(name, value)| ((*name).into(), Value::string(value)))
            .collect();
        let (value, diags) = evaluate_with(&expr, &MapScope::new::<&str>([]), &values);
        if let Some(diag) = diags.iter().find(|diag| diag.is_error()) {
            return Err(format!(
                "the repository template {:?} has no value: {diag}",
                self.0
            ));
        }
        let text = value.as_str().map(ToString::to_string);
        text.ok_or_else(|| format!("the repository template {:?} makes no text", self.0))
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, include: &[&str], want: Result<&str, &str>) {
        let include: Vec<Pattern> = include.iter().map(|text| text.parse().unwrap()).collect();
        let kiln: Provider = "forge.test/studio/kiln".parse().unwrap();
        let got = Template::parse(text, &include).and_then(|template| template.repository(&kiln));
        match want {
            Ok(want) => assert_eq!(got.as_deref(), Ok(want), "{text}"),
            Err(part) => {
                let error = got.unwrap_err();
                assert!(error.contains(part), "{text}: {error}");
            }
        }
    }

    #[test]
    fn templates_make_repositories() {
        check(
            "r.test/${hostname}/${namespace}/${type}",
            &[],
            Ok("r.test/forge.test/studio/kiln"),
        );
        check("r.test/p/${type}", &["forge.test/studio/*"], Ok("r.test/p/kiln"));
        check(
            "r.test/p/${type}",
            &["forge.test/studio/*", "forge.test/other/*"],
            Err("must name namespace"),
        );
        check("r.test/x", &["forge.test/studio/kiln"], Ok("r.test/x"));
        check("r.test/${type}", &[], Err("must name hostname"));
        check("r.test/${host}", &[], Err("names \"host\""));
        check("r.test/${", &[], Err("cannot be read"));
        check("x", &["forge.test/studio/kiln"], Err("makes no address"));
    }
}
