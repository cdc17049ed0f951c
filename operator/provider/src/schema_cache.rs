//! Schemas by the binary that told them, in memory and in a folder, so that each binary is asked once.
//!
//! In memory a binary is a file that was not written since; in the folder it is its SHA-256, so that what is kept there serves
//! other processes, after a restart and beside this one. A file is there whole or not at all; one that is damaged is removed,
//! and the provider is asked again. Nothing here fails a run: what cannot be kept is asked anew.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use ashlar_value::schema::ProviderSchema;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{known::KnownSchema, packed::unpack};

/// Most that the folder keeps; a large provider takes about one MiB.
const FOLDER_LIMIT: u64 = 256 << 20;
/// Most schemas in memory.
const MOST_KNOWN: usize = 64;
/// Larger files are none of ours.
const FILE_LIMIT: u64 = 256 << 20;
/// A file that is still being written is younger.
const DRAFT_AGE: Duration = Duration::from_secs(600);
/// How the names of kept schemas end.
const SUFFIX: &str = ".schema";

/// A provider's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Where it is.
    pub path: PathBuf,
    /// `sha256:` and its SHA-256 in hex, if that is known: without it its schema is kept in memory alone.
    pub digest: Option<String>,
}

impl From<PathBuf> for Binary {
    fn from(path: PathBuf) -> Self {
        Self { path, digest: None }
    }
}

/// Schemas known already; shared by all runs of a process.
#[derive(Default)]
pub struct SchemaCache {
    known: Mutex<HashMap<BinaryId, Arc<KnownSchema>>>,
    folder: Option<PathBuf>,
}

/// A binary that was not written since: the file, its length and its times.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct BinaryId {
    path: PathBuf,
    file: (u64, u64),
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
    /// What stands for the variables that a schema may hang on; empty if there are none.
    variables: String,
}

impl BinaryId {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            variables: String::new(),
        })
    }

    /// The same with those variables of an environment that a provider of this name may look at: by custom their names hold its
    /// own. Its schema may hang on them.
    pub(crate) fn with_variables(
        mut self,
        name: &str,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let own = name.to_uppercase().replace('-', "_");
        let looked_at: BTreeMap<OsString, OsString> = variables
            .filter(|(name, _)| name.to_string_lossy().contains(&own))
            .collect();
        if !looked_at.is_empty() {
            let mut hash = Sha256::new();
            for part in looked_at.iter().flat_map(|(name, value)| [name, value]) {
                hash.update(part.len().to_le_bytes());
                hash.update(part.as_bytes());
            }
            let mut hash = hex::encode(hash.finalize());
            hash.truncate(16);
            self.variables = hash;
        }
        self
    }
}

impl BinaryId {
    /// Do both stand for the same file, not written to since?
    fn is_file_of(&self, other: &Self) -> bool {
        let variables = other.variables.clone();
        *other
            == Self {
                variables,
                ..self.clone()
            }
    }
}

