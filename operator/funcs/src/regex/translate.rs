//! RE2 patterns as Go reads them, written in the dialect of the `regex` crate.
//!
//! Every literal goes out as an escape, every class as explicit ranges, so that no construct of the target dialect can come
//! about by accident; what Go refuses is refused here. Capture names are kept aside: the target's rules for them differ.

/// Repetition counts above this are refused.
const MOST_REPEATS: u32 = 1000;

/// A pattern in the target dialect.
pub(super) struct Translated {
    pub(super) pattern: String,
    /// The names of the capture groups, in order.
    pub(super) groups: Vec<Option<String>>,
}

/// Translates; the error is a clause for people.
pub(super) fn translate(source: &str) -> Result<Translated, String> {
    let mut translator = Translator {
        rest: source,
        out: String::with_capacity(source.len() * 2),
        groups: Vec::new(),
        open: 0,
        last: Last::Nothing,
    };
    while let Some(c) = translator.next() {
        translator.item(c)?;
    }
    if translator.open > 0 {
        return Err("a parenthesis is not closed".to_owned());
    }
    Ok(Translated {
        pattern: translator.out,
        groups: translator.groups,
    })
}

/// What a repetition operator would apply to.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Item,
    Repetition,
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    groups: Vec<Option<String>>,
    open: usize,
    last: Last,
}

