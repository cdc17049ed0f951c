use ashlar_addr::Module;
use ashlar_config::{FoundModule, Library, ModuleRequest, load, source::ModuleSource};
use ashlar_diag::{Diag, Diags};

use super::*;

/// Modules by folder, each of one file.
struct Known(&'static [(&'static str, &'static str)]);

impl Library for Known {
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let ModuleSource::Local(path) = request.source else {
            return Err(Diags::new());
        };
        let folder = clean(&format!("{}/{path}", request.from));
        let found = self.0.iter().find(|(known, _)| **known == folder);
        let (_, text) = found.ok_or_else(|| Diags::from(Diag::error("Lost", "It is not there.")))?;
        let name = format!("{folder}/main.tf");
        Ok(FoundModule {
            folder: folder.into(),
            files: vec![(name.into(), (*text).into())],
        })
    }
}

#[test]
fn files_of_values_beside_the_root_module_are_found_in_their_order() {
    let names = [
        "prod/b.auto.tfvars",
        "prod/a.auto.tfvars.json",
        "prod/terraform.tfvars.json",
        "prod/terraform.tfvars",
        "prod/other.tfvars",
        "prod/m/terraform.tfvars",
        "terraform.tfvars",
    ];
    let package = Package {
        root: "prod".to_owned(),
        files: names.map(|name| (name.to_owned(), Arc::default())).into(),
        held: BTreeSet::new(),
        modules: None,
    };
    let found: Vec<_> = package.value_files().into_iter().map(|(name, _)| name).collect();
    let want = [
        "terraform.tfvars",
        "terraform.tfvars.json",
        "a.auto.tfvars.json",
        "b.auto.tfvars",
    ];
    assert_eq!(found, want.map(Arc::from));
}

#[test]
fn what_counts_is_below_the_modules_unless_a_path_climbs() {
    let check = |main: &str, modules: &'static [(&'static str, &'static str)], want: &[&str]| {
        let files = vec![("main.tf".into(), main.into())];
        let mut sources = Sources::new();
        let dialect = Dialect::Terraform;
        let (tree, diags) = load(
            files,
            dialect,
            &BTreeMap::new(),
            &mut Known(modules),
            &mut sources,
        );
        let folders = folders_that_count(&tree, "deploy/prod", &sources, !diags.has_errors());
        assert_eq!(
            folders.iter().map(|folder| &**folder).collect::<Vec<_>>(),
            want,
            "{main}: {diags}"
        );
    };
    check("", &[], &["deploy/prod"]);
    check(
        "module \"a\" {\n  source = \"../../modules/a\"\n}\nlocals {\n  x = max([1, 2]...)\n}\n",
        &[
            ("../../modules/a", "module \"b\" {\n  source = \"../b\"\n}\n"),
            ("../../modules/b", ""),
        ],
        &["deploy/prod", "modules/a", "modules/b"],
    );
    check("output \"x\" {\n  value = file(\"../x\")\n}\n", &[], &["."]);
    check(
        "module \"a\" {\n  source = \"./a\"\n}\n",
        &[("a", "output \"x\" {\n  value = \"${path.module}/../x\"\n}\n")],
        &["."],
    );
    check("output {", &[], &["."]);
    check("module \"a\" {\n  source = \"./lost\"\n}\n", &[], &["."]);
}

#[test]
fn a_call_of_a_module_is_not_missed() {
    for (text, want) in [
        ("module \"a\" {", true),
        ("\nmodule\t\"a\" {", true),
        ("{\"module\": {}}", true),
        ("x = \"${path.module}/a\"", false),
        ("x = path.module\n", false),
        ("my_module \"a\"", false),
    ] {
        assert_eq!(may_call_modules(text.as_bytes()), want, "{text}");
    }
}

#[test]
fn files_are_read_below_the_folders_and_once() {
    let (source, fetched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |folder: &Path, name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (name, text) in [
        ("a/main.tf", "x"),
        ("a/b/t", "y"),
        ("c/main.tf", "z"),
        ("README", "r"),
    ] {
        write(source.path(), name, text);
    }
    // A source may have files of its own where a package is installed: they are not those of the package.
    write(source.path(), "a/.terraform/modules/m/m.tf", "planted");
    write(source.path(), "a/.terraform/modules/m/more.tf", "planted");
    write(fetched.path(), "m.tf", "");
    write(fetched.path(), "sub/n.tf", "");
    let place = |folder: &str, content: &Path| Place {
        folder: folder.to_owned(),
        content: content.to_owned(),
    };
    let places = [
        place(".", source.path()),
        place("a/.terraform/modules/m", fetched.path()),
    ];
    let take = |folders: &[&str]| {
        read(
            &places,
            &folders.iter().map(|folder| (*folder).to_owned()).collect(),
        )
    };
    let names = |folders: &[&str]| take(folders).unwrap().into_keys().collect::<Vec<_>>();
    assert_eq!(names(&["a/b"]), ["a/b/t"]);
    assert_eq!(
        names(&["a", "a/b"]),
        [
            "a/.terraform/modules/m/m.tf",
            "a/.terraform/modules/m/sub/n.tf",
            "a/b/t",
            "a/main.tf"
        ]
    );
    assert_eq!(
        names(&["a/b", "a/.terraform/modules/m/sub"]),
        ["a/.terraform/modules/m/sub/n.tf", "a/b/t"]
    );
    assert_eq!(
        take(&["a"]).unwrap()["a/.terraform/modules/m/m.tf"],
        Arc::from(*b"")
    );
    assert_eq!(names(&["."]).len(), 6);
    let package = Package {
        root: "a".to_owned(),
        files: take(&["a"]).unwrap(),
        held: BTreeSet::new(),
        modules: Some(Laid {
            folders: [(Module::root().child("m"), ".terraform/modules/m/sub".into())].into(),
            ..Laid::default()
        }),
    };
    let dialect = Dialect::Terraform;
    let root = ("main.tf".into(), "x".into());
    assert_eq!(package.module_files(dialect), std::slice::from_ref(&root));
    let called = (".terraform/modules/m/sub/n.tf".into(), "".into());
    assert_eq!(package.config_files(dialect), [root, called]);
    let gone = take(&["d"]).unwrap_err();
    assert!(
        gone.contains("The folder d of the source cannot be read"),
        "{gone}"
    );
    fs::File::create(source.path().join("c/large"))
        .unwrap()
        .set_len(LARGEST)
        .unwrap();
    assert!(take(&["c"]).unwrap_err().contains("spec.source.path"));
}