impl SchemaCache {
    /// One that also keeps schemas in this folder, which others may use at the same time. It is made when it is needed.
    pub fn kept_in(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            ..Self::default()
        }
    }

    /// Does it serve others than this process?
    pub(crate) fn is_shared(&self) -> bool {
        self.folder.is_some()
    }

    /// The schema of a binary, if any process was told it. `id` is the binary's.
    pub(crate) async fn get(&self, binary: &Binary, id: &BinaryId) -> Option<Arc<KnownSchema>> {
        if let Some(known) = self.known().get(id) {
            return Some(known.clone());
        }
        let file = self.file(binary, id)?;
        let read = tokio::task::spawn_blocking(move || read(&file)).await.ok()??;
        let known = Arc::new(KnownSchema::new(read).ok()?);
        // Who was faster has it already, with what was unpacked of it.
        Some(self.note(id, known))
    }

    /// Keeps it in memory, if nobody was faster; gives what is there. The folder has what goes for it.
    fn note(&self, id: &BinaryId, known: Arc<KnownSchema>) -> Arc<KnownSchema> {
        let mut all = self.known();
        if all.len() >= MOST_KNOWN && !all.contains_key(id) {
            all.clear();
        }
        all.entry(id.clone()).or_insert(known).clone()
    }

    /// Takes in what a process of this binary told, and how that is packed.
    pub(crate) async fn put(&self, binary: &Binary, id: BinaryId, known: Arc<KnownSchema>, packed: Bytes) {
        self.note(&id, known);
        let Some((folder, file)) = self.folder.clone().zip(self.file(binary, &id)) else {
            return;
        };
        let binary = binary.clone();
        let kept = tokio::task::spawn_blocking(move || keep(&folder, &file, &binary, &id, &packed)).await;
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "a provider's schema could not be kept; it is asked again")
            }
            Err(error) => tracing::warn!(%error, "a provider's schema could not be kept; it is asked again"),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<BinaryId, Arc<KnownSchema>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, binary: &Binary, id: &BinaryId) -> Option<PathBuf> {
        let digest = binary.digest.as_deref()?.strip_prefix("sha256:")?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| {
            let variables = match &*id.variables {
                "" => String::new(),
                hash => format!(".{hash}"),
            };
            self.folder
                .as_ref()
                .map(|folder| folder.join(format!("{digest}{variables}{SUFFIX}")))
        })?
    }
}

/// What is kept in a file, if it is whole; removes it if it is not.
fn read(file: &Path) -> Option<ProviderSchema> {
    let opened = fs::File::open(file).ok()?;
    let length = usize::try_from(opened.metadata().ok()?.len().min(FILE_LIMIT)).ok()?;
    // One more, so that the end is seen without making room for more.
    let mut bytes = Vec::with_capacity(length.saturating_add(1));
    let read = (&opened).take(FILE_LIMIT + 1).read_to_end(&mut bytes);
    let is_whole = read.is_ok() && bytes.len() as u64 <= FILE_LIMIT;
    if is_whole && let Ok(schema) = unpack(bytes.into()) {
        // What is used is kept longest. A folder that cannot be written to is no reason to ask again.
        let _ = opened.set_modified(SystemTime::now());
        return Some(schema);
    }
    tracing::warn!(file = %file.display(), "a kept schema is damaged or of another release; the provider is asked again");
    let _ = fs::remove_file(file);
    None
}

/// Keeps it under its name, if the binary is still the one of that digest, and makes room.
fn keep(folder: &Path, file: &Path, binary: &Binary, id: &BinaryId, packed: &[u8]) -> io::Result<()> {
    // The process that told it was started from what lies there now; the digest may have been taken of what was there before.
    let mut hash = Sha256::new();
    io::copy(&mut fs::File::open(&binary.path)?, &mut hash)?;
    let digest = format!("sha256:{}", hex::encode(hash.finalize()));
    if binary.digest.as_deref() != Some(&*digest) || !BinaryId::of(&binary.path)?.is_file_of(id) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    make_room(folder, packed.len() as u64)?;
    // Of a name that no other replica has, whatever their process ids are.
    let mut draft = tempfile::Builder::new().prefix(".").tempfile_in(folder)?;
    draft.write_all(packed)?;
    draft.as_file().sync_all()?;
    draft.persist(file)?;
    Ok(())
}