impl<'a> Translator<'a> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn item(&mut self, c: char) -> Result<(), String> {
        let mut last = Last::Item;
        match c {
            '(' => {
                self.group()?;
                last = Last::Nothing;
            }
            ')' => {
                self.open = self
                    .open
                    .checked_sub(1)
                    .ok_or("a closing parenthesis has no opening one")?;
                self.out.push(c);
            }
            '|' => {
                self.out.push(c);
                last = Last::Nothing;
            }
            '.' | '^' | '$' => self.out.push(c),
            '*' | '+' | '?' => {
                self.repetition(&c.to_string())?;
                last = Last::Repetition;
            }
            '{' => match self.counts()? {
                Some(counts) => {
                    self.repetition(&counts)?;
                    last = Last::Repetition;
                }
                None => self.literal(c),
            },
            '[' => self.class()?,
            '\\' => {
                if !self.escape()? {
                    last = self.last;
                }
            }
            _ => self.literal(c),
        }
        self.last = last;
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            self.out.push(c);
        } else {
            self.code_point(c);
        }
    }

    fn code_point(&mut self, c: char) {
        self.out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
    }

    fn repetition(&mut self, operator: &str) -> Result<(), String> {
        match self.last {
            Last::Nothing => {
                return Err(format!(
                    "nothing stands before the repetition operator {operator}"
                ));
            }
            Last::Repetition => {
                return Err(format!("the repetition operator {operator} follows another one"));
            }
            Last::Item => {}
        }
        self.out.push_str(operator);
        if self.eat("?") {
            self.out.push('?');
        }
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}` after the brace; anything else makes the brace a literal.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inner, after)) = self.rest.split_once('}') else {
            return Ok(None);
        };
        let (least, most) = match inner.split_once(',') {
            Some((least, "")) => (least, None),
            Some((least, most)) => (least, Some(most)),
            None => (inner, Some(inner)),
        };
        let plain = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'))
        };
        if !plain(least) || !most.is_none_or(plain) {
            return Ok(None);
        }
        let count = |text: &str| text.parse().ok().filter(|count: &u32| *count <= MOST_REPEATS);
        let fits = match (count(least), most.map(count)) {
            (Some(_), None) => true,
            (Some(least), Some(Some(most))) => least <= most,
            _ => false,
        };
        if !fits {
            return Err(format!("the repetition {{{inner}}} is out of range"));
        }
        self.rest = after;
        Ok(Some(format!("{{{inner}}}")))
    }

    fn group(&mut self) -> Result<(), String> {
        if !self.eat("?") {
            self.open += 1;
            self.groups.push(None);
            self.out.push('(');
            return Ok(());
        }
        if self.rest.starts_with("<=") || self.rest.starts_with("<!") {
            return Err("looking behind is not supported".to_owned());
        }
        if self.eat("P<") || self.eat("<") {
            let (name, after) = self.rest.split_once('>').ok_or("a group's name is not closed")?;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err("a group's name may only have letters, digits and underscores".to_owned());
            }
            self.rest = after;
            self.groups.push(Some(name.to_owned()));
            self.open += 1;
            self.out.push('(');
            return Ok(());
        }
        let end = self.rest.find([':', ')']).ok_or("a group is not closed")?;
        let (flags, after) = self.rest.split_at(end);
        if !flags.bytes().all(|b| b"imsU-".contains(&b)) {
            return Err("only the flags i, m, s and U are supported, and no looking ahead".to_owned());
        }
        self.rest = &after[1..];
        if after.starts_with(':') {
            self.open += 1;
            self.out.push_str(&format!("(?{flags}:"));
        } else if !flags.is_empty() {
            self.out.push_str(&format!("(?{flags})"));
        }
        Ok(())
    }

    /// What follows a backslash outside a class. False if it adds nothing.
    fn escape(&mut self) -> Result<bool, String> {
        if self.eat("Q") {
            let (quoted, after) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = after;
            quoted.chars().for_each(|c| self.literal(c));
            return Ok(!quoted.is_empty());
        }
        match self.rest.chars().next() {
            Some('A') => self.out.push_str(r"\A"),
            Some('z') => self.out.push_str(r"\z"),
            Some('b') => self.out.push_str(r"(?-u:\b)"),
            Some('B') => self.out.push_str(r"(?-u:\B)"),
            _ => {
                if let Some(class) = self.named_class()? {
                    self.out.push_str(&format!("[{class}]"));
                } else {
                    let c = self.escaped_char()?;
                    self.code_point(c);
                }
                return Ok(true);
            }
        }
        self.next();
        Ok(true)
    }

    /// `d`, `W`, `pL`, `P{Greek}` and the like, as the inside of a class.
    fn named_class(&mut self) -> Result<Option<String>, String> {
        let plain = match self.rest.chars().next() {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('s') => r"\t\n\x0C\r\x20",
            Some('S') => r"[^\t\n\x0C\r\x20]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some(c @ ('p' | 'P')) => {
                self.next();
                return self.unicode_class(c == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(plain.to_owned()))
    }

    fn unicode_class(&mut self, mut negated: bool) -> Result<String, String> {
        let name = if self.eat("{") {
            let (name, after) = self
                .rest
                .split_once('}')
                .ok_or("a character class is not closed")?;
            self.rest = after;
            name.to_owned()
        } else {
            self.next().ok_or("a character class is not closed")?.to_string()
        };
        let name = match name.strip_prefix('^') {
            Some(rest) => {
                negated = !negated;
                rest.to_owned()
            }
            None => name,
        };
        if !name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_- ".contains(&b))
        {
            return Err(format!("there is no character class {name:?}"));
        }
        let p = if negated { 'P' } else { 'p' };
        ["gc", "sc"]
            .iter()
            .map(|property| format!("\\{p}{{{property}={name}}}"))
            .find(|class| ::regex::Regex::new(class).is_ok())
            .ok_or_else(|| format!("there is no character class {name:?}"))
    }

    /// The character that an escape stands for.
    fn escaped_char(&mut self) -> Result<char, String> {
        let c = self.next().ok_or("it ends with a backslash")?;
        let octal = |c: char| c.is_digit(8);
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => {
                let (digits, after) = if self.eat("{") {
                    self.rest.split_once('}').unwrap_or(("", ""))
                } else {
                    self.rest.split_at_checked(2).unwrap_or(("", ""))
                };
                self.rest = after;
                // A sign would be taken by the number parser.
                let code = if digits.starts_with('+') {
                    None
                } else {
                    u32::from_str_radix(digits, 16).ok()
                };
                code.and_then(char::from_u32)
                    .ok_or("a hexadecimal escape is not valid")?
            }
            '0'..='7' if c == '0' || self.rest.starts_with(octal) => {
                let mut code = u32::from(c) - u32::from('0');
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit;
                    self.next();
                }
                char::from_u32(code).ok_or("an octal escape is not valid")?
            }
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(format!("there is no escape \\{c}")),
        })
    }

    /// A class in brackets, after the opening one.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.starts_with("[:") && self.posix_class()? {
                continue;
            }
            if self.rest.starts_with('\\') {
                let before = self.rest;
                self.next();
                if let Some(class) = self.named_class()? {
                    self.out.push_str(&class);
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_char()?;
            let mut high = low;
            if self.rest.starts_with('-') && self.rest.len() >= 2 && !self.rest[1..].starts_with(']') {
                self.next();
                high = self.class_char()?;
            }
            if high < low {
                return Err("a character range runs backwards".to_owned());
            }
            self.code_point(low);
            self.out.push('-');
            self.code_point(high);
        }
        self.next();
        self.out.push(']');
        Ok(())
    }

    fn class_char(&mut self) -> Result<char, String> {
        match self.next() {
            Some('\\') => self.escaped_char(),
            Some(c) => Ok(c),
            None => Err("a character class is not closed".to_owned()),
        }
    }

    /// `[:alpha:]` and the like; false if the bracket is a literal after all.
    fn posix_class(&mut self) -> Result<bool, String> {
        let Some((inner, after)) = self.rest[2..].split_once(":]") else {
            return Ok(false);
        };
        let name = inner.strip_prefix('^').unwrap_or(inner);
        let known = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if !known.contains(&name) {
            return Err(format!("there is no character class [:{inner}:]"));
        }
        self.out.push_str(&format!("[:{inner}:]"));
        self.rest = after;
        Ok(true)
    }
}
