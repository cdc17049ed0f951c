//! Every example of every builtin function is true: the tables of `ashlar-funcs` say so, the evaluator shows it.

use ashlar_diag::Sources;
use ashlar_eval::{MapScope, evaluate};
use ashlar_funcs::{Caps, CapsError, FileKind};
use ashlar_syntax::parse_expression;
use ashlar_value::{Dialect, Value};

/// An outside without files, where it is always the same time and dice always fall the same.
struct Fixed;

impl Caps for Fixed {
    fn read_file(&self, _path: &str) -> Result<Vec<u8>, CapsError> {
        Err(CapsError::Absent)
    }

    fn file_kind(&self, _path: &str) -> Result<FileKind, CapsError> {
        Err(CapsError::Absent)
    }

    fn list_dir(&self, _path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        Err(CapsError::Absent)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        Ok("/work".to_owned())
    }

    fn home(&self) -> Result<String, CapsError> {
        Ok(["", "home", "someone"].join("/"))
    }

    fn timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:05Z".to_owned())
    }

    fn plan_timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:00Z".to_owned())
    }

    fn random(&self) -> Option<[u8; 16]> {
        Some([7; 16])
    }
}

#[test]
fn examples_are_true() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for dialect in Dialect::ALL {
        for builtin in ashlar_funcs::all().filter(|builtin| builtin.is_in(dialect)) {
            for example in builtin.examples {
                tried += 1;
                let mut sources = Sources::new();
                let file = sources.add(builtin.name, *example);
                let (expr, mut diags) = parse_expression(&sources, file);
                let scope = MapScope::with_caps::<&str>([], Fixed).in_dialect(dialect);
                let (value, more) = evaluate(&expr, &scope);
                diags.extend(more);
                if value.unmark_deep().0 != Value::bool(true) {
                    wrong.push(format!("{dialect}: {example}: {diags:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not true:\n{}", wrong.join("\n"));
    assert!(tried > 300, "only {tried} examples");
}
