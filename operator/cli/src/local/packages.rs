//! Packages of modules in a folder: fetched as Terraform's `init` does it, but pinned by their content.
//!
//! The pins lie beside the state, in `.ashlar/modules.json`, and are obeyed until `--upgrade` forgets them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use ashlar_runner::{Packages, Pins};
use ashlar_sources::{Fetcher, Limits, Reach};
use serde::{Deserialize, Serialize};

use super::{cli_config, credentials, session};
use crate::{args::Fetching, printer::Printer};

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    modules: Pins,
}

/// Raised with each change of the form; another one is fetched anew.
const VERSION: u32 = 1;

/// The packages of one command.
pub(crate) struct Fetched {
    /// For the run.
    pub(crate) packages: Packages,
    path: PathBuf,
    before: Pins,
}

impl Fetched {
    /// Those for the modules of a folder.
    pub(crate) fn open(dir: &Path, fetching: &Fetching, printer: &Printer) -> anyhow::Result<Self> {
        let path = dir.join(".ashlar").join("modules.json");
        let before = if fetching.upgrade {
            Pins::new()
        } else {
            read(&path)?
        };
        let cache = session::cache_folder(dir).join("sources");
        let teller = *printer;
        let config = cli_config::load(printer)?;
        let opener = move || {
            let fetcher = Fetcher::new(cache.clone(), Limits::default(), Reach::everything())?;
            Ok((fetcher.with_git_program(), credentials::keyring(&config)))
        };
        let notice = move |package: &str, version: Option<&ashlar_addr::Version>, call: &str| {
            let version = version.map_or(String::new(), |version| format!(" {version}"));
            teller.note(&format!("Downloading {package}{version} for {call}..."));
        };
        let packages = Packages::new(opener, before.clone(), notice);
        Ok(Self {
            packages,
            path,
            before,
        })
    }

    /// Keeps the pins of what was found. `whole`: was all of the configuration loaded? Else those of the rest stay.
    pub(crate) fn keep(&self, whole: bool) -> anyhow::Result<()> {
        let mut pins = self.packages.pins();
        if !whole {
            for (call, pin) in &self.before {
                pins.entry(call.clone()).or_insert_with(|| pin.clone());
            }
        }
        if pins == self.before {
            return Ok(());
        }
        write(&self.path, &pins).with_context(|| format!("{} cannot be written", self.path.display()))
    }
}

fn read(path: &Path) -> anyhow::Result<Pins> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Pins::new()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let kept: Kept = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} cannot be read; --upgrade makes a new one", path.display()))?;
    Ok(if kept.version == VERSION {
        kept.modules
    } else {
        Pins::new()
    })
}

fn write(path: &Path, pins: &Pins) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(path);
    ashlar_store::file::make_own_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(
        &mut file,
        &Kept {
            version: VERSION,
            modules: pins.clone(),
        },
    )?;
    file.persist(path)?;
    Ok(())
}
