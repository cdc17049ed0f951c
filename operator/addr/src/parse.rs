//! The one grammar of all addresses.

use std::{fmt, sync::Arc};

use crate::{InstanceKey, Mode, Module, ModuleInstance, Provider, ProviderConfig, Resource};

/// A text that is no address of the kind wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The text.
    pub text: String,
    /// The byte at which reading failed.
    pub at: usize,
    /// What was wanted there.
    pub wanted: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, at: usize, wanted: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            at,
            wanted,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a valid address (at byte {}): {}",
            self.text, self.at, self.wanted
        )
    }
}

impl std::error::Error for ParseError {}

/// Reads an address from left to right.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, wanted: &'static str) -> Result<T, ParseError> {
        Err(ParseError::new(self.text, self.at, wanted))
    }

    /// The result, if the text is used up.
    pub(crate) fn finish<T>(&self, result: T) -> Result<T, ParseError> {
        if self.rest().is_empty() {
            Ok(result)
        } else {
            self.fail("nothing should follow here")
        }
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn name(&mut self) -> Result<Arc<str>, ParseError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
            .unwrap_or(rest.len());
        match rest[..end].chars().next() {
            Some(first) if first.is_alphabetic() || first == '_' => {
                self.at += end;
                Ok(rest[..end].into())
            }
            _ => self.fail("a name should stand here"),
        }
    }

    fn dot(&mut self) -> Result<(), ParseError> {
        if self.eat(".") {
            Ok(())
        } else {
            self.fail("a dot should stand here")
        }
    }

    pub(crate) fn key(&mut self) -> Result<InstanceKey, ParseError> {
        if !self.eat("[") {
            return Ok(InstanceKey::None);
        }
        let key = if self.eat("\"") {
            InstanceKey::String(self.quoted()?.into())
        } else {
            InstanceKey::Int(self.int()?)
        };
        if self.eat("]") {
            Ok(key)
        } else {
            self.fail("the closing bracket is missing")
        }
    }

    fn int(&mut self) -> Result<i64, ParseError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(rest.len());
        match rest[..end].parse() {
            Ok(value) => {
                self.at += end;
                Ok(value)
            }
            Err(_) => self.fail("an instance key is a whole number or a quoted string"),
        }
    }

    fn quoted(&mut self) -> Result<String, ParseError> {
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return self.fail("the closing quote is missing");
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                '$' | '%' if self.rest().starts_with(c) && self.rest()[1..].starts_with('{') => {
                    self.at += 1;
                    out.push(c);
                }
                '$' | '%' if self.rest().starts_with('{') => {
                    return self.fail("an instance key is plain text");
                }
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let Some(c) = self.rest().chars().next() else {
            return self.fail("the closing quote is missing");
        };
        let length = match c {
            'n' | 'r' | 't' | '"' | '\\' => 0,
            'u' => 4,
            'U' => 8,
            _ => return self.fail("this escape is not known"),
        };
        self.at += c.len_utf8();
        if length == 0 {
            return Ok(match c {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
        }
        let digits = self.rest().get(..length);
        match digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32)
        {
            Some(c) => {
                self.at += length;
                Ok(c)
            }
            None => self.fail("this escape names no character"),
        }
    }

    /// All of a module instance.
    pub(crate) fn module_instance(&mut self) -> Result<ModuleInstance, ParseError> {
        let mut steps = Vec::new();
        while !self.rest().is_empty() {
            if !steps.is_empty() {
                self.dot()?;
            }
            if !self.eat("module.") {
                return self.fail("a module step should stand here");
            }
            steps.push((self.name()?, self.key()?));
        }
        Ok(ModuleInstance(steps.into()))
    }

    /// The module steps that something else follows.
    pub(crate) fn module_instance_prefix(&mut self) -> Result<ModuleInstance, ParseError> {
        let mut steps = Vec::new();
        while self.eat("module.") {
            steps.push((self.name()?, self.key()?));
            self.dot()?;
        }
        Ok(ModuleInstance(steps.into()))
    }

    pub(crate) fn resource(&mut self) -> Result<Resource, ParseError> {
        let mode = if self.eat("data.") {
            Mode::Data
        } else if self.eat("ephemeral.") {
            Mode::Ephemeral
        } else {
            self.eat("resource.");
            Mode::Managed
        };
        let kind = self.name()?;
        self.dot()?;
        Ok(Resource {
            mode,
            kind,
            name: self.name()?,
        })
    }

    /// The type and the name of an action.
    pub(crate) fn action(&mut self) -> Result<(Arc<str>, Arc<str>), ParseError> {
        if !self.eat("action.") {
            return self.fail("an action starts with `action.`");
        }
        let kind = self.name()?;
        self.dot()?;
        Ok((kind, self.name()?))
    }

    pub(crate) fn provider_config(&mut self, module: Module) -> Result<ProviderConfig, ParseError> {
        if !self.eat("provider[\"") {
            return self.fail("provider[\"…\"] should stand here");
        }
        let at = self.at;
        let provider: Provider = self
            .quoted()?
            .parse()
            .map_err(|_| ParseError::new(self.text, at, "a provider source should stand here"))?;
        if !self.eat("]") {
            return self.fail("the closing bracket is missing");
        }
        let alias = if self.eat(".") { Some(self.name()?) } else { None };
        // Only what has an alias can be repeated.
        let key = match alias {
            Some(_) => self.key()?,
            None => InstanceKey::None,
        };
        Ok(ProviderConfig {
            module,
            provider,
            alias,
            key,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        ActionInstance, ConfigAction, ConfigResource, DeposedKey, ModuleInstance, Provider, ProviderConfig,
        ResourceInstance,
    };

    fn check<T>(texts: &[&str])
    where
        T: std::str::FromStr<Err = super::ParseError> + std::fmt::Display,
    {
        for text in texts {
            assert_eq!(text.parse::<T>().unwrap().to_string(), *text);
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        check::<ResourceInstance>(&[
            "a_b.c",
            "data.a.b[0]",
            "module.x[\"a\\\"b\"].module.y.ephemeral.t.n[\"$${x} $ %%{ \\n\\\\\"]",
            "a.b[\"\u{e4}\"]",
        ]);
        check::<ModuleInstance>(&["", "module.a", "module.a[1].module.b[\"k\"]"]);
        check::<ProviderConfig>(&[
            "provider[\"h.example/n/t\"]",
            "module.a.module.b.provider[\"h.example/n/t\"].west",
            "provider[\"h.example/n/t\"].by[\"eu \\\"1\\\"\"]",
        ]);
        check::<ConfigResource>(&["module.a.data.t.n"]);
        check::<DeposedKey>(&["00ff12ab"]);
        check::<ActionInstance>(&["action.a_b.c", "module.x[0].action.a.b[\"k\"]"]);
        check::<ConfigAction>(&["module.x.action.a.b"]);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "a",
            "a.b.c",
            "a.b[",
            "a.b[x]",
            "a.b[\"x]",
            "module.a",
            "a.b[\"${x}\"]",
            "a.b[\"\\u12\u{e4}\"]",
        ] {
            assert!(text.parse::<ResourceInstance>().is_err(), "{text}");
        }
        for text in ["a.b", "action.a", "action.a.b.c", "module.x"] {
            assert!(text.parse::<ActionInstance>().is_err(), "{text}");
        }
        assert!("action.a.b[0]".parse::<ConfigAction>().is_err());
        assert!("a.b[0]".parse::<ConfigResource>().is_err());
        for text in [
            "provider[\"h/n/t\"][\"k\"]",
            "provider[\"h/n/t\"].a[]",
            "provider[\"h/n/t\"].a[\"k\"].b",
        ] {
            assert!(text.parse::<ProviderConfig>().is_err(), "{text}");
        }
        assert!("../x".parse::<Provider>().is_err());
        assert!("a/b/c/d".parse::<Provider>().is_err());
    }

    #[test]
    fn a_short_source_means_the_default_host() {
        let provider: Provider = "random".parse().unwrap();
        assert_eq!(provider.to_string(), "registry.terraform.io/hashicorp/random");
    }
}
