//! Terraform's CLI configuration: `provider_installation`, `plugin_cache_dir`, `credentials`, `host`.
//!
//! Source: Terraform `internal/command/cliconfig`; for `oci_mirror` OpenTofu. What else stands in such files is for Terraform
//! alone and passed over. Which files are read is the caller's to know; texts here hold tokens, so none is quoted.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use ashlar_addr::Provider;

use crate::{
    hcl1,
    method::{Installation, Location, Method, Pattern},
    node::Node,
    template::Template,
};

/// What a CLI configuration says.
#[derive(Clone, Default)]
pub struct CliConfig {
    /// How providers are installed; `None` where nothing is said of it.
    pub installation: Option<Installation>,
    /// Where unpacked packages are kept for all folders.
    pub plugin_cache: Option<PathBuf>,
    /// Tokens by host.
    pub tokens: BTreeMap<String, String>,
    /// Addresses of services by host.
    pub services: BTreeMap<String, BTreeMap<String, String>>,
    /// Is there a `credentials_helper`, which is not used here?
    pub has_helper: bool,
}

/// Without tokens.
impl fmt::Debug for CliConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CliConfig")
            .field("installation", &self.installation)
            .field("plugin_cache", &self.plugin_cache)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a CLI configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read at all.
    #[error("{0}")]
    Syntax(String),
    /// A block of it means nothing.
    #[error("{name}: {what}")]
    Block {
        /// The file.
        name: String,
        /// What and where.
        what: String,
    },
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl CliConfig {
    /// Reads a file: JSON if its name says so or if it begins like that, else HCL 1. `variables`: of the environment, which some paths may name.
    pub fn parse(name: &str, text: &str, variables: Variables<'_>) -> Result<Self, ConfigError> {
        let node = if name.ends_with(".json") || text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| format!("{name} line {}: it is no JSON", error.line()))
        } else {
            hcl1::parse(text).map_err(|hcl1::Fault { line, what }| format!("{name} line {line}: {what}"))
        };
        let node = node.map_err(ConfigError::Syntax)?;
        read(&node, variables).map_err(|what| ConfigError::Block {
            name: name.to_owned(),
            what,
        })
    }

    /// Reads a value of `providers.installation` in the chart: the text of a file, or in JSON a list of methods.
    pub fn parse_value(name: &str, text: &str, variables: Variables<'_>) -> Result<Self, ConfigError> {
        if !text.trim_start().starts_with(['[', '{']) {
            return Self::parse(name, text, variables);
        }
        let methods: Node = serde_json::from_str(text)
            .map_err(|error| ConfigError::Syntax(format!("{name} line {}: it is no JSON", error.line())))?;
        let node = Node::Object(vec![("provider_installation".to_owned(), methods)]);
        read(&node, variables).map_err(|what| ConfigError::Block {
            name: name.to_owned(),
            what,
        })
    }

    /// What both say, of which this one wins.
    pub fn and(mut self, other: Self) -> Result<Self, ConfigError> {
        if self.installation.is_some() && other.installation.is_some() {
            return Err(ConfigError::Syntax(
                "No more than one provider_installation block may be specified".to_owned(),
            ));
        }
        self.installation = self.installation.or(other.installation);
        self.plugin_cache = self.plugin_cache.or(other.plugin_cache);
        for (host, token) in other.tokens {
            self.tokens.entry(host).or_insert(token);
        }
        for (host, services) in other.services {
            self.services.entry(host).or_insert(services);
        }
        self.has_helper |= other.has_helper;
        Ok(self)
    }
}

fn read(node: &Node, variables: Variables<'_>) -> Result<CliConfig, String> {
    let mut config = CliConfig {
        has_helper: node.all("credentials_helper").next().is_some(),
        ..CliConfig::default()
    };
    let path = node.all("plugin_cache_dir").last().and_then(Node::as_text);
    config.plugin_cache = path
        .filter(|path| !path.is_empty())
        .map(|path| expand(path, variables).0.into());
    for (host, own) in node.all("credentials").flat_map(Node::entries) {
        let token = own.all("token").last().and_then(Node::as_text);
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            config.tokens.insert(host.to_lowercase(), token.to_owned());
        }
    }
    for (host, own) in node.all("host").flat_map(Node::entries) {
        let services = own.all("services").flat_map(Node::entries);
        let services =
            services.filter_map(|(id, address)| Some((id.to_owned(), address.as_text()?.to_owned())));
        config.services.insert(host.to_lowercase(), services.collect());
    }
    let mut blocks = node
        .entries()
        .filter(|(name, _)| *name == "provider_installation")
        .map(|(_, node)| node);
    if let Some(block) = blocks.next() {
        config.installation = Some(installation(block, variables)?);
        if blocks.next().is_some() {
            return Err("No more than one provider_installation block may be specified".to_owned());
        }
    }
    Ok(config)
}

