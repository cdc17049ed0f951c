#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use ashlar_sources::shelf::size_of;
use zip::{ZipWriter, write::SimpleFileOptions};

use std::{io::Write, path::Path, time::SystemTime};

use super::*;

/// An archive with one file, and its hash.
fn archive(content: &[u8]) -> (File, String) {
    let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
    writer
        .start_file("program", SimpleFileOptions::default())
        .unwrap();
    writer.write_all(content).unwrap();
    let mut file = writer.finish().unwrap();
    let sum = hash::of_archive(&mut file).unwrap();
    (file, sum)
}

fn names(folder: &Path, beginning: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(beginning) && !name.ends_with(".use"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_package_is_kept_by_its_content() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().join("c"), 1 << 20);
    let (file, sum) = archive(b"one");
    assert!(cache.find(&sum).unwrap().is_none());
    let kept = cache.take_in(&file, &sum).unwrap();
    assert_eq!(fs::read(kept.folder.join("program")).unwrap(), b"one");
    let again = cache.find(&sum).unwrap().unwrap();
    assert_eq!((again.folder, again.h1.clone()), (kept.folder.clone(), kept.h1));
    assert_eq!(
        again.h1.unwrap(),
        hash::of_folder(&kept.folder, &hash::sum_of).unwrap()
    );
    assert!(cache.find("zh:../../etc").unwrap().is_none());
    assert!(names(&root.path().join("c"), "half-").is_empty());
}

#[test]
fn an_archive_that_ends_too_soon_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 1 << 20);
    let (file, _) = archive(&[7; 100_000]);
    file.set_len(file.metadata().unwrap().len() - 30).unwrap();
    let mut file = file;
    let sum = hash::of_archive(&mut file).unwrap();
    assert!(matches!(cache.take_in(&file, &sum), Err(UnpackError::Zip(_))));
    assert_eq!(names(root.path(), ""), Vec::<String>::new());
    assert!(cache.find(&sum).unwrap().is_none());
}

#[test]
fn many_at_once_make_one() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 1 << 20);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (file, sum) = archive(b"same");
                let kept = cache.take_in(&file, &sum).unwrap();
                assert_eq!(fs::read(kept.folder.join("program")).unwrap(), b"same");
            });
        }
    });
    assert_eq!(names(root.path(), "sha256-").len(), 1);
    assert!(names(root.path(), "half-").is_empty());
}

#[test]
fn what_was_not_used_for_longest_goes_first_and_what_is_in_use_stays() {
    let root = tempfile::tempdir().unwrap();
    // Room for two: each counts as a block.
    let cache = Cache::new(root.path().to_owned(), 2 * 4096);
    let (one, two, three) = (archive(b"one"), archive(b"two"), archive(b"three"));
    let used = cache.take_in(&one.0, &one.1).unwrap();
    let old = |kept: &Kept, seconds: u64| {
        let mark = File::options()
            .append(true)
            .open(kept.folder.with_extension("use"))
            .unwrap();
        mark.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
            .unwrap();
    };
    let unused = cache.take_in(&two.0, &two.1).unwrap();
    old(&used, 1);
    old(&unused, 2);
    drop(unused);
    let third = cache.take_in(&three.0, &three.1).unwrap();
    assert!(cache.find(&one.1).unwrap().is_some(), "it is in use");
    assert!(cache.find(&two.1).unwrap().is_none(), "nobody used it");
    assert!(third.folder.is_dir());
    assert_eq!(names(root.path(), "sha256-").len(), 2);
}

#[test]
fn what_a_source_had_is_remembered() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 1 << 20);
    let known = Known {
        archive: hash::of_sum(&"ab".repeat(32)),
        vouched: ["zh:x".to_owned()].into(),
        key: Some("K".to_owned()),
    };
    assert_eq!(cache.recall(&["r", "p"]), None);
    cache.remember(&["r", "p"], &known).unwrap();
    assert_eq!(cache.recall(&["r", "p"]), Some(known));
    assert_eq!(cache.recall(&["rp", ""]), None);
    let noted = fs::read_dir(root.path().join("known")).unwrap().next().unwrap();
    fs::write(noted.unwrap().path(), "{").unwrap();
    assert_eq!(cache.recall(&["r", "p"]), None);
}

