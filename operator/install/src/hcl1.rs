//! HCL 1, the language of Terraform's CLI configuration, as a tree.
//!
//! There items need no lines of their own (`a { b { c = "d" } }`), names may be quoted, and texts hold no expressions: what stands in
//! `${…}` is text like the rest. Source: hashicorp/hcl v1.0.0 (`hcl/scanner`, `hcl/parser`). What the names mean is not known here,
//! and no fault quotes what was written: it may be a token.

use crate::node::Node;

/// How deep things may stand in each other.
const DEPTH: usize = 64;

/// What is wrong, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { text, at: 0 };
    let items = reader.items(None, 0)?;
    Ok(Node::Object(items))
}

struct Reader<'a> {
    text: &'a str,
    /// The byte that comes next.
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes this if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let comes = self.rest().starts_with(word);
        if comes {
            self.at += word.len();
        }
        comes
    }

    fn fault(&self, what: &'static str) -> Fault {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        Fault {
            line: 1 + before.matches('\n').count(),
            what,
        }
    }

    /// Passes over spaces, lines and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let spaces = rest.len() - rest.trim_start().len();
            self.at += spaces;
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest
                    .find("*/")
                    .ok_or_else(|| self.fault("a comment is not closed"))?;
                self.at += end + 2;
            } else if spaces == 0 {
                return Ok(());
            }
        }
    }

    /// Items up to the sign that closes them, or to the end.
    fn items(&mut self, close: Option<char>, depth: usize) -> Result<Vec<(String, Node)>, Fault> {
        if depth > DEPTH {
            return Err(self.fault("blocks stand too deep in each other"));
        }
        let mut items = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None if close.is_none() => return Ok(items),
                None => return Err(self.fault("a block is not closed")),
                next if next == close => {
                    self.next();
                    return Ok(items);
                }
                _ => items.push(self.item(depth)?),
            }
            self.skip()?;
            self.take(",");
        }
    }

    /// `name = value`, or names before a block.
    fn item(&mut self, depth: usize) -> Result<(String, Node), Fault> {
        let mut names = vec![self.name()?];
        loop {
            self.skip()?;
            match self.peek() {
                Some('=') => {
                    self.next();
                    self.skip()?;
                    let value = self.value(depth + 1)?;
                    let (Some(name), true) = (names.pop(), names.is_empty()) else {
                        return Err(self.fault("a block should stand behind several names, not a value"));
                    };
                    return Ok((name, value));
                }
                Some('{') => {
                    self.next();
                    let mut node = Node::Object(self.items(Some('}'), depth + 1)?);
                    let first = names.remove(0);
                    for name in names.into_iter().rev() {
                        node = Node::Object(vec![(name, node)]);
                    }
                    return Ok((first, node));
                }
                Some(_) => names.push(self.name()?),
                None => return Err(self.fault("a name has neither a value nor a block")),
            }
        }
    }

    fn name(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some('"') => self.quoted(),
            Some(first) if first.is_alphabetic() || first == '_' => Ok(self.word().to_owned()),
            _ => Err(self.fault("a name should stand here")),
        }
    }

    /// What letters, digits, dashes and dots make together.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        match self.peek() {
            Some('"') => Ok(Node::Text(self.quoted()?)),
            Some('{') => {
                self.next();
                Ok(Node::Object(self.items(Some('}'), depth)?))
            }
            Some('[') => {
                self.next();
                self.list(depth)
            }
            Some('<') if self.take("<<") => Ok(Node::Text(self.here_document()?)),
            Some(first) if first.is_ascii_digit() || matches!(first, '-' | '.') => {
                let word = self.word();
                let is_number = word.parse::<f64>().is_ok() || word.starts_with("0x");
                let number = is_number.then(|| Node::Text(word.to_owned()));
                number.ok_or_else(|| self.fault("a number is none"))
            }
            _ => match self.word() {
                "true" => Ok(Node::Bool(true)),
                "false" => Ok(Node::Bool(false)),
                _ => Err(self.fault("a text, a number, true, false, a list or an object should stand here")),
            },
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH {
            return Err(self.fault("lists stand too deep in each other"));
        }
        let mut values = Vec::new();
        loop {
            self.skip()?;
            if self.take("]") {
                return Ok(Node::List(values));
            }
            values.push(self.value(depth + 1)?);
            self.skip()?;
            if !self.take(",") && self.peek() != Some(']') {
                return Err(self.fault("a comma or the end of the list should stand here"));
            }
        }
    }

    /// A text in quotes.
    fn quoted(&mut self) -> Result<String, Fault> {
        self.next();
        let mut out = String::new();
        loop {
            // As it is, also quotes, up to the brace that closes it.
            if self.rest().starts_with("${") {
                self.interpolation(&mut out)?;
                continue;
            }
            match self.peek() {
                Some('"') => {
                    self.next();
                    return Ok(out);
                }
                None | Some('\n') => return Err(self.fault("a text is not closed in its line")),
                Some('\\') => {
                    self.next();
                    out.push(self.escaped()?);
                }
                Some(plain) => {
                    self.next();
                    out.push(plain);
                }
            }
        }
    }

    fn interpolation(&mut self, out: &mut String) -> Result<(), Fault> {
        let mut open = 0_usize;
        loop {
            match self.next() {
                None => return Err(self.fault("${ is not closed in a text")),
                Some(next) => {
                    out.push(next);
                    match next {
                        '{' => open += 1,
                        '}' if open <= 1 => return Ok(()),
                        '}' => open -= 1,
                        _ => {}
                    }
                }
            }
        }
    }

    fn escaped(&mut self) -> Result<char, Fault> {
        let digits = match self.next() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some('a') => return Ok('\u{7}'),
            Some('b') => return Ok('\u{8}'),
            Some('f') => return Ok('\u{c}'),
            Some('v') => return Ok('\u{b}'),
            Some(same @ ('\\' | '"')) => return Ok(same),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => return Err(self.fault("there is no such escape in a text")),
        };
        let hex = self.rest().get(..digits);
        let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let sign = code.and_then(char::from_u32);
        self.at += if sign.is_some() { digits } else { 0 };
        sign.ok_or_else(|| self.fault("an escape in a text names no character"))
    }

    /// The lines up to the one that is the mark alone; what stands before all of them counts for nothing behind `<<-`.
    fn here_document(&mut self) -> Result<String, Fault> {
        let is_indented = self.take("-");
        let rest = self.rest();
        let end = rest
            .find('\n')
            .ok_or_else(|| self.fault("a heredoc has no lines"))?;
        let mark = rest.get(..end).unwrap_or_default().trim_end_matches('\r');
        if mark.is_empty() {
            return Err(self.fault("a heredoc has no mark"));
        }
        self.at += end + 1;
        let mut lines = Vec::new();
        for line in self.rest().split_inclusive('\n') {
            self.at += line.len();
            if line.trim() == mark {
                // The line feed belongs to what follows.
                self.at -= line.len() - line.trim_end().len();
                return Ok(joined(&lines, is_indented));
            }
            lines.push(line);
        }
        Err(self.fault("a heredoc is not closed"))
    }
}

