//! Provisioners as a run uses them: programs of this machine, and an SSH server on loopback that runs real commands.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it should be"
)]

mod bench;
mod local;
mod remote;
mod ssh_server;
