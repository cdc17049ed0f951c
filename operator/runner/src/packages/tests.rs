use std::sync::atomic::{AtomicUsize, Ordering};

use ashlar_addr::Constraints;
use ashlar_config::{Library, source::ModuleSource};
use ashlar_diag::{FileId, Span};
use ashlar_sources::{Limits, Reach};

use super::*;
use crate::modules::Folders;

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("work")).unwrap();
        let world = Self { root };
        world.write("package/main.tf", "module \"inner\" {\n  source = \"./sub\"\n}\n");
        world.write("package/sub/main.tf", "# sub");
        world.write("package/sub/data.txt", "data");
        world
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).unwrap()
    }

    fn packages(&self, known: Pins) -> (Packages, Arc<AtomicUsize>) {
        let cache = self.root.path().join("cache");
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let opener = move || {
            let fetcher = Fetcher::new(cache.clone(), Limits::default(), Reach::everything())?;
            Ok((fetcher, Keyring::default()))
        };
        let packages = Packages::new(opener, known, move |_, _, _| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (packages, told)
    }

    fn folders(&self, packages: &Packages) -> Folders {
        Folders {
            root: self.root.path().join("work"),
            dialect: Dialect::Terraform,
            confines: None,
            packages: Some(packages.clone()),
        }
    }

    /// `file://…/package`, or a folder in it.
    fn source(&self, folder: &str) -> String {
        format!("{}/package{folder}", self.root.path().display())
    }
}

fn find(
    library: &mut Folders,
    path: &str,
    source: &str,
    from: &str,
) -> Result<(String, Vec<String>), String> {
    let names = path.split('.').map(Into::into).collect::<Vec<_>>();
    let source = ModuleSource::parse(source, false).unwrap();
    let request = ModuleRequest {
        path: &Module(names.into()),
        source: &source,
        version: &Constraints::default(),
        from,
        span: Span {
            file: FileId(0),
            start: 0,
            end: 0,
        },
    };
    let found = library.find(&request);
    let found = found.map_err(|diags| {
        diags
            .iter()
            .map(|diag| diag.summary.to_string())
            .collect::<String>()
    })?;
    let files = found.files.iter().map(|(name, _)| name.to_string()).collect();
    Ok((found.folder.to_string(), files))
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_are_laid_where_terraform_installs_them() {
    let world = World::new();
    let (packages, _) = world.packages(Pins::new());
    let mut library = world.folders(&packages);
    let got = find(&mut library, "m", &world.source(""), ".").unwrap();
    let installed = ".terraform/modules/m";
    assert_eq!(got, (installed.to_owned(), vec![format!("{installed}/main.tf")]));
    // What the package calls by path lies in it.
    let got = find(&mut library, "m.inner", "./sub", installed).unwrap();
    assert_eq!(
        got,
        (
            format!("{installed}/sub"),
            vec![format!("{installed}/sub/main.tf")]
        )
    );
    assert_eq!(world.read("work/.terraform/modules/m/sub/data.txt"), "data");
    let got = find(&mut library, "m.inner.up", "../", &format!("{installed}/sub")).unwrap();
    assert_eq!(got.0, installed);
    for out in ["../other", "../../.."] {
        let told = find(&mut library, "m.out", out, installed).unwrap_err();
        assert_eq!(told, "Local module path escapes module package");
    }
    let got = find(&mut library, "n.deep", &world.source("//sub"), "n").unwrap();
    assert_eq!(got.0, ".terraform/modules/n.deep/sub");
    let told = find(&mut library, "o", &world.source("//none"), ".").unwrap_err();
    assert_eq!(told, "Unreadable module subdirectory");
    // Beside the root module nothing has changed.
    world.write("work/local/main.tf", "");
    assert_eq!(find(&mut library, "l", "./local", ".").unwrap().0, "local");
    assert_eq!(packages.pins().into_keys().collect::<Vec<_>>(), ["m", "n.deep"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_module_leaves_in_its_folder_stays_and_the_rest_is_as_pinned() {
    let world = World::new();
    let (packages, _) = world.packages(Pins::new());
    find(&mut world.folders(&packages), "m", &world.source(""), ".").unwrap();
    let installed = "work/.terraform/modules/m";
    world.write(&format!("{installed}/made.zip"), "made");
    world.write(&format!("{installed}/main.tf"), "changed");
    fs::remove_file(world.root.path().join(format!("{installed}/sub/data.txt"))).unwrap();
    world.write(
        "work/.terraform/modules/modules.json",
        r#"{"Modules":[{"Key":"","Dir":"."},{"Key":"m","Dir":"x"},{"Key":"m.inner","Dir":"y"},{"Key":"mm","Dir":"z"}]}"#,
    );
    let record = world.read("work/.terraform/modules/modules.json");
    find(&mut world.folders(&packages), "m", &world.source(""), ".").unwrap();
    assert!(world.read(&format!("{installed}/main.tf")).starts_with("module"));
    assert_eq!(world.read(&format!("{installed}/made.zip")), "made");
    assert_eq!(world.read(&format!("{installed}/sub/data.txt")), "data");
    // Terraform's record of what it installed there is no longer true.
    let without = world.read("work/.terraform/modules/modules.json");
    assert_eq!(
        without,
        r#"{"Modules":[{"Dir":".","Key":""},{"Dir":"z","Key":"mm"}]}"#
    );
    world.write("work/.terraform/modules/modules.json", &record);
    find(&mut world.folders(&packages), "m", &world.source(""), ".").unwrap();
    assert_eq!(
        world.read("work/.terraform/modules/modules.json"),
        record,
        "nothing was to be done"
    );
    // A link in its place is not followed.
    let outside = world.root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(world.root.path().join(installed)).unwrap();
    std::os::unix::fs::symlink(&outside, world.root.path().join(installed)).unwrap();
    find(&mut world.folders(&packages), "m", &world.source(""), ".").unwrap();
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    assert!(world.read(&format!("{installed}/main.tf")).starts_with("module"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_another_package_nothing_stays() {
    let world = World::new();
    let installed = "work/.terraform/modules/m";
    // Somebody else's, such as Terraform's of an older version.
    world.write(&format!("{installed}/stale.txt"), "stale");
    world.write(&format!("{installed}/main.tf"), "old");
    let lay = || {
        let (packages, _) = world.packages(Pins::new());
        find(&mut world.folders(&packages), "m", &world.source(""), ".").unwrap();
        let mut names: Vec<_> = fs::read_dir(world.root.path().join(installed))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(lay(), ["main.tf", "sub"]);
    // An older one of our own, with what the module made there.
    world.write(&format!("{installed}/made.zip"), "made");
    assert_eq!(lay(), ["made.zip", "main.tf", "sub"]);
    fs::remove_dir_all(world.root.path().join("package/sub")).unwrap();
    world.write("package/main.tf", "# next");
    assert_eq!(lay(), ["main.tf"]);
    // The same as Terraform laid, with its own beside.
    fs::remove_dir_all(world.root.path().join("work/.terraform/modules/.ashlar")).unwrap();
    world.write(&format!("{installed}/.git/HEAD"), "x");
    assert_eq!(lay(), [".git", "main.tf"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_opened_where_nothing_is_fetched() {
    let world = World::new();
    let (packages, told) = world.packages(Pins::new());
    world.write("work/local/main.tf", "");
    find(&mut world.folders(&packages), "l", "./local", ".").unwrap();
    assert!(!world.root.path().join("cache").exists());
    assert_eq!(told.load(Ordering::Relaxed), 0);
}
