//! Digests, password hashes, UUIDs and decryption.

use ashlar_value::Value;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use md5::Digest;

use crate::{
    Args, Builtin, Code, FuncError, Purity, Rule, Ty,
    protocol::{PURE, Param, number, text},
    rsa,
};

/// Cost of `bcrypt` where none is given.
const USUAL_COST: i64 = 10;

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "base64sha256",
        doc: "The SHA-256 digest of a string, base64-encoded.",
        params: STR,
        examples: &[r#"base64sha256("hello") == "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=""#],
        code: Code::Run(|args| Ok(Value::string(base64(&sha256(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "base64sha512",
        doc: "The SHA-512 digest of a string, base64-encoded.",
        params: STR,
        examples: &[r#"length(base64sha512("hello")) == 88"#],
        code: Code::Run(|args| Ok(Value::string(base64(&sha512(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "bcrypt",
        doc: "The bcrypt hash of a string, with fresh salt each time; unknown while planning.",
        params: STR,
        variadic: Some(number("cost")),
        purity: Purity::Impure,
        examples: &[r#"bcrypt("secret", 4) != null"#],
        code: Code::Run(bcrypt_hash),
        ..TEXT
    },
    Builtin {
        name: "md5",
        doc: "The MD5 digest of a string, in hexadecimal.",
        params: STR,
        examples: &[r#"md5("hello world") == "5eb63bbbe01eeed093cb22bb8f5acdc3""#],
        code: Code::Run(|args| Ok(Value::string(hex::encode(md5(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "rsadecrypt",
        doc: "Decrypts a base64-encoded RSA ciphertext (PKCS #1 v1.5) with a private key.",
        params: &[text("ciphertext"), text("privatekey")],
        examples: &[r#"!can(rsadecrypt("", ""))"#],
        code: Code::Run(rsa_decrypt),
        ..TEXT
    },
    Builtin {
        name: "sha1",
        doc: "The SHA-1 digest of a string, in hexadecimal.",
        params: STR,
        examples: &[r#"sha1("hello") == "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d""#],
        code: Code::Run(|args| Ok(Value::string(hex::encode(sha1(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "sha256",
        doc: "The SHA-256 digest of a string, in hexadecimal.",
        params: STR,
        examples: &[
            r#"sha256("hello") == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824""#,
        ],
        code: Code::Run(|args| Ok(Value::string(hex::encode(sha256(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "sha512",
        doc: "The SHA-512 digest of a string, in hexadecimal.",
        params: STR,
        examples: &[r#"substr(sha512(""), 0, 8) == "cf83e135""#],
        code: Code::Run(|args| Ok(Value::string(hex::encode(sha512(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "uuid",
        doc: "A fresh random UUID each time; unknown while planning.",
        purity: Purity::Impure,
        examples: &["uuid() != null"],
        code: Code::Run(|args| {
            Ok(match args.caps().random() {
                Some(bytes) => Value::string(uuid::Uuid::from_bytes(bytes).to_string()),
                None => Value::unknown(Ty::String.to_type()),
            })
        }),
        ..TEXT
    },
    Builtin {
        name: "uuidv5",
        doc: "The UUID that a name has in a namespace: `dns`, `url`, `oid`, `x500` or a UUID.",
        params: &[text("namespace"), text("name")],
        examples: &[r#"uuidv5("dns", "www.terraform.io") == "a5008fae-b28c-5ba5-96cd-82b4c53552d6""#],
        code: Code::Run(uuid_v5),
        ..TEXT
    },
];

const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

const STR: &[Param] = &[text("str")];

pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(crate) fn md5(bytes: &[u8]) -> Vec<u8> {
    md5::Md5::digest(bytes).to_vec()
}

pub(crate) fn sha1(bytes: &[u8]) -> Vec<u8> {
    sha1::Sha1::digest(bytes).to_vec()
}

pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    sha2::Sha256::digest(bytes).to_vec()
}

pub(crate) fn sha512(bytes: &[u8]) -> Vec<u8> {
    sha2::Sha512::digest(bytes).to_vec()
}

/// A cost below 4 means the usual one, as in Go's implementation.
fn bcrypt_hash(args: &Args<'_>) -> Result<Value, FuncError> {
    let Some(salt) = args.caps().random() else {
        return Ok(Value::unknown(Ty::String.to_type()));
    };
    let cost = if args.len() > 1 { args.int(1)? } else { USUAL_COST };
    if args.len() > 2 {
        return Err(FuncError::call("one or two arguments are required"));
    }
    let cost = if cost < 4 { USUAL_COST } else { cost };
    let cost = u32::try_from(cost).ok().filter(|cost| *cost <= 31);
    let cost = cost.ok_or_else(|| FuncError::call("the cost must not be greater than 31"))?;
    let text = args.text(0)?;
    if text.len() > 72 {
        return Err(FuncError::call("a text of more than 72 bytes cannot be hashed"));
    }
    let hash =
        bcrypt::hash_with_salt(text, cost, salt).map_err(|_| FuncError::call("the text cannot be hashed"))?;
    Ok(Value::string(hash.format_for_version(bcrypt::Version::TwoA)))
}

fn rsa_decrypt(args: &Args<'_>) -> Result<Value, FuncError> {
    let ciphertext = crate::encoding::decode_base64(args.text(0)?)
        .map_err(|_| FuncError::argument(0, "the ciphertext is not valid base64"))?;
    let key = rsa::private_key(args.text(1)?).map_err(|why| FuncError::argument(1, why))?;
    let plain = rsa::decrypt(&key, &ciphertext).map_err(FuncError::call)?;
    Ok(Value::string(String::from_utf8_lossy(&plain)))
}

fn uuid_v5(args: &Args<'_>) -> Result<Value, FuncError> {
    use uuid::Uuid;
    let namespace = match args.text(0)? {
        "dns" => Uuid::NAMESPACE_DNS,
        "url" => Uuid::NAMESPACE_URL,
        "oid" => Uuid::NAMESPACE_OID,
        "x500" => Uuid::NAMESPACE_X500,
        other => Uuid::parse_str(other).map_err(|_| {
            let message = "the namespace must be \"dns\", \"url\", \"oid\", \"x500\" or a UUID, not";
            FuncError::call(format!("{message} {}", args.quote(0, other)))
        })?,
    };
    Ok(Value::string(
        Uuid::new_v5(&namespace, args.text(1)?.as_bytes()).to_string(),
    ))
}
