//! Packages over HTTP: archives, and pages that name where a package is.

use std::fs::File;

use http::header::CONTENT_TYPE;

use crate::{
    address::Address,
    archive::{self, Kind},
    cache::Content,
    checksum::Checksum,
    fault::Fault,
    fetcher::{blocking, digest_of, unkept},
    http::Ask,
    package::Package,
    tree::{Tree, shown},
};

/// Largest page that names a package, and largest list of checksums.
const LARGEST_PAGE: usize = 1 << 20;

/// Archives of one file, which are no packages.
const SINGLE: [&str; 5] = ["gz", "bz2", "xz", "zst", "zstd"];

impl Package<'_> {
    pub(crate) async fn download(&mut self, mut address: Address) -> Result<Content, Fault> {
        let named = address.take_parameter("archive");
        let checksum = address.take_parameter("checksum");
        let kind = kind_of(named.as_deref(), &address)?;
        match kind {
            Some(kind) => self.archive(address, kind, checksum.as_deref()).await,
            None if checksum.is_some() => Err(Fault::asked(format!(
                "{address} has a checksum, but is no archive that it could be of."
            ))),
            None => self.page(address).await,
        }
    }

    async fn archive(&self, address: Address, kind: Kind, checksum: Option<&str>) -> Result<Content, Fault> {
        let checksum = match checksum {
            Some(text) => Some(self.checksum(text, &address).await?),
            None => None,
        };
        let half = self.fetcher.cache.half()?;
        let mut file = tempfile::tempfile_in(half.scratch()).map_err(|error| unkept(&error))?;
        self.save(&address, &mut file).await?;
        let (cache, limits, deadline) = (
            self.fetcher.cache.clone(),
            self.fetcher.web.limits.clone(),
            self.deadline,
        );
        blocking(move || {
            if let Some(checksum) = checksum {
                checksum.check(&mut file, &address)?;
            }
            let revision = digest_of(&mut file)?;
            let mut tree = Tree::new(&half.folder, &limits, deadline);
            archive::unpack(file, kind, &limits, &mut tree)?;
            let digest = tree.finish()?;
            cache.keep(&half, &digest, &revision)
        })
        .await
    }

    async fn save(&self, address: &Address, file: &mut File) -> Result<(), Fault> {
        let ask = Ask::get(self.deadline);
        let mut answer = self.fetcher.web.send(address, &self.wallet(), ask).await?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        answer.save(file).await
    }

    async fn checksum(&self, text: &str, address: &Address) -> Result<Checksum, Fault> {
        let Some(list) = text.strip_prefix("file:") else {
            return Checksum::parse(text);
        };
        let place = address.join(list)?;
        let ask = Ask::get(self.deadline);
        let mut answer = self.fetcher.web.send(&place, &self.wallet(), ask).await?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        let text = String::from_utf8_lossy(&answer.small(LARGEST_PAGE).await?).into_owned();
        let name = address.path.rsplit('/').next().unwrap_or_default();
        Checksum::in_list(&text, name).ok_or_else(|| {
            Fault::absent(format!(
                "The list of checksums at {place} has none for {}.",
                shown(name)
            ))
        })
    }

    /// What a page names, in a header or a `meta` element.
    async fn page(&mut self, address: Address) -> Result<Content, Fault> {
        let mut asked = address.clone();
        asked.query = Some(match &address.query {
            Some(query) => format!("{query}&terraform-get=1"),
            None => "terraform-get=1".to_owned(),
        });
        let ask = Ask::get(self.deadline);
        let mut answer = self.fetcher.web.send(&asked, &self.wallet(), ask).await?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        let header = answer
            .headers
            .get("x-terraform-get")
            .and_then(|value| value.to_str().ok());
        let location = match header {
            Some(location) => Some(location.to_owned()),
            None => meta(&String::from_utf8_lossy(&answer.small(LARGEST_PAGE).await?)),
        };
        let location = location.filter(|location| !location.is_empty()).ok_or_else(|| {
            let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            Fault::absent(format!(
                "{address} is no archive by its name and names no package (it sends {}). If it is an archive, say which: ?archive=zip.",
                shown(kind.unwrap_or("something"))
            ))
        })?;
        let from = answer.address.clone();
        self.follow(&location, &from)?.await
    }
}

