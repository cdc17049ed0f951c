//! Is text that is typed line by line to go on?
//!
//! Looks at tokens alone. Source: Terraform `internal/repl/continuation.go`.

use crate::{
    lexer::{self, Start},
    token::Kind,
};

/// Does the text open a bracket, a template sequence or a heredoc that it does not close? Text that cannot be right any
/// more, whatever follows, is not unfinished.
pub fn is_unfinished(text: &str) -> bool {
    let mut open = Vec::new();
    for token in lexer::tokens(text, Start::Code) {
        match token.kind {
            Kind::OpenBrace
            | Kind::OpenBracket
            | Kind::OpenParen
            | Kind::OpenHeredoc
            | Kind::Interpolation
            | Kind::Directive => open.push(token.kind),
            Kind::CloseBrace
            | Kind::CloseBracket
            | Kind::CloseParen
            | Kind::CloseHeredoc
            | Kind::SequenceEnd => {
                let fits = open.pop().and_then(Kind::opposite) == Some(token.kind);
                if !fits {
                    return false;
                }
            }
            Kind::Invalid | Kind::QuotedNewline => return false,
            _ => {}
        }
    }
    !open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_unfinished;

    #[test]
    fn what_is_open_goes_on() {
        for text in [
            "[",
            "{\n  a = 1",
            "max(1,",
            "\"${",
            "\"%{ if true",
            "<<EOT\nx",
            "[{}, (",
        ] {
            assert!(is_unfinished(&format!("{text}\n")), "{text}");
        }
        for text in [
            "",
            "1 +",
            "[]",
            "[)",
            "}",
            "\"abc",
            "<<EOT\nx\nEOT",
            "\"${1}\"",
            "( ]",
        ] {
            assert!(!is_unfinished(&format!("{text}\n")), "{text}");
        }
    }
}
