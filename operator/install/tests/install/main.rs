//! Installing from servers on this machine that speak the public protocols, over TLS, and from ones that do it wrong.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../sources/tests/sources/server.rs"]
#[allow(dead_code, reason = "the tests of sources use the rest")]
mod server;

mod direct;
mod many;
mod site;
