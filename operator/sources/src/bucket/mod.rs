//! Packages in buckets: one object that is an archive, or all objects below a name.

mod google;
mod s3;

use crate::{
    address::{Address, decode, encode},
    archive::{self, Kind},
    cache::Content,
    fault::Fault,
    fetcher::{blocking, digest_of, unkept},
    http::Answer,
    limits::bytes,
    package::Package,
    tree::Tree,
};

/// Largest page of a list of objects.
const LARGEST_PAGE: usize = 8 << 20;

/// A place for objects.
enum Store {
    S3(Box<s3::Bucket>),
    Google(Box<google::Bucket>),
}

impl Package<'_> {
    pub(crate) async fn s3(&mut self, address: Address) -> Result<Content, Fault> {
        let (bucket, archive) = s3::Bucket::open(self, address)?;
        self.objects(Store::S3(Box::new(bucket)), archive.as_deref())
            .await
    }

    pub(crate) async fn gcs(&mut self, address: Address) -> Result<Content, Fault> {
        let (bucket, archive) = google::Bucket::open(self, address).await?;
        self.objects(Store::Google(Box::new(bucket)), archive.as_deref())
            .await
    }

    async fn objects(&mut self, store: Store, archive: Option<&str>) -> Result<Content, Fault> {
        let key = store.key().to_owned();
        let kind = match archive {
            Some("false" | "0") => None,
            Some(name) => Some(Kind::named(name).ok_or_else(|| {
                Fault::asked(format!("There is no kind of archive that is called {name:?}."))
            })?),
            None => Kind::of_path(&key),
        };
        let half = self.fetcher.cache.half()?;
        let (cache, limits, deadline) = (
            self.fetcher.cache.clone(),
            self.fetcher.web.limits.clone(),
            self.deadline,
        );
        if let Some(kind) = kind {
            let mut file = tempfile::tempfile_in(half.scratch()).map_err(|error| unkept(&error))?;
            store.get(self, &key, true).await?.save(&mut file).await?;
            return blocking(move || {
                let revision = digest_of(&mut file)?;
                let mut tree = Tree::new(&half.folder, &limits, deadline);
                archive::unpack(file, kind, &limits, &mut tree)?;
                let digest = tree.finish()?;
                cache.keep(&half, &digest, &revision)
            })
            .await;
        }
        let prefix = match key.trim_end_matches('/') {
            "" => String::new(),
            key => format!("{key}/"),
        };
        let keys = store.list(self, &prefix).await?;
        if keys.is_empty() {
            return Err(Fault::absent(format!(
                "There is nothing at {store}, or it is not shown to these credentials."
            )));
        }
        let mut tree = Tree::new(&half.folder, &limits, deadline);
        let mut left = limits.package_bytes;
        for key in keys {
            let mut file = tempfile::tempfile_in(half.scratch()).map_err(|error| unkept(&error))?;
            store.get(self, &key, false).await?.save(&mut file).await?;
            let size = file.metadata().map_err(|error| unkept(&error))?.len();
            left = left.checked_sub(size).ok_or_else(|| {
                let limit = bytes(limits.package_bytes);
                Fault::refused(format!(
                    "The package at {store} has more than {limit}, which is the limit."
                ))
            })?;
            let name = key.strip_prefix(&prefix).unwrap_or(&key).to_owned();
            tree = blocking(move || {
                digest_of(&mut file)?;
                tree.file(&name, false, &mut file)?;
                Ok(tree)
            })
            .await?;
        }
        blocking(move || {
            let digest = tree.finish()?;
            cache.keep(&half, &digest, &digest)
        })
        .await
    }
}

impl Store {
    fn key(&self) -> &str {
        match self {
            Self::S3(bucket) => &bucket.key,
            Self::Google(bucket) => &bucket.key,
        }
    }

    /// An object's content. `named`: the one that the address names, in the version that it names.
    async fn get(&self, package: &Package<'_>, key: &str, named: bool) -> Result<Answer, Fault> {
        let answer = match self {
            Self::S3(bucket) => bucket.get(package, key, named).await?,
            Self::Google(bucket) => bucket.get(package, key).await?,
        };
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(answer.failure())
        }
    }

    /// The names of all objects that begin so; what stands for folders is left out.
    async fn list(&self, package: &Package<'_>, prefix: &str) -> Result<Vec<String>, Fault> {
        let most = package.fetcher.web.limits.files;
        let mut keys = Vec::new();
        let mut next = None;
        loop {
            let mut answer = match self {
                Self::S3(bucket) => bucket.page(package, prefix, next.as_deref()).await?,
                Self::Google(bucket) => bucket.page(package, prefix, next.as_deref()).await?,
            };
            if !answer.status.is_success() {
                return Err(answer.failure());
            }
            let body = answer.small(LARGEST_PAGE).await?;
            let (found, more) = match self {
                Self::S3(_) => s3::read_page(&String::from_utf8_lossy(&body)),
                Self::Google(_) => google::read_page(&body)?,
            };
            keys.extend(found.into_iter().filter(|key| !key.ends_with('/')));
            if keys.len() > most {
                return Err(Fault::refused(format!(
                    "The package at {self} holds more than {most} files, folders and links, which is the limit."
                )));
            }
            match more {
                Some(more) if next.as_ref() != Some(&more) => next = Some(more),
                _ => return Ok(keys),
            }
        }
    }
}

impl std::fmt::Display for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::S3(bucket) => write!(f, "s3://{}/{}", bucket.name, bucket.key),
            Self::Google(bucket) => write!(f, "gs://{}/{}", bucket.name, bucket.key),
        }
    }
}

/// A path with its parts encoded as signatures want them.
fn encode_path(path: &str) -> String {
    path.split('/').map(encode).collect::<Vec<_>>().join("/")
}

/// The parts of a path, decoded.
fn split(path: &str, parts: usize) -> Vec<String> {
    path.trim_start_matches('/')
        .splitn(parts, '/')
        .map(decode)
        .collect()
}
