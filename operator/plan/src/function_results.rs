//! What functions of providers gave, so that one and the same call gives one and the same result in all of a run.
//!
//! Hashes alone are kept: results may be large, and arguments secret. Source: Terraform `lang/function_results.go`.

use std::collections::BTreeMap;

use ashlar_addr::Provider;
use ashlar_value::Value;
use sha2::{Digest, Sha256};

use crate::wire::fingerprint_bytes;

const HASH: usize = 32;

type Hash = [u8; HASH];

/// Results by calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionResults(BTreeMap<Hash, Hash>);

impl FunctionResults {
    /// Is the result the one that the same call gave before, if it was made before? One that is not known yet may become
    /// anything, so it is not kept.
    pub fn agrees(&mut self, provider: &Provider, name: &str, args: &[Value], result: &Value) -> bool {
        if !result.is_known() {
            return true;
        }
        let mut call = Sha256::new();
        for part in [provider.to_string().as_bytes(), name.as_bytes()] {
            call.update((part.len() as u64).to_be_bytes());
            call.update(part);
        }
        for arg in args {
            let bytes = fingerprint_bytes(arg);
            call.update((bytes.len() as u64).to_be_bytes());
            call.update(bytes);
        }
        let result = Sha256::digest(fingerprint_bytes(result)).into();
        *self.0.entry(call.finalize().into()).or_insert(result) == result
    }

    /// All of them as bytes, to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let pairs = self.0.iter().flat_map(|(call, result)| [*call, *result]);
        pairs.flatten().collect()
    }

    /// From bytes; `None` if they are not whole.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (hashes, rest) = bytes.as_chunks::<HASH>();
        let (pairs, odd) = hashes.as_chunks::<2>();
        let whole = rest.is_empty() && odd.is_empty();
        whole.then(|| Self(pairs.iter().map(|[call, result]| (*call, *result)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_result_of_the_same_call_is_noticed_also_once_stored() {
        let provider: Provider = "x.test/b/c".parse().unwrap();
        let (x, y) = ([Value::string("x")], [Value::string("y")]);
        let mut results = FunctionResults::default();
        assert!(results.agrees(&provider, "f", &x, &Value::bool(true)));
        assert!(results.agrees(&provider, "f", &x, &Value::bool(true)));
        assert!(results.agrees(&provider, "f", &y, &Value::bool(false)));
        assert!(results.agrees(&provider, "g", &x, &Value::dynamic()));
        assert!(results.agrees(&provider, "g", &x, &Value::bool(false)));
        let mut stored = FunctionResults::from_bytes(&results.to_bytes()).unwrap();
        assert_eq!(stored, results);
        assert!(!stored.agrees(&provider, "f", &x, &Value::bool(false)));
        assert!(!stored.agrees(&provider, "g", &x, &Value::bool(true)));
        assert_eq!(FunctionResults::from_bytes(&[0; 33]), None);
        assert_eq!(FunctionResults::from_bytes(&[0; 32]), None);
    }
}
