//! Runs recorded oracle cases.
fn main() {}
