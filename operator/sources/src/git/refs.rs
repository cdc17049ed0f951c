//! Which commit a reference means, of those that a server tells.

use gix_hash::ObjectId;

use crate::{fault::Fault, range::Range, tree::shown};

/// What of a repository is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The branch that the server has for its main one.
    Head,
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// A commit: 40 hex digits.
    Commit(String),
    /// The newest version, as tags tell them, in a range as Flux has them: `>=1.0.0 <2.0.0`.
    Semver(String),
    /// A tag, a branch or a commit, whichever there is, as `ref=` has it in a module's source; with `refs/…` that very
    /// reference.
    Name(String),
}

/// What a server tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refs(pub(crate) Vec<Ref>);

#[derive(Clone, Debug)]
pub(crate) struct Ref {
    pub(crate) name: String,
    pub(crate) id: ObjectId,
    /// Where an annotated tag leads.
    pub(crate) peeled: Option<ObjectId>,
}

/// What is to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// An object that the server tells of, and the commit that it leads to.
    Told { id: ObjectId, commit: ObjectId },
    /// A commit that it may not tell of.
    Commit(ObjectId),
    /// A commit by the first digits of its name.
    Short(String),
}

impl Reference {
    /// The names to ask the server for.
    pub(crate) fn prefixes(&self) -> Vec<String> {
        match self {
            Self::Head | Self::Commit(_) => vec!["HEAD".to_owned()],
            Self::Branch(name) => vec![format!("refs/heads/{name}")],
            Self::Tag(name) => vec![format!("refs/tags/{name}")],
            Self::Semver(_) => vec!["refs/tags/".to_owned()],
            Self::Name(name) if name.starts_with("refs/") => vec![name.clone()],
            Self::Name(name) => vec![
                "HEAD".to_owned(),
                format!("refs/tags/{name}"),
                format!("refs/heads/{name}"),
            ],
        }
    }

    /// Can it be asked for at all?
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let name = match self {
            Self::Head => return Ok(()),
            Self::Semver(range) => return Range::parse(range).map(|_| ()),
            Self::Commit(id) => {
                return match full_id(id) {
                    Some(_) => Ok(()),
                    None => Err(Fault::asked(format!(
                        "{} is not a commit: 40 hex digits.",
                        shown(id)
                    ))),
                };
            }
            Self::Branch(name) | Self::Tag(name) | Self::Name(name) => name,
        };
        let sound = !name.is_empty()
            && !name.starts_with('-')
            && !name.contains("..")
            && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
        if sound {
            Ok(())
        } else {
            Err(Fault::asked(format!(
                "{} is not the name of a git reference.",
                shown(name)
            )))
        }
    }
}

impl Refs {
    /// What a reference means.
    pub(crate) fn choose(&self, reference: &Reference, place: &str) -> Result<Wanted, Fault> {
        let absent = |what: String| Fault::absent(format!("There is no {what} in {place}."));
        match reference {
            Reference::Head => self
                .find("HEAD")
                .ok_or_else(|| absent("main branch (the repository is empty)".to_owned())),
            Reference::Branch(name) => self
                .find(&format!("refs/heads/{name}"))
                .ok_or_else(|| absent(format!("branch {}", shown(name)))),
            Reference::Tag(name) => self
                .find(&format!("refs/tags/{name}"))
                .ok_or_else(|| absent(format!("tag {}", shown(name)))),
            Reference::Commit(id) => full_id(id)
                .map(|id| self.by_id(id))
                .ok_or_else(|| absent(format!("commit {}", shown(id)))),
            Reference::Semver(range) => {
                let names = self
                    .0
                    .iter()
                    .filter_map(|one| one.name.strip_prefix("refs/tags/"));
                Range::parse(range)?
                    .newest(names)
                    .and_then(|name| self.find(&format!("refs/tags/{name}")))
                    .ok_or_else(|| absent(format!("tag with a version in the range {range:?}")))
            }
            Reference::Name(name) => full_id(name)
                .map(|id| self.by_id(id))
                .or_else(|| self.find(name).filter(|_| name.starts_with("refs/")))
                .or_else(|| self.find(&format!("refs/tags/{name}")))
                .or_else(|| self.find(&format!("refs/heads/{name}")))
                .or_else(|| {
                    let short = (7..40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit());
                    short.then(|| Wanted::Short(name.to_ascii_lowercase()))
                })
                .ok_or_else(|| absent(format!("tag or branch {}", shown(name)))),
        }
    }

