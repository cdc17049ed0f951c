//! What a confined run can reach and how much it can make, through the functions themselves.

use std::os::unix::fs::symlink;

use ashlar_diag::{Diags, Sources};
use ashlar_eval::{MapScope, evaluate};
use ashlar_syntax::parse_expression;
use ashlar_value::{Dialect, Value};

use super::*;

fn confined(folder: &Path) -> Files {
    Files {
        folder: folder.to_owned(),
        confines: Some(folder.to_owned()),
        held: Vec::new(),
        home: None,
        plan_timestamp: "2026-01-01T00:00:00Z".to_owned(),
        applying: false,
        made: Arc::default(),
        functions: None,
    }
}

fn run(text: &str, files: &Files, dialect: Dialect) -> (Value, Diags) {
    let mut sources = Sources::new();
    let file = sources.add("test", text);
    let (expr, mut diags) = parse_expression(&sources, file);
    let scope = MapScope::with_caps::<&str>([], files.clone()).in_dialect(dialect);
    let (value, faults) = evaluate(&expr, &scope);
    diags.extend(faults);
    (value, diags)
}

/// Every function that looks at one file.
const READERS: [&str; 10] = [
    "file",
    "filebase64",
    "filebase64sha256",
    "filebase64sha512",
    "fileexists",
    "filemd5",
    "filesha1",
    "filesha256",
    "filesha512",
    "templatefile",
];

fn call(function: &str, path: &str) -> String {
    let vars = if function == "templatefile" { ", {}" } else { "" };
    format!("{function}({path:?}{vars})")
}

