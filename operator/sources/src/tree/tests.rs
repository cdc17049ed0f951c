use std::{
    fs,
    time::{Duration, Instant},
};

use super::*;
use crate::FaultKind;

struct Made {
    _place: tempfile::TempDir,
    outcome: Result<Vec<String>, Fault>,
    digest: String,
}

fn make_with(limits: &Limits, build: impl FnOnce(&mut Tree) -> Result<(), Fault>) -> Made {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tree");
    fs::create_dir(&folder).unwrap();
    let mut tree = Tree::new(&folder, limits, Instant::now() + Duration::from_secs(60));
    let built = build(&mut tree).and_then(|()| tree.finish());
    // Whatever it was, nothing lies beside the folder.
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    let found = digest(&folder).unwrap();
    if let Ok(built) = &built {
        assert_eq!(*built, found, "the digest is that of what lies there");
    }
    let mut names = Vec::new();
    list(&folder, "", &mut names);
    Made {
        _place: place,
        outcome: built.map(|_| names),
        digest: found,
    }
}

fn make(build: impl FnOnce(&mut Tree) -> Result<(), Fault>) -> Made {
    make_with(&Limits::default(), build)
}

fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}

fn sound(want: &[&str], build: impl FnOnce(&mut Tree) -> Result<(), Fault>) {
    assert_eq!(make(build).outcome.unwrap(), want);
}

fn refused(part: &str, build: impl FnOnce(&mut Tree) -> Result<(), Fault>) {
    let fault = make(build).outcome.unwrap_err();
    assert!(
        fault.kind == FaultKind::Refused && fault.text.contains(part),
        "{fault:?}"
    );
}