#[test]
fn a_damaged_package_makes_room() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 1 << 20);
    let (file, sum) = archive(b"one");
    let kept = cache.take_in(&file, &sum).unwrap();
    fs::write(kept.folder.join("program"), "other").unwrap();
    cache.discard(&kept).unwrap();
    cache.discard(&kept).unwrap();
    assert!(cache.find(&sum).unwrap().is_none());
    let kept = cache.take_in(&file, &sum).unwrap();
    assert_eq!(fs::read(kept.folder.join("program")).unwrap(), b"one");
}

#[test]
fn no_more_is_unpacked_than_is_allowed() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 16 << 20).with_unpacked(3 << 20);
    let (file, sum) = archive(&vec![0; (3 << 20) + 1]);
    let refused = cache.take_in(&file, &sum).unwrap_err().to_string();
    assert!(
        refused.starts_with("it unpacks to 4 MiB, more than the 3 MiB that a package may have"),
        "{refused}"
    );
    assert_eq!(names(root.path(), ""), Vec::<String>::new());
    let (file, sum) = archive(&vec![0; 3 << 20]);
    cache.take_in(&file, &sum).unwrap();
}

#[test]
fn zeros_that_many_unpack_at_once_never_take_more_than_the_cache_may_have() {
    let root = tempfile::tempdir().unwrap();
    let most = 8 << 20;
    let cache = Cache::new(root.path().to_owned(), most).with_unpacked(3 << 20);
    let done = std::sync::atomic::AtomicBool::new(false);
    let watch = || {
        let mut largest = 0;
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            // What goes away meanwhile is not counted.
            largest = largest.max(size_of(root.path()).unwrap_or(0));
            std::thread::yield_now();
        }
        largest
    };
    let largest = std::thread::scope(|scope| {
        let watching = scope.spawn(watch);
        let unpacking: Vec<_> = (0..8u8)
            .map(|at| {
                let cache = &cache;
                scope.spawn(move || {
                    let (file, sum) = archive(&vec![at; 2 << 20]);
                    cache.take_in(&file, &sum).map(drop)
                })
            })
            .collect();
        for one in unpacking {
            one.join().unwrap().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        watching.join().unwrap()
    });
    // What gets its name while it is looked for is seen twice, and marks take a little beside it.
    assert!(largest < most + (3 << 20), "{largest}");
    assert!(names(root.path(), "sha256-").len() <= 4);
}

#[test]
fn what_finds_no_room_beside_what_is_in_use_is_refused_with_the_figures() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 4 << 20);
    let (file, sum) = archive(&vec![1; 3 << 20]);
    let used = cache.take_in(&file, &sum).unwrap();
    let (next, next_sum) = archive(&vec![2; 2 << 20]);
    let refused = cache.take_in(&next, &next_sum).unwrap_err();
    let UnpackError::Full { wanted, most, taken } = refused else {
        panic!("{refused}");
    };
    assert_eq!((wanted, most, taken), (2 << 20, 4 << 20, 3 << 20));
    assert_eq!(
        names(root.path(), ""),
        [used.folder.file_name().unwrap().to_str().unwrap()]
    );
    drop(used);
    cache.take_in(&next, &next_sum).unwrap();
    assert!(cache.find(&sum).unwrap().is_none(), "it made room");
}

#[test]
fn what_broken_off_work_left_takes_room() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 4 << 20);
    let left = root.path().join("half-left");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("zeros"), vec![0; 3 << 20]).unwrap();
    let (file, sum) = archive(&vec![2; 2 << 20]);
    let refused = cache.take_in(&file, &sum).unwrap_err();
    assert!(matches!(refused, UnpackError::Full { .. }), "{refused}");
    let long_ago = SystemTime::now() - std::time::Duration::from_secs(ABANDONED + 60);
    File::open(&left).unwrap().set_modified(long_ago).unwrap();
    cache.take_in(&file, &sum).unwrap();
    assert!(!left.exists());
}

#[test]
fn a_draft_that_is_not_kept_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::new(root.path().to_owned(), 1 << 20);
    let (file, sum) = archive(b"one");
    let draft = cache.unpack(&file, &sum).unwrap();
    assert!(draft.h1.starts_with("h1:"));
    drop(draft);
    assert_eq!(names(root.path(), ""), Vec::<String>::new());
}