/// A bundle with a file, a folder, links of all kinds out of it, a pipe and links to devices; and what lies outside.
fn bundle() -> (tempfile::TempDir, tempfile::TempDir) {
    let (bundle, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| bundle.path().join(name);
    std::fs::write(outside.path().join("secret"), "s3cr3t").unwrap();
    std::fs::write(at("ok"), "fine").unwrap();
    std::fs::create_dir(at("x")).unwrap();
    std::fs::write(at("x/ok"), "fine").unwrap();
    symlink("ok", at("inner")).unwrap();
    symlink(outside.path().join("secret"), at("link")).unwrap();
    symlink(outside.path(), at("dir")).unwrap();
    symlink("dir", at("dir2")).unwrap();
    symlink("..", at("up")).unwrap();
    symlink(outside.path().join("nothing"), at("lost")).unwrap();
    symlink("/dev/zero", at("zero")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    (bundle, outside)
}

#[test]
fn functions_read_what_is_in_the_bundle() {
    let (bundle, _outside) = bundle();
    let files = confined(bundle.path());
    let absolute = bundle.path().join("ok").display().to_string();
    for function in READERS {
        for path in ["ok", "./ok", "x/ok", "inner", &absolute] {
            let (value, diags) = run(&call(function, path), &files, Dialect::Terraform);
            assert!(
                !diags.has_errors() && value.is_known(),
                "{function}({path}): {diags}"
            );
        }
    }
}

#[test]
fn no_function_leads_out_of_a_confined_bundle_or_waits_at_a_pipe() {
    let (bundle, outside) = bundle();
    let files = confined(bundle.path());
    let absolute = outside.path().join("secret").display().to_string();
    let beside = format!("../{}/secret", outside.path().file_name().unwrap().display());
    let paths = [
        "../secret",
        &beside,
        "x/../../secret",
        "link",
        "dir/secret",
        "dir2/secret",
        "up/etc/passwd",
        "dir/nothing",
        "lost",
        "x",
        "zero",
        "pipe",
        "/dev/zero",
        "/etc/passwd",
        "~",
        "~/secret",
        "~root/secret",
        &absolute,
    ];
    for function in READERS {
        for path in paths {
            let (value, diags) = run(&call(function, path), &files, Dialect::Terraform);
            assert!(diags.has_errors(), "{function}({path}) gives {value:?}");
            assert!(!diags.to_string().contains("s3cr3t"), "{diags}");
        }
    }
}

#[test]
fn a_module_in_a_folder_reads_all_of_its_bundle_and_no_more() {
    let (bundle, outside) = bundle();
    let files = Files {
        folder: bundle.path().join("x"),
        ..confined(bundle.path())
    };
    let beside = outside.path().file_name().unwrap().display().to_string();
    let check = |path: &str, fine: bool| {
        let (value, diags) = run(&call("file", path), &files, Dialect::Terraform);
        assert_eq!(!diags.has_errors(), fine, "{path}: {value:?} {diags}");
    };
    for path in ["ok", "../ok", "../x/ok", "../x/../inner"] {
        check(path, true);
    }
    for path in [
        "../link",
        "../dir/secret",
        "../up/ok",
        "../../etc/passwd",
        &format!("../../{beside}/secret"),
    ] {
        check(path, false);
    }
}

#[test]
fn sets_of_files_stay_in_the_bundle() {
    let (bundle, outside) = bundle();
    let files = confined(bundle.path());
    let check = |text: &str, want: Option<&[&str]>| {
        let (value, diags) = run(text, &files, Dialect::Terraform);
        let names: Option<Vec<String>> = (!diags.has_errors()).then(|| {
            let names = value.as_items().unwrap().iter();
            names.map(|name| name.as_str().unwrap().to_string()).collect()
        });
        let want = want.map(|want| want.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(names, want, "{text}: {diags}");
    };
    check("fileset(\".\", \"**\")", Some(&["inner", "ok", "x/ok"]));
    check("fileset(\"x\", \"*\")", Some(&["ok"]));
    for text in [
        "fileset(\"..\", \"**\")".to_owned(),
        "fileset(\".\", \"../*\")".to_owned(),
        "fileset(\"x\", \"../../*\")".to_owned(),
        "fileset(\"dir\", \"*\")".to_owned(),
        "fileset(\"/etc\", \"*\")".to_owned(),
        format!("fileset({:?}, \"*\")", outside.path().display().to_string()),
    ] {
        check(&text, None);
    }
    // A tilde means nothing here, as in Terraform.
    check("fileset(\"~\", \"*\")", Some(&[]));
}

#[test]
fn paths_are_made_without_looking_at_files() {
    let (bundle, _outside) = bundle();
    let files = confined(bundle.path());
    let folder = bundle.path().display();
    for (text, want) in [
        ("abspath(\"/etc/x/../y\")", "/etc/y".to_owned()),
        ("abspath(\"x/a\")", format!("{folder}/x/a")),
        ("pathexpand(\"a/~\")", "a/~".to_owned()),
    ] {
        let (value, diags) = run(text, &files, Dialect::Terraform);
        assert_eq!(value, Value::string(want), "{text}: {diags}");
    }
    // There is no home in a cluster.
    for text in [
        "pathexpand(\"~\")",
        "pathexpand(\"~/a\")",
        "pathexpand(\"~root/a\")",
    ] {
        assert!(run(text, &files, Dialect::Terraform).1.has_errors(), "{text}");
    }
}

#[test]
fn a_large_file_is_refused_in_a_confined_run_alone() {
    let bundle = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(bundle.path().join("large")).unwrap();
    file.set_len(LARGEST + 1).unwrap();
    let mut files = confined(bundle.path());
    for function in READERS.into_iter().filter(|function| *function != "fileexists") {
        let (_, diags) = run(&call(function, "large"), &files, Dialect::Terraform);
        assert!(diags.to_string().contains("larger than"), "{function}: {diags}");
    }
    files.confines = None;
    let (_, diags) = run(&call("filemd5", "large"), &files, Dialect::Terraform);
    assert!(!diags.has_errors(), "{diags}");
}

#[test]
fn a_confined_run_makes_texts_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (caps, mut local) = (confined(folder.path()), confined(folder.path()));
    local.confines = None;
    assert!(caps.grant(MOST / 2) && caps.grant(MOST / 2) && !caps.grant(1));
    assert!(local.grant(MOST) && local.grant(MOST));
    assert_eq!(local.largest(), u64::MAX);
}

#[test]
fn one_call_cannot_take_all_memory() {
    let folder = tempfile::tempdir().unwrap();
    let million = "format(\"%1000000s\", \"\")";
    for text in [
        format!("replace({million}, \" \", format(\"%10000s\", \"\"))"),
        format!("replace({million}, \"/ /\", format(\"%10000s\", \"\"))"),
        format!("replace({million}, \"/.+/\", join(\"\", [for i in range(1000) : \"$0\"]))"),
        format!("join({million}, range(1000))"),
        format!("format(join(\"\", [for i in range(1000) : \"%[1]s\"]), {million})"),
        format!("formatlist(\"%[1]s%[2]s\", range(1000), {million})"),
        "formatlist(\"%1000000s\", range(1000))".to_owned(),
        "indent(1000000, join(\"\\n\", range(1000)))".to_owned(),
        "setproduct(range(1024), range(1024), range(1024))".to_owned(),
        "[for i in range(1000) : [for j in range(1000) : format(\"%1000s\", i)]]".to_owned(),
        "[for i in range(1000) : [for j in range(1000) : j]]".to_owned(),
        format!("[for i in range(100) : split(\"\", {million})]"),
        format!("[for i in range(100) : regexall(\".\", {million})]"),
        format!("regex(join(\"\", [for i in range(9) : \"(\"], [\".*\"], [for i in range(9) : \")\"]), {million})"),
        "[for i in range(20) : jsondecode(\"[${join(\",\", [for i in range(100) : join(\",\", range(1000))])}]\")]".to_owned(),
        "[for i in range(20) : yamldecode(\"[${join(\",\", [for i in range(10) : join(\",\", range(1000))])}]\")]".to_owned(),
        "[for i in range(40) : csvdecode(join(\"\\n\", [for i in range(1000) : \"a,b,c,d,e,f,g\"]))]".to_owned(),
        // Little memory as long as its parts are shared, and none that could hold a text or copy of it.
        "[for a in [range(1024)] : [for b in [[a, a, a, a, a, a, a, a, a, a]] : [for c in [[b, b, b, b, b, b, b, b, b, b]] : \
         [for d in [[c, c, c, c, c, c, c, c, c, c]] : jsonencode([d, d, d, d, d, d, d, d, d, d])]]]]"
            .to_owned(),
        "try(setproduct(range(1024), range(1024), range(1024)), 1)".to_owned(),
        "templatestring(\"%{ for i in range(1024) }%{ for j in range(1024) }xxxxxxxxxxxxxxxxxxxx%{ endfor }%{ endfor }\", {})".to_owned(),
        "base64gunzip(base64gzip(join(\"\", [for i in range(20) : format(\"%1000000s\", \"\")])))".to_owned(),
    ] {
        let files = confined(folder.path());
        files.grant(MOST - (4 << 20));
        let (_, diags) = run(&text, &files, Dialect::OpenTofu);
        let told = diags.iter().any(|diag| {
            ["Module uses too much memory", "Expression takes too long"].contains(&&*diag.summary)
        });
        assert!(told, "{text}: {diags}");
    }
}

#[test]
fn a_local_run_has_no_limit_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = confined(folder.path());
    files.confines = None;
    files.grant(MOST);
    let (value, diags) = run(
        "length(join(\"\", formatlist(\"%1000000s\", range(8))))",
        &files,
        Dialect::Terraform,
    );
    assert_eq!(value, Value::number(8_000_000), "{diags}");
}

#[test]
fn what_was_left_out_of_a_bundle_is_refused_and_never_taken_for_nothing() {
    let (bundle, _outside) = bundle();
    std::fs::create_dir_all(bundle.path().join("x/in")).unwrap();
    let files = Files {
        folder: bundle.path().join("x"),
        held: vec!["x".into(), "lib".into()],
        ..confined(bundle.path())
    };
    let refused = |text: &str| {
        let (value, diags) = run(text, &files, Dialect::Terraform);
        assert!(diags.has_errors(), "{text} gives {value:?}");
        assert!(diags.to_string().contains("the whole source"), "{text}: {diags}");
    };
    let absolute = bundle.path().join("ok").display().to_string();
    for function in READERS {
        for path in [
            "../ok",
            "../lost",
            "in/../../ok",
            "../xx/ok",
            "\\u002e\\u002e/ok",
            &absolute,
        ] {
            refused(&call(function, path).replace("\\\\u", "\\u"));
        }
    }
    for text in [
        "fileset(\"..\", \"**\")",
        "fileset(\"../y\", \"*\")",
        "fileset(\".\", \"../*\")",
        "fileset(\".\", \"../y/lost\")",
        "fileset(\".\", \"in/../../y/*\")",
        "fileset(\".\", \"*/../../y/lost\")",
    ] {
        refused(text);
    }
    for text in [
        "file(\"ok\")",
        "file(\"in/../ok\")",
        "fileexists(\"../lib/lost\")",
        "fileset(\"../lib\", \"*\")",
    ] {
        let (value, diags) = run(text, &files, Dialect::Terraform);
        assert!(!diags.has_errors() && value.is_known(), "{text}: {diags}");
    }
}