fn joined(lines: &[&str], is_indented: bool) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let common = lines
        .iter()
        .map(indent)
        .min()
        .filter(|_| is_indented)
        .unwrap_or(0);
    let lines = lines.iter();
    lines.filter_map(|line| line.get(common..)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in short.
    fn shown(node: &Node) -> String {
        match node {
            Node::Nothing => "nothing".to_owned(),
            Node::Bool(truth) => truth.to_string(),
            Node::Text(text) => format!("{text:?}"),
            Node::List(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(shown).collect();
                format!("[{}]", nodes.join(" "))
            }
            Node::Object(entries) => {
                let entries = entries.iter();
                let entries: Vec<String> = entries
                    .map(|(name, node)| format!("{name}:{}", shown(node)))
                    .collect();
                format!("{{{}}}", entries.join(" "))
            }
        }
    }

    fn check(text: &str, want: Result<&str, (usize, &str)>) {
        let read = parse(text).map(|node| shown(&node));
        match want {
            Ok(want) => assert_eq!(read.as_deref(), Ok(want), "{text}"),
            Err((line, part)) => {
                let fault = read.unwrap_err();
                assert!(
                    fault.line == line && fault.what.contains(part),
                    "{text}: {fault:?}"
                );
            }
        }
    }

    #[test]
    fn items_need_no_lines_of_their_own() {
        check("", Ok("{}"));
        check("a { b { c = \"/x\" } }", Ok("{a:{b:{c:\"/x\"}}}"));
        check(
            "a = 1 b = -2.5e3, \"c\" = true",
            Ok("{a:\"1\" b:\"-2.5e3\" c:true}"),
        );
        check("a \"x\" y { z = {} }\n", Ok("{a:{x:{y:{z:{}}}}}"));
        check(
            "a = [1, \"b\", [false], { c = 1 },]",
            Ok("{a:[\"1\" \"b\" [false] {c:\"1\"}]}"),
        );
        check(
            "# c\na /* b\n */ = 1 // d\nh.i-j = 0x1F",
            Ok("{a:\"1\" h.i-j:\"0x1F\"}"),
        );
        check(
            r#"a = "\t\"\\\u00e9" b = "${c("d")}%{e""#,
            Ok(r#"{a:"\t\"\\é" b:"${c(\"d\")}%{e"}"#),
        );
        check(
            "a = <<E\n x\n  y\nE\nb = <<-E\n x\n  y\n  E\n",
            Ok(r#"{a:" x\n  y\n" b:"x\n y\n"}"#),
        );
    }

    #[test]
    fn faults_are_told_by_their_lines() {
        check("a", Err((1, "neither a value nor a block")));
        check("\na {\n", Err((3, "not closed")));
        check("a = \"b\n\"", Err((1, "not closed in its line")));
        check("a = b", Err((1, "should stand here")));
        check("a = 1x", Err((1, "a number is none")));
        check("a b = 1", Err((1, "several names")));
        check("a = [1 2]", Err((1, "a comma")));
        check("}", Err((1, "a name should")));
        check("a = \"\\q\"", Err((1, "no such escape")));
        check("a = \"\\ud800\"", Err((1, "no character")));
        check("a = \"${", Err((1, "${ is not closed")));
        check("/*", Err((1, "a comment")));
        check("a = <<E\nx", Err((2, "a heredoc")));
        check(&"a {".repeat(100_000), Err((1, "too deep")));
        check(&format!("a = {}", "[".repeat(100_000)), Err((1, "too deep")));
    }
}
