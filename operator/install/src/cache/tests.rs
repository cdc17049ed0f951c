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
