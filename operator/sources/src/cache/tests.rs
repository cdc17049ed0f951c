use std::time::{Duration, Instant, SystemTime};

use super::*;
use crate::tree::Tree;

fn cache(folder: &Path, cache_bytes: u64) -> Cache {
    let limits = Limits {
        cache_bytes,
        ..Limits::default()
    };
    Cache::new(folder.to_owned(), limits).unwrap()
}

fn keep(cache: &Cache, text: &str) -> Content {
    let half = cache.half().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut tree = Tree::new(&half.folder, &Limits::default(), deadline);
    tree.file("sub/a", false, &mut text.as_bytes()).unwrap();
    let digest = tree.finish().unwrap();
    cache.keep(&half, &digest, text).unwrap()
}

/// Pretends that it was used so long ago.
fn age(content: &Content, seconds: u64) {
    let mark = File::options()
        .append(true)
        .open(content.folder.with_extension("use"))
        .unwrap();
    mark.set_modified(SystemTime::now() - Duration::from_secs(seconds))
        .unwrap();
}

#[test]
fn content_is_found_again_by_digest_and_by_source() {
    let place = tempfile::tempdir().unwrap();
    let one = cache(place.path(), u64::MAX);
    let content = keep(&one, "x");
    one.remember(&["git", "r", "c"], &content).unwrap();
    // As another process would.
    let other = cache(place.path(), u64::MAX);
    let found = other.find(&content.digest, "r").unwrap().unwrap();
    assert_eq!((found.folder, &*found.revision), (content.folder.clone(), "r"));
    let found = other.recall(&["git", "r", "c"]).unwrap().unwrap();
    assert_eq!((found.digest, &*found.revision), (content.digest.clone(), "x"));
    // Parts that join to the same text are other parts.
    assert!(other.recall(&["git", "rc"]).unwrap().is_none());
    assert!(other.recall(&["gitr", "", "c"]).unwrap().is_none());
    assert!(one.find("sha256:../../etc", "r").is_err());
    assert!(
        one.find(&format!("sha256:{}", "0".repeat(64)), "r")
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_is_damaged_is_noticed_and_replaced() {
    let place = tempfile::tempdir().unwrap();
    let cache = cache(place.path(), u64::MAX);
    let content = keep(&cache, "x");
    cache.remember(&["s"], &content).unwrap();
    for damage in [
        |folder: &Path| fs::write(folder.join("sub/a"), "y").unwrap(),
        |folder: &Path| fs::write(folder.join("new"), "").unwrap(),
        |folder: &Path| fs::remove_file(folder.join("sub/a")).unwrap(),
        |folder: &Path| std::os::unix::fs::symlink("/etc", folder.join("link")).unwrap(),
    ] {
        damage(&content.folder);
        // By another process: each looks once.
        let other = self::cache(place.path(), u64::MAX);
        assert!(other.find(&content.digest, "x").unwrap().is_none());
        assert!(other.recall(&["s"]).unwrap().is_none());
        let again = keep(&cache, "x");
        assert_eq!(fs::read_to_string(again.folder.join("sub/a")).unwrap(), "x");
        assert!(other.recall(&["s"]).unwrap().is_some());
        fs::write(again.folder.join("sub/a"), "y").unwrap();
        assert!(other.recall(&["s"]).unwrap().is_some(), "it is not read again");
    }
    let known = fs::read_dir(place.path().join("known")).unwrap().next().unwrap();
    fs::write(known.unwrap().path(), "{\"digest\":\"sha256:../..\",").unwrap();
    assert!(cache.recall(&["s"]).unwrap().is_none());
}

#[test]
fn the_oldest_makes_room_but_not_what_is_in_use() {
    let place = tempfile::tempdir().unwrap();
    // Room for two: each file takes 4 KiB at least.
    let cache = cache(place.path(), 9000);
    let names = || {
        let mut names: Vec<String> = fs::read_dir(place.path().join("content"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| fs::read_to_string(path.join("sub/a")).unwrap())
            .collect();
        names.sort();
        names.concat()
    };
    let in_use = keep(&cache, "a");
    age(&in_use, 1000);
    let old = keep(&cache, "b");
    age(&old, 500);
    drop(old);
    let newer = keep(&cache, "c");
    assert_eq!(names(), "ac", "the oldest that nobody uses goes");
    age(&newer, 100);
    drop(newer);
    let _other = keep(&cache, "d");
    assert_eq!(names(), "ad");
    let _more = keep(&cache, "e");
    assert_eq!(names(), "ade", "what is in use stays, even if it is too much");
    // A reader in another process holds it as well.
    drop(in_use);
    let there = Cache::new(place.path().to_owned(), Limits::default()).unwrap();
    let digest = keep(&there, "a").digest;
    let held = there.find(&digest, "a").unwrap().unwrap();
    age(&held, 1000);
    let _last = keep(&cache, "f");
    assert!(names().contains('a'));
    drop(held);
}

#[test]
fn work_that_broke_off_is_cleared_away_and_work_in_progress_is_not() {
    let place = tempfile::tempdir().unwrap();
    let cache = cache(place.path(), u64::MAX);
    let old = place.path().join("half-old");
    fs::create_dir(&old).unwrap();
    let before = SystemTime::now() - Duration::from_secs(3600);
    let progress = cache.half().unwrap();
    for folder in [old.as_path(), progress.scratch()] {
        File::open(folder).unwrap().set_modified(before).unwrap();
    }
    keep(&cache, "x");
    assert!(!old.exists() && progress.folder.exists());
    let scratch = progress.scratch().to_owned();
    drop(progress);
    assert!(!scratch.exists());
}

#[test]
fn many_at_once_end_with_one_sound_content() {
    let place = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let folder = place.path();
            scope.spawn(move || {
                let cache = cache(folder, 5000);
                for _ in 0..10 {
                    let content = keep(&cache, "same");
                    assert_eq!(fs::read_to_string(content.folder.join("sub/a")).unwrap(), "same");
                    drop(content);
                    drop(keep(&cache, &format!("other {n}")));
                }
            });
        }
    });
}
