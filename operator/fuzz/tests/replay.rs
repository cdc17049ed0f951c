//! All inputs that are kept, through the checks that they are kept for.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use ashlar_fuzz::{TARGETS, Target};
use base64::prelude::{BASE64_STANDARD, Engine as _};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn replay(target: &Target, input: &[u8], from: &str) -> bool {
    let run = panic::catch_unwind(|| (target.check)(input));
    assert!(run.is_ok(), "{}: {from} shows a fault", target.name);
    run.unwrap_or(false)
}

#[test]
fn the_corpora_hold() {
    for target in TARGETS {
        let text = fs::read_to_string(folder(&format!("corpus/{}.txt", target.name))).unwrap();
        let mut read = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let input = BASE64_STANDARD.decode(line).unwrap();
            let from = format!("line {number} of its corpus");
            read += usize::from(replay(target, &input, &from));
        }
        // A corpus that a new form has left behind would try nothing any more.
        assert!(read > 2, "the corpus of {} is all refused", target.name);
    }
}

#[test]
fn what_was_found_stays_mended() {
    let mut known = Vec::new();
    for entry in fs::read_dir(folder("found")).unwrap() {
        known.push(entry.unwrap().file_name().into_string().unwrap());
    }
    for name in known {
        let target = TARGETS.iter().find(|target| target.name == name);
        let target = target.unwrap_or_else(|| panic!("found/{name} is of no target"));
        for entry in fs::read_dir(folder("found").join(name)).unwrap() {
            let file = entry.unwrap().path();
            replay(target, &fs::read(&file).unwrap(), &file.display().to_string());
        }
    }
}
