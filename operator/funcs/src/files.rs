//! Functions on files and paths, for the slash-separated paths of Unix.
//!
//! Files are reached through [`crate::Caps`] alone; a path that may be sensitive never shows in an error.

mod glob;
pub(crate) mod path;

use ashlar_value::{Type, Value};

use crate::{
    Args, Builtin, CapsError, Code, FileKind, FuncError, Purity, Rule, Ty,
    digest::{self, base64},
    protocol::{PURE, Param, text},
};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "abspath",
        doc: "A path made absolute and clean; nothing needs to be there.",
        params: &[text("path")],
        examples: &[r#"abspath("/a/./b//c") == "/a/b/c""#],
        code: Code::Run(|args| {
            let given = args.text(0)?;
            if given.starts_with('/') {
                return Ok(Value::string(path::clean(given)));
            }
            let cwd = args.caps().cwd().map_err(outside)?;
            Ok(Value::string(path::join(&cwd, given)))
        }),
        ..TEXT
    },
    Builtin {
        name: "basename",
        doc: "The last part of a path.",
        params: &[text("path")],
        examples: &[
            r#"basename("foo/bar/baz.txt") == "baz.txt""#,
            r#"basename("/") == "/""#,
        ],
        code: Code::Run(|args| Ok(Value::string(path::base(args.text(0)?)))),
        ..TEXT
    },
    Builtin {
        name: "dirname",
        doc: "A path without its last part.",
        params: &[text("path")],
        examples: &[
            r#"dirname("foo/bar/baz.txt") == "foo/bar""#,
            r#"dirname("foo") == ".""#,
        ],
        code: Code::Run(|args| Ok(Value::string(path::dir(args.text(0)?)))),
        ..TEXT
    },
    Builtin {
        name: "file",
        doc: "The content of a file, which must be UTF-8.",
        params: PATH,
        examples: &[r#"!can(file("no/such/file"))"#],
        code: Code::Run(|args| {
            with_path(args, Type::String, |path| {
                let bytes = read(args, path).map_err(|why| FuncError::argument(0, why))?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    let shown = args.quote(0, path);
                    FuncError::call(format!(
                        "the file {shown} is not UTF-8; use filebase64 or a hash of the file instead"
                    ))
                })?;
                Ok(Value::string(text))
            })
        }),
        ..FILE
    },
    Builtin {
        name: "filebase64",
        doc: "The content of a file, in base64.",
        params: PATH,
        examples: &[r#"!can(filebase64("no/such/file"))"#],
        code: Code::Run(|args| {
            with_path(args, Type::String, |path| {
                let bytes = read(args, path).map_err(|why| FuncError::argument(0, why))?;
                Ok(Value::string(base64(&bytes)))
            })
        }),
        ..FILE
    },
    Builtin {
        name: "filebase64sha256",
        doc: "The SHA-256 digest of a file, base64-encoded.",
        examples: &[r#"!can(filebase64sha256("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| base64(&digest::sha256(bytes)))),
        ..FILE
    },
    Builtin {
        name: "filebase64sha512",
        doc: "The SHA-512 digest of a file, base64-encoded.",
        examples: &[r#"!can(filebase64sha512("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| base64(&digest::sha512(bytes)))),
        ..FILE
    },
    Builtin {
        name: "fileexists",
        doc: "Tells whether there is a file at a path; anything else there is an error.",
        params: PATH,
        result: Rule::Is(Ty::Bool),
        examples: &[r#"!fileexists("no/such/file")"#],
        code: Code::Run(file_exists),
        ..FILE
    },
    Builtin {
        name: "filemd5",
        doc: "The MD5 digest of a file, in hexadecimal.",
        examples: &[r#"!can(filemd5("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| hex::encode(digest::md5(bytes)))),
        ..FILE
    },
    Builtin {
        name: "fileset",
        doc: "The files under a folder whose paths match a pattern of `*`, `**`, `?`, `{a,b}` and `[a-z]`.",
        params: &[
            text("path").unknown().marked(),
            text("pattern").unknown().marked(),
        ],
        result: Rule::Is(Ty::Set(&Ty::String)),
        examples: &[r#"length(fileset("no/such/folder", "*")) == 0"#],
        code: Code::Run(file_set),
        ..FILE
    },
    Builtin {
        name: "filesha1",
        doc: "The SHA-1 digest of a file, in hexadecimal.",
        examples: &[r#"!can(filesha1("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| hex::encode(digest::sha1(bytes)))),
        ..FILE
    },
    Builtin {
        name: "filesha256",
        doc: "The SHA-256 digest of a file, in hexadecimal.",
        examples: &[r#"!can(filesha256("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| hex::encode(digest::sha256(bytes)))),
        ..FILE
    },
    Builtin {
        name: "filesha512",
        doc: "The SHA-512 digest of a file, in hexadecimal.",
        examples: &[r#"!can(filesha512("no/such/file"))"#],
        code: Code::Run(|args| hash(args, |bytes| hex::encode(digest::sha512(bytes)))),
        ..FILE
    },
    Builtin {
        name: "pathexpand",
        doc: "A path with a `~` at its beginning replaced by the home folder.",
        params: &[text("path")],
        examples: &[r#"pathexpand("/etc/hosts") == "/etc/hosts""#],
        code: Code::Run(|args| {
            Ok(Value::string(
                expand(args, args.text(0)?).map_err(FuncError::call)?,
            ))
        }),
        ..TEXT
    },
];

const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

const FILE: Builtin = Builtin {
    params: &[text("path")],
    purity: Purity::Files,
    ..TEXT
};

const PATH: &[Param] = &[text("path").unknown().marked()];

fn outside(error: CapsError) -> FuncError {
    FuncError::call(error.to_string())
}

/// Runs `body` on the path, or gives unknown; with the path's marks.
fn with_path(
    args: &Args<'_>,
    ty: Type,
    body: impl FnOnce(&str) -> Result<Value, FuncError>,
) -> Result<Value, FuncError> {
    let given = args.get(0);
    let result = if given.is_known() {
        body(args.text(0)?)?
    } else {
        Value::unknown(ty)
    };
    Ok(result.with_marks(given.marks()))
}

/// `~` and `~/…` replaced by the home folder.
fn expand(args: &Args<'_>, path: &str) -> Result<String, String> {
    match path.strip_prefix('~') {
        None => Ok(path.to_owned()),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = args
                .caps()
                .home()
                .map_err(|error| format!("the home folder is not known: {error}"))?;
            Ok(path::join(&home, rest))
        }
        Some(_) => Err("the home folder of another user cannot be found out".to_owned()),
    }
}

fn resolve(args: &Args<'_>, path: &str) -> Result<String, String> {
    Ok(path::clean(&expand(args, path)?))
}

fn read(args: &Args<'_>, path: &str) -> Result<Vec<u8>, String> {
    args.caps().read_file(&resolve(args, path)?).map_err(|error| match error {
        CapsError::Absent => format!(
            "there is no file at {}; only files that come with the configuration can be read, not those that a resource makes",
            args.quote(0, path)
        ),
        CapsError::Failed(why) | CapsError::Refused(why) => format!("the file at {} cannot be read: {}", args.quote(0, path), args.show(0, why)),
    })
}

fn hash(args: &Args<'_>, digest: fn(&[u8]) -> String) -> Result<Value, FuncError> {
    let bytes = read(args, args.text(0)?).map_err(FuncError::call)?;
    Ok(Value::string(digest(&bytes)))
}

fn file_exists(args: &Args<'_>) -> Result<Value, FuncError> {
    with_path(args, Type::Bool, |path| {
        let resolved = resolve(args, path).map_err(FuncError::call)?;
        match args.caps().file_kind(&resolved) {
            Ok(FileKind::Regular) => Ok(Value::bool(true)),
            Ok(kind) => {
                let what = if kind == FileKind::Directory {
                    "a folder"
                } else {
                    "a special file"
                };
                Err(FuncError::call(format!(
                    "at {} is {what}, not a regular file",
                    args.quote(0, path)
                )))
            }
            Err(CapsError::Absent) => Ok(Value::bool(false)),
            Err(error) => {
                let shown = args.quote(0, path);
                Err(FuncError::call(format!(
                    "what is at {shown} cannot be found out: {}",
                    args.show(0, error)
                )))
            }
        }
    })
}

fn file_set(args: &Args<'_>) -> Result<Value, FuncError> {
    let marks = args.shallow_marks(0);
    let (Some(folder), Some(pattern)) = (args.get(0).as_str(), args.get(1).as_str()) else {
        return Ok(Value::unknown(Type::set(Type::String)).with_marks(marks));
    };
    let folder = path::clean(folder);
    let matches = glob::matches(args.caps(), &path::join(&folder, pattern)).map_err(|fault| match fault {
        glob::Fault::BadPattern => {
            FuncError::call(format!("the pattern {} is not valid", args.quote(1, pattern)))
        }
        glob::Fault::Refused(why) => FuncError::call(args.show(0, args.show(1, why))),
        glob::Fault::Memory => FuncError::memory(),
    })?;
    let mut files = Vec::new();
    for found in matches {
        if args.caps().file_kind(&found) == Ok(FileKind::Regular) {
            let relative = path::relative(&folder, &found).ok_or_else(|| {
                FuncError::call("a match of the pattern has no path relative to the folder")
            })?;
            files.push(Value::string(relative));
        }
    }
    Ok(Value::set(Type::String, files).with_marks(marks))
}
