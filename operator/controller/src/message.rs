//! Diagnostics as the text of a condition: short, without source text and without secrets.

use ashlar_diag::{Diag, Diags, Sources};
use ashlar_provider::Redactor;

/// Longest text, in bytes.
const LONGEST: usize = 1000;

/// What must not be shown.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    texts: Vec<String>,
    /// What a run knows beyond: values as they came out, and what the state holds.
    run: Option<Redactor>,
}

impl Secrets {
    /// Shorter ones are not looked for: they would blank out half of every text.
    const SHORTEST: usize = 4;

    pub(crate) fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.len() >= Self::SHORTEST && !self.texts.iter().any(|known| known == text) {
            self.texts.push(text.to_owned());
            // Longer ones first, so that one that holds another is replaced whole.
            self.texts.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// With what a run knows.
    pub(crate) fn of_run(mut self, run: Redactor) -> Self {
        self.run = Some(run);
        self
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        let text = self.run.as_ref().map_or_else(|| text.to_owned(), |run| run(text));
        self.texts.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), "(sensitive value)")
            } else {
                text
            }
        })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// The first errors, as many as fit.
pub(crate) fn errors(diags: &Diags, sources: &Sources, secrets: &Secrets) -> String {
    let errors: Vec<&Diag> = diags.iter().filter(|diag| diag.is_error()).collect();
    let mut text = String::new();
    for (at, diag) in errors.iter().enumerate() {
        let line = secrets.redact(&tell(diag, sources));
        if at > 0 && text.len() + line.len() + 40 > LONGEST {
            text.push_str(&format!("\n(and {} more errors)", errors.len() - at));
            break;
        }
        if at > 0 {
            text.push('\n');
        }
        text.push_str(&line);
    }
    cut(&text)
}

/// The summaries of warnings, each once.
pub(crate) fn warnings(diags: &Diags, sources: &Sources, secrets: &Secrets) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for diag in diags.iter().filter(|diag| !diag.is_error()) {
        let mut text = secrets.redact(&tell(diag, sources));
        shorten(&mut text, 300);
        if texts.len() < 10 && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// Is it the module or a value that is wrong, so that trying again is of no use?
///
/// A fault of the language has a place in the source and is about no object; what a provider says of an object is told
/// with its address. A provider's own configuration is the one case where this takes a passing fault for a lasting one.
pub(crate) fn is_invalid(diags: &Diags) -> bool {
    diags
        .iter()
        .filter(|diag| diag.is_error())
        // A circle is a fault of the language that has no one place.
        .all(|diag| diag.address.is_none() && (diag.subject.is_some() || diag.summary.starts_with("Cycle: ")))
}

/// One diagnostic in a line or two. The source line is left out: it may hold what nobody should read in a status.
fn tell(diag: &Diag, sources: &Sources) -> String {
    let place = diag.subject.and_then(|span| sources.place(span));
    let place = place.map(|place| format!("{} line {}", place.file, place.start.line));
    let about: Vec<String> = diag.address.iter().cloned().chain(place).collect();
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(" ({})", about.join(", "))
    };
    let detail = if diag.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", diag.detail.trim_end())
    };
    format!("{}{about}{detail}", diag.summary)
}

/// Cut to what a condition may hold.
pub(crate) fn cut(text: &str) -> String {
    let mut text = text.to_owned();
    shorten(&mut text, LONGEST);
    text
}

fn shorten(text: &mut String, longest: usize) {
    if text.len() > longest {
        let mut end = longest - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_hold_no_secret() {
        let mut sources = Sources::new();
        let file = sources.add("main.tf", "a = \"hunter22\"\n");
        let span = ashlar_diag::Span::new(file, 0, 1);
        let mut diags = Diags::new();
        diags.push(Diag::error("Bad thing", "It says hunter22.").at(span));
        let mut secrets = Secrets::default();
        secrets.add("hunter22\n");
        secrets.add("a");
        assert_eq!(
            errors(&diags, &sources, &secrets),
            "Bad thing (main.tf line 1): It says (sensitive value)."
        );
        for _ in 0..100 {
            diags.push(Diag::error("Bad thing", "é".repeat(50)));
        }
        let text = errors(&diags, &sources, &secrets);
        assert!(text.len() <= LONGEST && text.ends_with("more errors)"), "{text}");
        assert!(cut(&"é".repeat(1000)).len() <= LONGEST);
    }

    #[test]
    fn faults_of_objects_may_pass_and_those_of_the_language_do_not() {
        let mut sources = Sources::new();
        let span = ashlar_diag::Span::new(sources.add("main.tf", "a"), 0, 1);
        let language = Diag::error("Unsupported argument", "x").at(span);
        assert!(is_invalid(&language.clone().into()));
        let provider = Diag::error("Timeout", "x").at(span).about("a.b");
        let both: Diags = [language, provider].into_iter().collect();
        assert!(!is_invalid(&both));
        assert!(!is_invalid(
            &Diag::error("Error acquiring the state lock", "x").into()
        ));
    }
}
