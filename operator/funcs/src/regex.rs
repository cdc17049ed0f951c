//! Patterns: `regex`, `regexall`, and the pattern half of `replace`.
//!
//! Users write RE2 as Go has it. [`translate`] reads that and writes the dialect of the `regex` crate, which finds the same
//! matches (leftmost-first) in linear time. Nothing outside this module may compile a pattern.

mod translate;

use std::{cell::RefCell, rc::Rc};

use ashlar_value::{Type, Value};

use crate::{
    Args, Builtin, Code, FuncError, Rule,
    protocol::{CELL, PURE, text},
};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "regex",
        doc: "Finds the first match of a pattern: the matched text, or the captures as a tuple or object.",
        params: &[text("pattern"), text("string")],
        result: Rule::By(|args| result_type(args).map(|ty| ty.unwrap_or(Type::Dynamic))),
        examples: &[
            r#"regex("[a-z]+", "53453453.345345aaabbbccc23454") == "aaabbbccc""#,
            r#"regex("(\\d+)-(\\d+)", "x 12-34") == ["12", "34"]"#,
            r#"regex("^(?P<scheme>[^:]+):", "https://a").scheme == "https""#,
        ],
        code: Code::Run(regex),
        ..PURE
    },
    Builtin {
        name: "regexall",
        doc: "Finds all matches of a pattern, as a list; an empty list if there is none.",
        params: &[text("pattern"), text("string")],
        result: Rule::By(|args| result_type(args).map(|ty| Type::list(ty.unwrap_or(Type::Dynamic)))),
        examples: &[
            r#"regexall("[a-z]+", "1234abcd5678efgh9") == tolist(["abcd", "efgh"])"#,
            r#"length(regexall("[a-z]+", "123456789")) == 0"#,
        ],
        code: Code::Run(regexall),
        ..PURE
    },
];

/// Memory a compiled pattern may take, in bytes; Go's own limit lies in the same range.
const SIZE_LIMIT: usize = 32 << 20;

/// Compiled patterns kept per thread: an expression in a `for` meets the same few again and again.
const CACHED: usize = 16;

/// A compiled pattern.
pub(crate) struct Pattern {
    regex: ::regex::Regex,
    /// The names of the capture groups, in order.
    groups: Vec<Option<String>>,
}

thread_local! {
    static CACHE: RefCell<Vec<(String, Rc<Pattern>)>> = const { RefCell::new(Vec::new()) };
}

/// Compiles a pattern; the error is a clause for people.
pub(crate) fn compile(source: &str) -> Result<Rc<Pattern>, String> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(known, _)| known == source) {
            let entry = cache.remove(at);
            let pattern = entry.1.clone();
            cache.push(entry);
            return Ok(pattern);
        }
        let translate::Translated { pattern, groups } = translate::translate(source)?;
        let regex = ::regex::RegexBuilder::new(&pattern)
            .size_limit(SIZE_LIMIT)
            .nest_limit(1000)
            .build()
            .map_err(|error| match error {
                ::regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                _ => "its syntax is not supported".to_owned(),
            })?;
        let pattern = Rc::new(Pattern { regex, groups });
        if cache.len() >= CACHED {
            cache.remove(0);
        }
        cache.push((source.to_owned(), pattern.clone()));
        Ok(pattern)
    })
}

/// The type of one match, or `None` while the pattern is unknown.
fn result_type(args: &Args<'_>) -> Result<Option<Type>, FuncError> {
    let Some(source) = args.get(0).as_str() else {
        return Ok(None);
    };
    let pattern = compile_argument(args, source)?;
    let mut names = pattern.groups.iter().flatten();
    Ok(Some(if pattern.groups.is_empty() {
        Type::String
    } else if let Some(first) = names.next() {
        Type::object(
            std::iter::once(first)
                .chain(names)
                .map(|name| (name.as_str(), Type::String)),
        )
    } else {
        Type::tuple(pattern.groups.iter().map(|_| Type::String))
    }))
}

