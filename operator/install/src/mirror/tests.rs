use std::io::Write;

use super::*;

fn kiln() -> Provider {
    "forge.test/studio/kiln".parse().unwrap()
}

fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn packed(path: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (name, content) in files {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
}

/// Two mirrors: the first holds 0.9.0 and 1.0.0 unpacked, the second 1.0.0 and 1.1.0 packed and a prerelease unpacked.
fn lay(root: &Path) -> Mirrors {
    let (platform, place) = (Platform::here().to_string(), "forge.test/studio/kiln");
    for (mirror, version) in [("a", "0.9.0"), ("a", "1.0.0"), ("b", "2.0.0-rc1")] {
        let name = format!("terraform-provider-kiln_v{version}");
        program(
            &root
                .join(mirror)
                .join(place)
                .join(version)
                .join(&platform)
                .join(name),
        );
    }
    for version in ["1.0.0", "1.1.0"] {
        let zip = root
            .join("b")
            .join(place)
            .join(format!("terraform-provider-kiln_{version}_{platform}.zip"));
        packed(
            &zip,
            &[
                ("LICENSE", "free"),
                (&format!("terraform-provider-kiln_v{version}_x5"), "bin"),
            ],
        );
    }
    fs::create_dir_all(root.join("b").join(place).join("3.0.0/plan9_mips")).unwrap();
    fs::write(root.join("b").join(place).join("notes.txt"), "").unwrap();
    Mirrors {
        folders: vec![root.join("a"), root.join("missing"), root.join("b")],
        cache: Cache::new(root.join("cache"), 1 << 30),
    }
}

fn check(constraints: &str, expected: Result<&str, &str>) {
    let root = tempfile::tempdir().unwrap();
    let mirrors = lay(root.path());
    let constraints = constraints.parse().unwrap();
    let got = mirrors
        .select(&kiln(), &constraints)
        .and_then(|package| mirrors.binary(&kiln(), &package))
        .map(|path| path.strip_prefix(root.path()).unwrap().display().to_string())
        .map_err(|error| {
            error
                .to_string()
                .replace(&root.path().display().to_string(), "ROOT")
        });
    let cache = fs::read_dir(root.path().join("cache")).ok().and_then(|entries| {
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .find(|name| !name.ends_with(".use"))
    });
    let cache = cache.unwrap_or_default();
    let expected = expected
        .map(|path| {
            path.replace("PLATFORM", &Platform::here().to_string())
                .replace("HASH", &cache)
        })
        .map_err(str::to_owned);
    assert_eq!(got, expected);
}

#[test]
fn selection() {
    check(">= 0.1", Ok("cache/HASH/terraform-provider-kiln_v1.1.0_x5"));
    check(
        "1.0.0",
        Ok("a/forge.test/studio/kiln/1.0.0/PLATFORM/terraform-provider-kiln_v1.0.0"),
    );
    check(
        "< 1",
        Ok("a/forge.test/studio/kiln/0.9.0/PLATFORM/terraform-provider-kiln_v0.9.0"),
    );
    check(
        "2.0.0-rc1",
        Ok("b/forge.test/studio/kiln/2.0.0-rc1/PLATFORM/terraform-provider-kiln_v2.0.0-rc1"),
    );
    check(
        "~> 7.0",
        Err(
            "no version of provider forge.test/studio/kiln in the mirrors (ROOT/a, ROOT/missing, ROOT/b) meets \
             \"~> 7.0\"; there are: 0.9.0, 1.0.0, 1.1.0, 2.0.0-rc1",
        ),
    );
}

#[test]
fn absent() {
    let root = tempfile::tempdir().unwrap();
    let mirrors = lay(root.path());
    let other: Provider = "forge.test/studio/other".parse().unwrap();
    let error = mirrors
        .select(&other, &Constraints::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("provider forge.test/studio/other is in none of the mirrors ("),
        "{error}"
    );
    assert!(error.contains("/missing, "), "{error}");
}

#[test]
fn a_package_without_a_program() {
    let root = tempfile::tempdir().unwrap();
    let mirrors = Mirrors {
        folders: vec![root.path().join("m")],
        cache: Cache::new(root.path().join("cache"), 1 << 30),
    };
    let folder = root
        .path()
        .join("m/forge.test/studio/kiln/1.0.0")
        .join(Platform::here().to_string());
    fs::create_dir_all(&folder).unwrap();
    // Not executable, and the program of a provider whose name only begins alike.
    fs::write(folder.join("terraform-provider-kiln"), "").unwrap();
    program(&folder.join("terraform-provider-kilnv5"));
    let package = mirrors.select(&kiln(), &Constraints::default()).unwrap();
    assert!(matches!(
        mirrors.binary(&kiln(), &package),
        Err(MirrorError::NoBinary { .. })
    ));
}
