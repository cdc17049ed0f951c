//! Colours and signs of the plan's text.
//!
//! The only place in the text form that knows escape sequences; with [`Style::Plain`] there are none.

use ashlar_diag::Style;

use crate::Action;

/// What happens to a part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing.
    Same,
    /// It appears.
    Add,
    /// It differs, or something inside does.
    Change,
    /// It goes.
    Remove,
}

impl Sign {
    /// The sign of a whole to which this part is added (Terraform `CompareActions`).
    pub(super) fn with(self, part: Sign) -> Sign {
        match part {
            Sign::Same => self,
            part if part == self => self,
            _ => Sign::Change,
        }
    }
}

/// Paints text, or leaves it.
#[derive(Clone, Copy)]
pub(super) struct Ink(pub(super) Style);

impl Ink {
    fn paint(self, code: &str, text: &str) -> String {
        match self.0 {
            Style::Plain => text.to_owned(),
            Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(super) fn bold_red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(super) fn bold_green(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(super) fn bold_cyan(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("90", text)
    }

    /// Three columns wide.
    pub(super) fn sign(self, sign: Sign) -> String {
        match sign {
            Sign::Same => "   ".to_owned(),
            Sign::Add => format!("  {}", self.paint("32", "+")),
            Sign::Change => format!("  {}", self.paint("33", "~")),
            Sign::Remove => format!("  {}", self.paint("31", "-")),
        }
    }

    /// Three columns wide.
    pub(super) fn action(self, action: Action) -> String {
        let (add, remove) = (self.paint("32", "+"), self.paint("31", "-"));
        match action {
            Action::NoOp => self.sign(Sign::Same),
            Action::Create => self.sign(Sign::Add),
            Action::Update => self.sign(Sign::Change),
            Action::Delete => self.sign(Sign::Remove),
            Action::Forget => format!("  {}", self.paint("31", ".")),
            Action::Read => format!(" {}", self.paint("36", "<=")),
            Action::DeleteThenCreate => format!("{remove}/{add}"),
            Action::CreateThenDelete => format!("{add}/{remove}"),
            Action::ForgetThenCreate => format!("{}/{add}", self.paint("31", ".")),
        }
    }
}