fn compile_argument(args: &Args<'_>, source: &str) -> Result<Rc<Pattern>, FuncError> {
    let pattern = compile(source).map_err(|why| {
        FuncError::argument(0, format!("the pattern cannot be used: {}", args.show(0, why)))
    })?;
    let named = pattern.groups.iter().flatten().count();
    if named > 0 && named < pattern.groups.len() {
        return Err(FuncError::argument(
            0,
            "a pattern cannot have both named and unnamed capture groups",
        ));
    }
    Ok(pattern)
}

impl Pattern {
    fn result(&self, found: &::regex::Captures<'_>, args: &Args<'_>) -> Result<Value, FuncError> {
        let group = |index: usize| -> Result<Value, FuncError> {
            let text = found.get(index).map(|group| group.as_str());
            args.reserve(CELL + text.map_or(0, str::len))?;
            Ok(text.map_or_else(|| Value::null(Type::String), Value::string))
        };
        let mut items = Vec::with_capacity(self.groups.len());
        let mut attributes = Vec::new();
        for (index, name) in self.groups.iter().enumerate() {
            match name {
                None => items.push(group(index + 1)?),
                Some(name) => {
                    args.reserve(name.len())?;
                    attributes.push((name, group(index + 1)?));
                }
            }
        }
        Ok(match self.groups.first() {
            None => group(0)?,
            Some(None) => Value::tuple(items),
            Some(Some(_)) => Value::object(attributes),
        })
    }
}

fn regex(args: &Args<'_>) -> Result<Value, FuncError> {
    let pattern = compile_argument(args, args.text(0)?)?;
    match pattern.regex.captures(args.text(1)?) {
        Some(found) => pattern.result(&found, args),
        None => Err(FuncError::call("the pattern matches no part of the string")),
    }
}

fn regexall(args: &Args<'_>) -> Result<Value, FuncError> {
    let pattern = compile_argument(args, args.text(0)?)?;
    let mut items = Vec::new();
    for found in pattern.regex.captures_iter(args.text(1)?) {
        args.reserve(CELL)?;
        items.push(pattern.result(&found, args)?);
    }
    let element = result_type(args)?.unwrap_or(Type::Dynamic);
    Ok(Value::list(element, items))
}

impl Pattern {
    /// The text with every match replaced; `new` may name groups as `$1`, `$name` or `${name}`, and `$$` is a dollar
    /// sign. `reserve` is asked for room for each replacement.
    pub(crate) fn replace_all(
        &self,
        text: &str,
        new: &str,
        reserve: &dyn Fn(usize) -> Result<(), FuncError>,
    ) -> Result<String, FuncError> {
        let mut out = String::new();
        let mut end = 0;
        for found in self.regex.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            out.push_str(&text[end..whole.start()]);
            self.expand(new, &found, &mut out, reserve)?;
            end = whole.end();
        }
        out.push_str(&text[end..]);
        Ok(out)
    }

    fn expand(
        &self,
        template: &str,
        found: &::regex::Captures<'_>,
        out: &mut String,
        reserve: &dyn Fn(usize) -> Result<(), FuncError>,
    ) -> Result<(), FuncError> {
        reserve(template.len())?;
        let mut rest = template;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some((name, after)) = group_name(rest) {
                let group = self.group(name, found).unwrap_or_default();
                reserve(group.len())?;
                out.push_str(group);
                rest = after;
            } else {
                out.push('$');
            }
        }
        out.push_str(rest);
        Ok(())
    }

    /// What a group has matched: of groups with one name, the first that has. A name of digits only, without leading
    /// zeros, is a group's number.
    fn group<'t>(&self, name: &str, found: &::regex::Captures<'t>) -> Option<&'t str> {
        let at = |index: usize| found.get(index).map(|group| group.as_str());
        if name.bytes().all(|byte| byte.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0')) {
            return at(name.parse().ok()?);
        }
        let named = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.as_deref() == Some(name));
        named.map(|(index, _)| index + 1).find_map(at)
    }
}

