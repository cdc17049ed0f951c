//! Keys and signatures here were made by GnuPG.

use super::*;

const LIST: &[u8] = include_bytes!("../../tests/keys/SHA256SUMS");

macro_rules! keys {
    ($($name:literal),*) => {
        &[$(include_str!(concat!("../../tests/keys/", $name, ".asc")).to_owned()),*]
    };
}

macro_rules! seal {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/keys/", $name, ".sig"))
    };
}

#[test]
fn what_one_of_the_keys_signed_is_trusted() {
    let check = |seal: &[u8], keys: &[String], want: &str| {
        assert_eq!(check(LIST, seal, keys).as_deref(), Ok(want));
    };
    check(seal!("plain"), keys!("plain"), "7A78A1C97D0B0B28");
    check(
        seal!("plain.armoured"),
        keys!("other", "plain"),
        "7A78A1C97D0B0B28",
    );
    check(seal!("other"), keys!("plain", "other"), "7C2288E450E26DAF");
    // By its subkey, and named by the key itself.
    check(seal!("sub"), keys!("sub"), "11498B020482CCC7");
    // It was good when it was used.
    check(seal!("expired"), keys!("expired"), "9D23951DC9CA611F");
}

#[test]
fn all_else_is_not() {
    let told = |list: &[u8], seal: &[u8], keys: &[String]| check(list, seal, keys).unwrap_err();
    assert_eq!(
        told(LIST, seal!("other"), keys!("plain")),
        SignatureError::Unknown
    );
    assert_eq!(told(LIST, seal!("other"), &[]), SignatureError::Unknown);
    let changed = [LIST, b"\n"].concat();
    for (seal, keys) in [
        (&seal!("plain")[..], keys!("plain")),
        (&seal!("sub")[..], keys!("sub")),
    ] {
        let told = told(&changed, seal, keys);
        assert!(matches!(told, SignatureError::Wrong { .. }), "{told}");
    }
    let revoked = told(LIST, seal!("revoked"), keys!("revoked"));
    assert!(matches!(revoked, SignatureError::Revoked(_)), "{revoked}");
    for seal in [
        &b""[..],
        b"not a signature",
        b"-----BEGIN PGP SIGNATURE-----\n\nx",
    ] {
        let told = told(LIST, seal, keys!("plain"));
        assert!(matches!(told, SignatureError::Malformed(_)), "{told}");
    }
    let told = told(LIST, seal!("plain"), &["no key".to_owned()]);
    assert!(matches!(told, SignatureError::Key(_)), "{told}");
}