    fn find(&self, name: &str) -> Option<Wanted> {
        let found = self.0.iter().find(|one| one.name == name)?;
        Some(Wanted::Told {
            id: found.id,
            commit: found.peeled.unwrap_or(found.id),
        })
    }

    fn by_id(&self, id: ObjectId) -> Wanted {
        if self.0.iter().any(|one| one.id == id) {
            Wanted::Told { id, commit: id }
        } else {
            Wanted::Commit(id)
        }
    }
}

/// A whole name of a commit.
pub(crate) fn full_id(text: &str) -> Option<ObjectId> {
    ObjectId::from_hex(text.as_bytes())
        .ok()
        .filter(|_| text.len() == 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_mean_what_git_has_them_mean() {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap();
        let one = |name: &str, at: &str, peeled: Option<&str>| Ref {
            name: name.to_owned(),
            id: id(at),
            peeled: peeled.map(id),
        };
        let refs = Refs(vec![
            one("HEAD", "a", None),
            one("refs/heads/main", "a", None),
            one("refs/heads/v1.0.0", "b", None),
            one("refs/tags/v1.0.0", "c", Some("d")),
            one("refs/tags/v1.1.0-rc.1", "e", None),
            one("refs/pull/1/head", "f", None),
        ]);
        let told = |at: &str, commit: &str| {
            Ok(Wanted::Told {
                id: id(at),
                commit: id(commit),
            })
        };
        let check = |reference: Reference, want: Result<Wanted, &str>| {
            reference.check().unwrap();
            let got = refs.choose(&reference, "R").map_err(|fault| fault.text);
            assert_eq!(got, want.map_err(str::to_owned), "{reference:?}");
        };
        let name = |text: &str| Reference::Name(text.to_owned());
        check(Reference::Head, told("a", "a"));
        check(Reference::Branch("v1.0.0".into()), told("b", "b"));
        check(
            Reference::Branch("v1".into()),
            Err("There is no branch \"v1\" in R."),
        );
        check(Reference::Tag("v1.0.0".into()), told("c", "d"));
        check(
            Reference::Tag("main".into()),
            Err("There is no tag \"main\" in R."),
        );
        check(Reference::Semver("1.x".into()), told("c", "d"));
        check(Reference::Semver(">=1.1.0-0".into()), told("e", "e"));
        check(
            Reference::Semver("2.x".into()),
            Err("There is no tag with a version in the range \"2.x\" in R."),
        );
        check(Reference::Commit("a".repeat(40)), told("a", "a"));
        check(Reference::Commit("9".repeat(40)), Ok(Wanted::Commit(id("9"))));
        check(name("v1.0.0"), told("c", "d"));
        check(name("main"), told("a", "a"));
        check(name("refs/pull/1/head"), told("f", "f"));
        check(name(&"9".repeat(40)), Ok(Wanted::Commit(id("9"))));
        check(name("9999999"), Ok(Wanted::Short("9999999".to_owned())));
        check(
            name("nothing"),
            Err("There is no tag or branch \"nothing\" in R."),
        );
        for bad in ["", "--upload-pack=x", "a b", "a..b", "a\nb", "a:b"] {
            assert!(name(bad).check().is_err(), "{bad}");
        }
        assert!(Reference::Commit("abc".into()).check().is_err());
    }
}