/// Splits the group name off the text after a dollar sign.
fn group_name(text: &str) -> Option<(&str, &str)> {
    let (braced, inner) = match text.strip_prefix('{') {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let end = inner
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(inner.len());
    let (name, after) = inner.split_at(end);
    let after = if braced { after.strip_prefix('}')? } else { after };
    (!name.is_empty()).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, want: Result<Option<&str>, ()>) {
        let got =
            compile(pattern).map(|pattern| pattern.regex.find(text).map(|found| found.as_str().to_owned()));
        let got = got.as_ref().map(Option::as_deref).map_err(|_| ());
        assert_eq!(got, want, "{pattern:?} on {text:?}");
    }

    fn replaced(pattern: &str, text: &str, new: &str) -> Result<String, FuncError> {
        compile(pattern).unwrap().replace_all(text, new, &|_| Ok(()))
    }

    #[test]
    fn means_what_re2_means() {
        check(r"\d+", "٣4", Ok(Some("4")));
        check(r"\w+", "é_a", Ok(Some("_a")));
        check(r"[^\W\d]+", "1ab", Ok(Some("ab")));
        check(r"a\b", "aé", Ok(Some("a")));
        check(r"\Ba", "ba", Ok(Some("a")));
        check(r"[a[b]+", "[ab", Ok(Some("[ab")));
        check(r"[]a]+", "]a", Ok(Some("]a")));
        check(r"[a&&b]+", "&b", Ok(Some("&b")));
        check(r"[[:alpha:]-]+", "1a-b", Ok(Some("a-b")));
        check(r"\Q.*\E+", "a.**", Ok(Some(".**")));
        check(r"a{,2}", "a{,2}", Ok(Some("a{,2}")));
        check(r"\<b\>", "<b>", Ok(Some("<b>")));
        check(r"\101\x41\x{41}", "AAA", Ok(Some("AAA")));
        check(r"a|ab", "ab", Ok(Some("a")));
        check(r"(?i)ÄB", "äb", Ok(Some("äb")));
        check(r"(?U)a+", "aaa", Ok(Some("a")));
        check(r"\p{Greek}\pL\p{^Lu}", "αBc", Ok(Some("αBc")));
        check(r"(?P<1a>x)(?<b>y)", "xy", Ok(Some("xy")));
        check(r"a # b", "a # b", Ok(Some("a # b")));
    }

    #[test]
    fn refuses_what_re2_refuses() {
        for pattern in [
            "(",
            ")",
            "[a",
            "a**",
            "*a",
            "a|*",
            "(?=a)",
            "(?<!a)",
            r"\1",
            r"\Z",
            r"\C",
            r"\e",
            "a{1001}",
            "a{2,1}",
            "[b-a]",
            r"[a-\d]",
            r"\p{Nope}",
            r"\p{Alphabetic}",
            "(?x)a b",
            "(?P<>.)",
            r"a\",
            "[[:nope:]]",
            r"\u0041",
            r"\xZ",
        ] {
            check(pattern, "", Err(()));
        }
    }

    #[test]
    fn expands_templates_as_go_does() {
        let check = |new: &str, want: &str| {
            assert_eq!(
                replaced("(?P<x>a)(b)?", "ac", new).as_deref(),
                Ok(want),
                "{new:?}"
            );
        };
        check("[$1]", "[a]c");
        check("[$x]", "[a]c");
        check("[${x}y]", "[ay]c");
        check("[$1y]", "[]c");
        check("[$2$3$01]", "[]c");
        assert_eq!(replaced("(?P<x>a)|(?P<x>b)", "b", "[$x]").as_deref(), Ok("[b]"));
        check("$$1", "$1c");
        check("$", "$c");
        check("${x", "${xc");
        assert_eq!(replaced("a*", "baac", "-").as_deref(), Ok("-b-c-"));
    }
}
