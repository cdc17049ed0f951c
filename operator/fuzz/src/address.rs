//! Addresses: what is read is written as it can be read again, to the same address.

use std::{fmt, str::FromStr};

use ashlar_addr::{
    ConfigResource, Constraints, DeposedKey, ModuleInstance, Provider, ProviderConfig, ResourceInstance,
    Version,
};

/// Reads the text as every kind of address.
pub(crate) fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let read = [
        both_ways::<ModuleInstance>(text),
        both_ways::<ConfigResource>(text),
        both_ways::<ResourceInstance>(text),
        both_ways::<DeposedKey>(text),
        both_ways::<Provider>(text),
        both_ways::<ProviderConfig>(text),
        both_ways::<Version>(text),
    ];
    // Constraints are only read; a message shows them as they were written.
    read.contains(&true) || text.parse::<Constraints>().is_ok()
}

fn both_ways<T>(text: &str) -> bool
where
    T: FromStr + fmt::Display + fmt::Debug + PartialEq,
{
    let Ok(address) = text.parse::<T>() else {
        return false;
    };
    let written = address.to_string();
    match written.parse::<T>() {
        Ok(again) => assert_eq!(again, address, "{text:?} is written as {written:?}"),
        Err(_) => panic!("{text:?} is written as {written:?}, which cannot be read"),
    }
    true
}
