//! Slash-separated paths by their text alone, as Go's `path/filepath` has them on Unix. No file is looked at.

/// The shortest path that means the same: no empty parts, no `.`, and `..` only at the beginning.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Two paths one after the other, clean; empty ones do not count.
pub(crate) fn join(first: &str, second: &str) -> String {
    match (first, second) {
        ("", "") => String::new(),
        ("", only) | (only, "") => clean(only),
        _ => clean(&format!("{first}/{second}")),
    }
}

/// The last part.
pub(crate) fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match (path, trimmed) {
        ("", _) => ".",
        (_, "") => "/",
        _ => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// All but the last part, clean.
pub(crate) fn dir(path: &str) -> String {
    clean(path.rfind('/').map_or("", |at| &path[..=at]))
}

/// The path from a folder to a target, both clean; `None` if it cannot be told from their text.
pub(crate) fn relative(folder: &str, target: &str) -> Option<String> {
    if folder.starts_with('/') != target.starts_with('/') {
        return None;
    }
    let parts = |path: &'_ str| -> Vec<String> {
        path.split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .map(str::to_owned)
            .collect()
    };
    let (folder, target) = (parts(folder), parts(target));
    let common = folder.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = &folder[common..];
    if up.iter().any(|part| part == "..") {
        return None;
    }
    let steps: Vec<&str> = up
        .iter()
        .map(|_| "..")
        .chain(target[common..].iter().map(String::as_str))
        .collect();
    Some(if steps.is_empty() {
        ".".to_owned()
    } else {
        steps.join("/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_go() {
        for (path, want) in [
            ("", "."),
            ("a//b/./c/..", "a/b"),
            ("/../a", "/a"),
            ("../../a", "../../a"),
            ("a/..", "."),
            ("/", "/"),
        ] {
            assert_eq!(clean(path), want, "{path:?}");
        }
        for (path, want) in [
            ("", "."),
            ("/", "/"),
            ("//", "/"),
            ("a/b/", "b"),
            ("..", ".."),
            ("a\\b", "a\\b"),
        ] {
            assert_eq!(base(path), want, "{path:?}");
        }
        for (path, want) in [
            ("a/b/", "a/b"),
            ("a", "."),
            ("/", "/"),
            ("//a", "/"),
            ("a/b", "a"),
            ("", "."),
        ] {
            assert_eq!(dir(path), want, "{path:?}");
        }
        for (folder, target, want) in [
            ("a/b", "a/c", Some("../c")),
            (".", "a", Some("a")),
            ("a", "a", Some(".")),
            ("../x", "../x/a", Some("a")),
            ("../x", "a", None),
            ("/a", "a", None),
        ] {
            assert_eq!(relative(folder, target).as_deref(), want, "{folder:?} {target:?}");
        }
        assert_eq!(join("a", "/b"), "a/b");
        assert_eq!(join("", ""), "");
    }
}
