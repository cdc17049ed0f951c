//! What runs a provisioner in a test, and hears what it says.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ashlar_config::{connection_schema, provisioner_schema};
use ashlar_funcs::{Caps, CapsError, FileKind};
use ashlar_port::{ProvisionRequest, Provisioners};
use ashlar_provider::{Environment, Fence, LaunchOptions, Launcher};
use ashlar_provisioner::{LocalPrograms, Rules, Runner};
use ashlar_sources::Reach;
use ashlar_value::{Type, Value, convert, schema::Block};

pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) runner: Arc<Runner>,
}

/// Files of the test's folder alone.
struct Bundle(PathBuf);

impl Caps for Bundle {
    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        if path.starts_with('/') {
            return Err(CapsError::Refused("it leads out".to_owned()));
        }
        std::fs::read(self.0.join(path)).map_err(|_| CapsError::Absent)
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        let path = self.0.join(path);
        Ok(match (path.is_dir(), path.exists()) {
            (true, _) => FileKind::Directory,
            (_, true) => FileKind::Regular,
            _ => return Err(CapsError::Absent),
        })
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        let entries = std::fs::read_dir(self.0.join(path)).map_err(|_| CapsError::Absent)?;
        let named = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        Ok(named
            .map(|name| {
                let kind = self.file_kind(&format!("{path}/{name}")).unwrap();
                (name, kind)
            })
            .collect())
    }

    fn cwd(&self) -> Result<String, CapsError> {
        Ok(self.0.display().to_string())
    }

    fn home(&self) -> Result<String, CapsError> {
        Err(CapsError::Absent)
    }

    fn timestamp(&self) -> Option<String> {
        None
    }

    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    fn random(&self) -> Option<[u8; 16]> {
        Some([7; 16])
    }
}

/// Stands in for `ashlar launch`: drops its own arguments and becomes the program, with the variables meant for it.
const LAUNCH: &str = r#"#!/bin/bash
while [ "$1" != -- ]; do shift; done
shift
while IFS= read -r -d '' entry; do
  name=${entry%%=*}
  case $name in ASHLAR_FOR_PROGRAM_*) export "${name#ASHLAR_FOR_PROGRAM_}=${entry#*=}"; unset "$name";; esac
done < /proc/self/environ
exec "$@"
"#;

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Rules)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launch = folder.path().join("launch");
        std::fs::write(&launch, LAUNCH).unwrap();
        std::fs::set_permissions(&launch, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(folder.path().join("module")).unwrap();
        let module = folder.path().join("module");
        let options = LaunchOptions {
            launcher: Launcher {
                program: launch,
                arguments: Vec::new(),
            },
            fence: Fence::Off,
            bounds: Default::default(),
            environment: Environment::Only(Vec::new()),
            working_folder: module.clone(),
            scratch: folder.path().join("scratch"),
            readable: Vec::new(),
            writable: Vec::new(),
            redact: Arc::new(|text| text.replace("hunter2", "***")),
            handshake: std::time::Duration::from_secs(1),
        };
        let mut rules = Rules {
            programs: LocalPrograms::Allowed,
            reach: Reach::everything(),
            agent: None,
        };
        change(&mut rules);
        let caps = Arc::new(Bundle(module.clone()));
        Self {
            folder,
            runner: Arc::new(Runner::new(rules, options, module, caps)),
        }
    }

    pub(crate) fn module(&self) -> PathBuf {
        self.folder.path().join("module")
    }

    /// Runs one; what it said, and its error.
    pub(crate) async fn run(
        &self,
        kind: &str,
        config: &[(&str, Value)],
        connection: &[(&str, Value)],
    ) -> (Vec<String>, Result<(), String>) {
        let heard = Mutex::new(Vec::new());
        let hearer = |line: &str| heard.lock().unwrap().push(line.to_owned());
        let config = filled(provisioner_schema(kind).unwrap(), config);
        let connection = if connection.is_empty() {
            Value::null(connection_schema().ty())
        } else {
            filled(connection_schema(), connection)
        };
        let request = ProvisionRequest {
            kind,
            config: &config,
            connection: &connection,
            is_secret: false,
            hearer: &hearer,
        };
        let remarks = self.runner.provision(request).await;
        let result = match remarks.into_iter().next() {
            None => Ok(()),
            Some(remark) => {
                assert_eq!(remark.summary, format!("{kind} provisioner error"));
                Err(remark.detail)
            }
        };
        (heard.into_inner().unwrap(), result)
    }
}

/// An object of a block's type; what is not given is null.
fn filled(block: &Block, given: &[(&str, Value)]) -> Value {
    let attrs = block.attributes.keys().map(|name| {
        let found = given.iter().find(|(wanted, _)| *wanted == &**name);
        let value = found.map_or_else(|| Value::null(Type::Dynamic), |(_, value)| value.clone());
        (name.clone(), value)
    });
    let object = Value::object(attrs.collect::<Vec<_>>());
    convert(&object, &block.ty()).unwrap()
}

pub(crate) fn text(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref())
}

pub(crate) fn texts(items: &[&str]) -> Value {
    Value::tuple(items.iter().map(Value::string).collect())
}

/// Waits until a file is there.
pub(crate) async fn until_there(path: &Path) {
    let wait = async {
        while !path.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait)
        .await
        .unwrap();
}