fn installation(block: &Node, variables: Variables<'_>) -> Result<Installation, String> {
    let mut found = Installation::default();
    for (kind, own) in block.entries() {
        // As YAML writes it in the chart's values.
        let kind = match kind {
            "filesystemMirror" => "filesystem_mirror",
            "networkMirror" => "network_mirror",
            "ociMirror" => "oci_mirror",
            "devOverrides" => "dev_overrides",
            kind => kind,
        };
        if kind == "dev_overrides" {
            if !found.methods.is_empty() {
                return Err(
                    "provider_installation: dev_overrides must stand before all methods, because it goes before them"
                        .to_owned(),
                );
            }
            overrides(own, variables, &mut found)?;
            continue;
        }
        for own in own.flat() {
            found.methods.push(method(kind, own)?);
        }
    }
    Ok(found)
}

fn overrides(block: &Node, variables: Variables<'_>, found: &mut Installation) -> Result<(), String> {
    for (source, path) in block.entries() {
        let provider: Provider = source.parse().map_err(|_| {
            format!("provider_installation.dev_overrides: {source:?} is no source address of a provider")
        })?;
        let path = path.as_text().ok_or_else(|| {
            format!("provider_installation.dev_overrides: the path for {source} is no text")
        })?;
        let (path, unset) = expand(path, variables);
        if let Some(name) = unset {
            return Err(format!(
                "provider_installation.dev_overrides: the environment variable {name}, which the path for {source} names, is not set"
            ));
        }
        found.overrides.insert(provider, path.into());
    }
    Ok(())
}

fn method(kind: &str, own: &Node) -> Result<Method, String> {
    let place = format!("provider_installation.{kind}");
    let wanted: &[&str] = match kind {
        "direct" => &[],
        "filesystem_mirror" => &["path"],
        "network_mirror" => &["url"],
        "oci_mirror" => &["repository_template", "repositoryTemplate"],
        _ => {
            return Err(format!(
                "Unknown provider installation method {kind:?}; there are direct, filesystem_mirror, network_mirror, oci_mirror and \
                 dev_overrides"
            ));
        }
    };
    let known = |name: &str| wanted.contains(&name) || matches!(name, "include" | "exclude");
    if let Some((odd, _)) = own.entries().find(|(name, _)| !known(name)) {
        return Err(format!("{place}: there is no argument {odd:?}"));
    }
    let patterns = |name: &str| -> Result<Vec<Pattern>, String> {
        own.all(name)
            .map(|pattern| {
                let text = pattern
                    .as_text()
                    .ok_or_else(|| format!("{place}: {name} is no list of texts"))?;
                text.parse().map_err(|error| format!("{place}: {error}"))
            })
            .collect()
    };
    let (include, exclude) = (patterns("include")?, patterns("exclude")?);
    let argument = wanted
        .iter()
        .find_map(|name| own.all(name).last()?.as_text())
        .filter(|text| !text.is_empty());
    let needed = || {
        let name = wanted.first().copied().unwrap_or_default();
        argument.ok_or_else(|| format!("{place}: the argument {name:?} is required"))
    };
    let location = match kind {
        "filesystem_mirror" => Location::Filesystem(needed()?.into()),
        "network_mirror" => Location::Network(mirror(needed()?)?),
        "oci_mirror" => {
            Location::Oci(Template::parse(needed()?, &include).map_err(|error| format!("{place}: {error}"))?)
        }
        _ => Location::Direct,
    };
    Ok(Method {
        location,
        include,
        exclude,
    })
}

fn mirror(url: &str) -> Result<String, String> {
    let host = url.strip_prefix("https://").unwrap_or_default();
    if host.is_empty() || host.starts_with('/') {
        return Err(format!(
            "provider_installation.network_mirror: {:?} cannot be used as a mirror, which must be at an https: URL",
            ashlar_sources::redacted(url)
        ));
    }
    Ok(if url.ends_with('/') {
        url.to_owned()
    } else {
        format!("{url}/")
    })
}

/// A text with `$NAME` and `${NAME}` replaced; and the first name that has no value.
fn expand(text: &str, variables: Variables<'_>) -> (String, Option<String>) {
    let (mut out, mut unset) = (String::new(), None);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, next) = match after.strip_prefix('{').and_then(|after| after.split_once('}')) {
            Some(found) => found,
            None => after.split_at(after.find(|c| !plain(c)).unwrap_or(after.len())),
        };
        rest = next;
        match variables(name) {
            Some(value) => out.push_str(&value),
            None => unset = unset.or_else(|| Some(name.to_owned())),
        }
    }
    out.push_str(rest);
    (out, unset)
}

#[cfg(test)]
mod tests;