/// Removes drafts that nobody writes any more, and the schemas that were not used for longest, until `more` bytes fit.
fn make_room(folder: &Path, more: u64) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else { continue };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            if used.elapsed().is_ok_and(|age| age > DRAFT_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        } else if name.ends_with(SUFFIX) {
            kept.push((used, metadata.len(), entry.path()));
        }
    }
    let mut total = more + kept.iter().map(|(_, length, _)| length).sum::<u64>();
    kept.sort();
    for (_, length, path) in kept {
        if total <= FOLDER_LIMIT {
            break;
        }
        fs::remove_file(path)?;
        total -= length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{packed::pack, proto::tfplugin6 as v6};

    /// A binary and a folder of kept schemas.
    struct Setup {
        root: tempfile::TempDir,
        binary: Binary,
    }

    impl Setup {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join("terraform-provider-x");
            fs::write(&path, "program").unwrap();
            let digest = Some(format!("sha256:{}", hex::encode(Sha256::digest("program"))));
            let binary = Binary { path, digest };
            Self { root, binary }
        }

        fn folder(&self) -> PathBuf {
            self.root.path().join("schemas")
        }

        fn id(&self) -> BinaryId {
            BinaryId::of(&self.binary.path).unwrap()
        }

        fn files(&self) -> Vec<PathBuf> {
            let files = fs::read_dir(self.folder()).map_or_else(|_| Vec::new(), Iterator::collect);
            files.into_iter().map(|entry| entry.unwrap().path()).collect()
        }

        async fn put(&self) {
            let sent = v6::SchemaResponse {
                provider: Some(v6::Schema::default()),
                resource_schemas: HashMap::from([("a_pot".to_owned(), v6::Schema::default())]),
                ..Default::default()
            };
            let packed: Bytes = pack(sent, HashMap::new()).unwrap().into();
            let known = KnownSchema::new(unpack(packed.clone()).unwrap()).unwrap();
            let cache = SchemaCache::kept_in(self.folder());
            cache.put(&self.binary, self.id(), known.into(), packed).await;
        }

        /// Does a new process know the schema?
        async fn is_known(&self) -> bool {
            let cache = SchemaCache::kept_in(self.folder());
            let known = cache.get(&self.binary, &self.id()).await;
            known.is_some_and(|known| known.schema.resources.get("a_pot").is_some())
        }
    }

    #[tokio::test]
    async fn what_one_process_was_told_serves_the_next() {
        let setup = Setup::new();
        assert!(!setup.is_known().await);
        setup.put().await;
        assert!(setup.is_known().await);
        assert_eq!(setup.files().len(), 1, "no draft is left");
    }

    #[tokio::test]
    async fn what_is_damaged_is_dropped_and_made_again() {
        let setup = Setup::new();
        setup.put().await;
        let file = setup.files().remove(0);
        let whole = fs::read(&file).unwrap();
        for damaged in [&b""[..], b"ashlar schema 2\n", &whole[..whole.len() - 1]] {
            fs::write(&file, damaged).unwrap();
            assert!(!setup.is_known().await);
            assert!(!file.exists(), "nobody stumbles over it again");
            setup.put().await;
            assert!(setup.is_known().await);
        }
    }

    #[test]
    fn what_a_provider_may_look_at_tells_schemas_apart() {
        let setup = Setup::new();
        let id = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
            setup.id().with_variables("my-cloud", variables)
        };
        let plain = id(&[("PATH", "/bin")]);
        assert!(plain == setup.id() && id(&[("PATH", "/")]) == plain);
        let beta = id(&[("MY_CLOUD_BETA", "1"), ("PATH", "/bin")]);
        assert!(beta != plain && beta != id(&[("MY_CLOUD_BETA", "2")]));
        assert!(beta.is_file_of(&plain));
        let cache = SchemaCache::kept_in(setup.folder());
        assert_ne!(
            cache.file(&setup.binary, &beta),
            cache.file(&setup.binary, &plain)
        );
    }

    #[tokio::test]
    async fn nothing_is_kept_under_the_digest_of_another_binary() {
        let setup = Setup::new();
        fs::write(&setup.binary.path, "other program").unwrap();
        setup.put().await;
        assert!(setup.files().is_empty());
        let unnamed = Setup {
            binary: setup.binary.path.clone().into(),
            ..setup
        };
        unnamed.put().await;
        assert!(unnamed.files().is_empty());
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, length: u64, age: u64| {
            let file = fs::File::create(root.path().join(name)).unwrap();
            file.set_len(length).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
        };
        put("old.schema", FOLDER_LIMIT / 2, 90);
        put("used.schema", FOLDER_LIMIT / 2, 10);
        put(".1-1", 1, 2 * DRAFT_AGE.as_secs());
        put(".2-1", 1, 1);
        put("other", FOLDER_LIMIT, 900);
        make_room(root.path(), 1).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".2-1", "other", "used.schema"]);
    }
}