fn kind_of(named: Option<&str>, address: &Address) -> Result<Option<Kind>, Fault> {
    let single = |end: &str| {
        Err(Fault::asked(format!(
            "{address} is one compressed file (.{end}), not a package of files. Pack the module as zip or tar."
        )))
    };
    match named {
        Some("false" | "0" | "f" | "F" | "FALSE" | "False") => Ok(None),
        Some(name) if SINGLE.contains(&name) => single(name),
        Some(name) => Kind::named(name).map(Some).ok_or_else(|| {
            let name = shown(name);
            Fault::asked(format!("There is no kind of archive that is called {name}; there are zip, tar, tar.gz, tar.bz2, tar.xz and tar.zst."))
        }),
        None => {
            if let Some(kind) = Kind::of_path(&address.path) {
                return Ok(Some(kind));
            }
            match SINGLE.iter().find(|end| address.path.ends_with(&format!(".{end}"))) {
                Some(end) => single(end),
                None => Ok(None),
            }
        }
    }
}

/// The content of `<meta name="terraform-get" content="…">`.
fn meta(page: &str) -> Option<String> {
    let mut rest = page;
    while let Some(at) = rest.find("<meta") {
        rest = rest.get(at + "<meta".len()..)?;
        let (element, _) = rest.split_once('>')?;
        if attribute(element, "name").is_some_and(|name| name == "terraform-get") {
            return attribute(element, "content");
        }
    }
    None
}

fn attribute(element: &str, name: &str) -> Option<String> {
    let mut rest = element;
    while let Some((before, after)) = rest.split_once('=') {
        let key = before.split_whitespace().next_back()?;
        let after = after.trim_start();
        let quote = after.chars().next()?;
        let (value, next) = match quote {
            '"' | '\'' => after.get(1..)?.split_once(quote)?,
            _ => after
                .split_once(char::is_whitespace)
                .unwrap_or((after.trim_end_matches('/'), "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value.replace("&amp;", "&"));
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_packages() {
        let check = |page: &str, want: Option<&str>| assert_eq!(meta(page).as_deref(), want, "{page}");
        check(
            "<html><head><meta charset=utf-8>\n<meta name=\"terraform-get\" content=\"git::https://h/r?a=1&amp;b\" /></head>",
            Some("git::https://h/r?a=1&b"),
        );
        check("<meta content='./m.zip' name='terraform-get'>", Some("./m.zip"));
        check("<meta name=terraform-get content=m.zip>", Some("m.zip"));
        check("<meta name=\"go-import\" content=\"x\">", None);
        check("<meta name=", None);
        check("", None);
    }

    #[test]
    fn archives_are_known_by_name() {
        let check = |named: Option<&str>, path: &str, want: Result<Option<Kind>, ()>| {
            let address = Address::parse(&format!("https://h.test/{path}")).unwrap();
            assert_eq!(kind_of(named, &address).map_err(drop), want, "{named:?} {path}");
        };
        use archive::Packing::{Bzip2, Gzip, Xz, Zstd};
        check(None, "a.zip", Ok(Some(Kind::Zip)));
        check(None, "a.tar.gz", Ok(Some(Kind::Tar(Gzip))));
        check(None, "a.TGZ", Ok(Some(Kind::Tar(Gzip))));
        check(None, "a.tar.zst", Ok(Some(Kind::Tar(Zstd))));
        check(None, "a.gz", Err(()));
        check(None, "a", Ok(None));
        check(Some("false"), "a.zip", Ok(None));
        check(Some("tar.xz"), "a", Ok(Some(Kind::Tar(Xz))));
        check(Some("tbz2"), "a.zip", Ok(Some(Kind::Tar(Bzip2))));
        check(Some("rar"), "a", Err(()));
    }
}
