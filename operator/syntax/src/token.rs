//! Tokens, and the faults that can be told from a token alone.
//!
//! Between the lexer, which makes tokens of every text, and the parser, which need not know these faults.

use ashlar_diag::{Diag, is_broken};

use crate::parser::Origin;

/// What a token is. Several kinds exist only to be told apart in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    OpenParen,
    CloseParen,
    OpenQuote,
    CloseQuote,
    /// `<<NAME` or `<<-NAME` with its line break.
    OpenHeredoc,
    /// The line that ends a heredoc, without its line break.
    CloseHeredoc,
    /// `${` or `${~`.
    Interpolation,
    /// `%{` or `%{~`.
    Directive,
    /// The `}` or `~}` of an interpolation or directive.
    SequenceEnd,
    /// Text in quotes, escapes not yet resolved.
    QuotedText,
    /// Text in a heredoc or bare template, at most one line.
    PlainText,
    Star,
    Slash,
    Percent,
    Plus,
    Minus,
    Assign,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Bang,
    Dot,
    Comma,
    Colon,
    DoubleColon,
    Ellipsis,
    FatArrow,
    Question,
    Number,
    Ident,
    /// With its line break if it is a line comment.
    Comment,
    Newline,
    End,
    BitwiseAnd,
    BitwiseOr,
    BitwiseNot,
    BitwiseXor,
    Backtick,
    Apostrophe,
    Semicolon,
    /// Line breaks in quotes.
    QuotedNewline,
    Invalid,
}

impl Kind {
    /// The other one of a pair of brackets. `None` for what is no bracket. The end of a sequence is paired with the
    /// interpolation, as [`Kind::Interpolation`] and [`Kind::Directive`] share it.
    pub(crate) fn opposite(self) -> Option<Kind> {
        Some(match self {
            Kind::OpenBrace => Kind::CloseBrace,
            Kind::OpenBracket => Kind::CloseBracket,
            Kind::OpenParen => Kind::CloseParen,
            Kind::OpenQuote => Kind::CloseQuote,
            Kind::OpenHeredoc => Kind::CloseHeredoc,
            Kind::CloseBrace => Kind::OpenBrace,
            Kind::CloseBracket => Kind::OpenBracket,
            Kind::CloseParen => Kind::OpenParen,
            Kind::CloseQuote => Kind::OpenQuote,
            Kind::CloseHeredoc => Kind::OpenHeredoc,
            Kind::Interpolation | Kind::Directive => Kind::SequenceEnd,
            Kind::SequenceEnd => Kind::Interpolation,
            _ => return None,
        })
    }
}

/// One token: its kind and byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// How many such faults are told of one text; a text that is no configuration at all has one for each character.
const MOST: usize = 1_000;

/// Tells of tokens that no text may hold. Faults that come in numbers are told a few times only, as hcl does.
pub(crate) fn faults(text: &str, origin: &Origin<'_>, tokens: &[Token]) -> Vec<Diag> {
    let mut diags = Vec::new();
    let (mut bitwise, mut backticks, mut apostrophes, mut semicolons, mut encoding) = (0, 0, 0, 0, 0);
    for token in tokens {
        let told = match token.kind {
            Kind::BitwiseAnd | Kind::BitwiseOr | Kind::BitwiseXor | Kind::BitwiseNot => {
                bitwise += 1;
                if bitwise > 4 {
                    continue;
                }
                let hint = match token.kind {
                    Kind::BitwiseAnd => " Write && for a logical \"and\".",
                    Kind::BitwiseOr => " Write || for a logical \"or\".",
                    Kind::BitwiseNot => " Write ! for a logical \"not\".",
                    _ => "",
                };
                Diag::error(
                    "Unsupported operator",
                    format!("There are no operators on bits.{hint}"),
                )
            }
            // Only every second one, so that a pair of quotes is one fault; from the third on all of them.
            Kind::Backtick => {
                let tell = backticks % 2 == 0;
                backticks += u32::from(backticks <= 2);
                if !tell {
                    continue;
                }
                let detail =
                    "A backtick has no meaning here. For text of several lines use a heredoc, such as <<EOT.";
                Diag::error("Invalid character", detail)
            }
            Kind::Apostrophe => {
                let tell = apostrophes % 2 == 0;
                apostrophes += u32::from(apostrophes <= 2);
                if !tell {
                    continue;
                }
                Diag::error(
                    "Invalid character",
                    "Text is put in double quotes (\"), not in single ones.",
                )
            }
            Kind::Semicolon => {
                semicolons += 1;
                if semicolons > 1 {
                    continue;
                }
                let detail = "A semicolon separates nothing here. Put each argument and block on a line of its own, and \
                              commas between the items of a collection.";
                Diag::error("Invalid character", detail)
            }
            Kind::QuotedNewline => {
                let detail = "Text in quotes ends on the line on which it begins. Write \\n for a line break, or use a \
                              heredoc for text of several lines.";
                Diag::error("Invalid multi-line string", detail)
            }
            Kind::Invalid if is_encoding_fault(text, *token) => {
                encoding += 1;
                if encoding > 1 {
                    continue;
                }
                let detail = "The bytes here are no text in UTF-8, which all files must be in. Have your editor save the \
                              file so.";
                Diag::error("Invalid character encoding", detail)
            }
            Kind::Invalid => Diag::error("Invalid character", invalid_character(text, *token)),
            _ => continue,
        };
        diags.push(told.at(origin.span(token.start, token.end)));
        if diags.len() == MOST {
            break;
        }
    }
    diags
}

fn is_encoding_fault(text: &str, token: Token) -> bool {
    let token = text.get(token.start as usize..token.end as usize);
    token.is_some_and(|token| token.starts_with(is_broken))
}

fn invalid_character(text: &str, token: Token) -> &'static str {
    match text.get(token.start as usize..token.end as usize) {
        Some("“" | "”") => {
            "Curly quotes are not quotes to this language; they often come from text copied out of a document. Use \
             straight ones (\")."
        }
        _ => "This character has no meaning in the language.",
    }
}
