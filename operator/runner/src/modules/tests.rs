use ashlar_config::load;
use ashlar_diag::Sources;

use super::*;

/// Loads a module that calls another from `source`, of which it is known where it was; what is told of it.
fn check(source: &str, folder: &str, package: Option<&str>) -> String {
    let main = format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
    let files: Files = vec![
        ("main.tf".into(), main.into()),
        ("a/a.tf".into(), "".into()),
        ("b/b.tf".into(), "".into()),
        (".terraform/modules/m/m.tf".into(), "".into()),
    ];
    let path = Module::root().child("m");
    let pin = |name: &str| PackagePin {
        source: name.to_owned(),
        version: None,
        revision: String::new(),
        digest: String::new(),
    };
    let laid = Laid {
        folders: [(path.clone(), folder.into())].into(),
        packages: package.map(|name| (path, pin(name))).into_iter().collect(),
    };
    let mut library = Given {
        files: &files,
        laid: Some(&laid),
        caps: None,
        dialect: Dialect::Terraform,
    };
    let root = vec![files[0].clone()];
    let (tree, diags) = load(
        root,
        Dialect::Terraform,
        &BTreeMap::new(),
        &mut library,
        &mut Sources::new(),
    );
    match tree.members.get(&Module::root().child("m")) {
        Some(member) if !diags.has_errors() => member.folder.to_string(),
        _ => diags.iter().map(|diag| diag.summary.to_string()).collect(),
    }
}

#[test]
fn a_call_gets_the_module_that_it_asks_for_or_none() {
    let installed = ".terraform/modules/m";
    let changed = "Module source has changed";
    assert_eq!(check("./b", "b", None), "b");
    assert_eq!(check("./b", "a", None), changed);
    assert_eq!(check("./b", installed, None), changed);
    let name = |source: &str| package_name(&ModuleSource::parse(source, false).unwrap());
    let (one, other) = ("https://h.test/one.zip", "https://h.test/other.zip");
    assert_eq!(check(one, installed, Some(&name(one))), installed);
    assert_eq!(check(one, installed, Some(&name(other))), changed);
    assert_eq!(check(one, "a", None), changed);
}