#[test]
fn names_stay_inside() {
    sound(&["a/b/c"], |tree| tree.file("./a//b/./c", false, &mut &b"x"[..]));
    for (name, part) in [
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("a/..", "leads out"),
        ("/etc/x", "absolute"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("", "without a name"),
    ] {
        refused(part, |tree| tree.file(name, false, &mut &b"x"[..]));
    }
    refused("255 bytes", |tree| {
        tree.file(&"n".repeat(256), false, &mut &b"x"[..])
    });
    refused("4096 bytes", |tree| {
        tree.file(&"n/".repeat(3000), false, &mut &b"x"[..])
    });
    refused("leads out", |tree| tree.folder("../x"));
    refused("leads out", |tree| tree.link("../x", "y"));
}

#[test]
fn nothing_is_there_twice() {
    let file = |tree: &mut Tree, name: &str| tree.file(name, false, &mut &b"x"[..]);
    refused("twice", |tree| file(tree, "a").and_then(|()| file(tree, "a")));
    refused("something else", |tree| {
        file(tree, "a").and_then(|()| file(tree, "a/b"))
    });
    refused("twice", |tree| file(tree, "a/b").and_then(|()| file(tree, "a")));
    refused("something else", |tree| {
        tree.link("a", "b").and_then(|()| file(tree, "a/x"))
    });
    refused("differ in case", |tree| {
        file(tree, "a/main.tf").and_then(|()| file(tree, "a/MAIN.tf"))
    });
    refused("differ in case", |tree| {
        file(tree, "A/x").and_then(|()| file(tree, "a/y"))
    });
    sound(&["a/x", "a/y"], |tree| {
        file(tree, "a/x").and_then(|()| file(tree, "a/y"))
    });
}

#[test]
fn links_become_what_they_lead_to_inside() {
    let file = |tree: &mut Tree, name: &str| tree.file(name, false, &mut &b"x"[..]);
    sound(&["a", "b", "c", "d/e"], |tree| {
        tree.link("b", "a")?;
        tree.link("c", "b")?;
        tree.link("d/e", ".././c")?;
        file(tree, "a")
    });
    // A folder with the links that are in it.
    sound(&["a/x", "a/y", "b/x", "b/y"], |tree| {
        tree.link("b", "a")?;
        tree.link("a/y", "x")?;
        file(tree, "a/x")
    });
    // To nothing, and to each other.
    sound(&["a"], |tree| {
        tree.link("b", "none")?;
        tree.link("c", "d")?;
        tree.link("d", "c")?;
        file(tree, "a")
    });
    for target in ["/etc/passwd", "../x", "a/../../x"] {
        refused("leads out", |tree| tree.link("b", target));
    }
    refused("no end", |tree| {
        file(tree, "a/x").and_then(|()| tree.link("a/self", ".."))
    });
    refused("no end", |tree| {
        file(tree, "a/x").and_then(|()| tree.link("a/self", "."))
    });
    // What links multiply counts.
    let limits = Limits {
        files: 50,
        ..Limits::default()
    };
    let bomb = make_with(&limits, |tree| {
        file(tree, "f0/x")?;
        for n in 0..20 {
            tree.link(&format!("f{}/a", n + 1), &format!("../f{n}"))?;
            tree.link(&format!("f{}/b", n + 1), &format!("../f{n}"))?;
        }
        Ok(())
    });
    assert!(bomb.outcome.unwrap_err().text.contains("more than 50 files"));
}

#[test]
fn limits_hold_for_what_comes() {
    let limits = Limits {
        unpacked_bytes: 100,
        file_bytes: 60,
        files: 3,
        path_depth: 3,
        ..Limits::default()
    };
    let check = |part: &str, build: &dyn Fn(&mut Tree) -> Result<(), Fault>| {
        let outcome = make_with(&limits, build).outcome;
        match part {
            "" => drop(outcome.unwrap()),
            part => assert!(outcome.as_ref().unwrap_err().text.contains(part), "{outcome:?}"),
        }
    };
    check("", &|tree| tree.file("a/b/c", false, &mut &[0; 60][..]));
    check("for one file", &|tree| tree.file("a", false, &mut &[0; 61][..]));
    check("for one file", &|tree| tree.file("a", false, &mut io::repeat(0)));
    check("all its files", &|tree| {
        tree.file("a", false, &mut &[0; 60][..])?;
        tree.file("b", false, &mut &[0; 60][..])
    });
    check("more than 3 files", &|tree| {
        (0..4).try_for_each(|n| tree.folder(&n.to_string()))
    });
    check("limit of 3", &|tree| tree.file("a/b/c/d", false, &mut &b""[..]));
    let slow = make_with(&limits, |tree| {
        tree.deadline = Instant::now();
        tree.file("a", false, &mut &b"x"[..])
    });
    assert!(slow.outcome.unwrap_err().text.contains("longer than"));
}

#[test]
fn the_digest_is_of_names_contents_and_programs() {
    let one = |name: &str, text: &str, program: bool| {
        make(|tree| tree.file(name, program, &mut text.as_bytes())).digest
    };
    let all = [
        one("a", "x", false),
        one("b", "x", false),
        one("a", "y", false),
        one("a", "x", true),
        make(|_| Ok(())).digest,
    ];
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!(one("a", "x", false), all[0]);
    // Empty folders are no content.
    let with_folder = make(|tree| {
        tree.folder("empty")
            .and_then(|()| tree.file("a", false, &mut &b"x"[..]))
    });
    assert_eq!(with_folder.digest, all[0]);
}

#[test]
fn folders_that_are_only_implied_are_counted_and_so_are_names() {
    let limits = Limits {
        files: 10,
        ..Limits::default()
    };
    let fails = |build: &dyn Fn(&mut Tree) -> Result<(), Fault>| {
        let made = make_with(&limits, build);
        made.outcome.unwrap_err().text
    };
    let told = fails(&|tree| tree.file("a/b/c/d/e/f/g/h/i/j/k", false, &mut &b"x"[..]));
    assert!(told.contains("more than 10 files"), "{told}");
    let made = make_with(&limits, |tree| {
        tree.file("a/b/c/d/e/f/g/h/i/j", false, &mut &b"x"[..])
    });
    assert_eq!(made.outcome.unwrap(), ["a/b/c/d/e/f/g/h/i/j"]);
    let long = vec!["n".repeat(250); 16].join("/");
    let told = fails(&|tree| (0..5).try_for_each(|n| tree.link(&n.to_string(), &long)));
    assert!(told.contains("too long all together"), "{told}");
    let told = fails(&|tree| tree.link("l", &"n/".repeat(3000)));
    assert!(told.contains("longer than 4096 bytes"), "{told}");
}
