//! How much a program that the operator starts may take, and as whom it runs: what the kernel holds each process to, by itself.
//!
//! Set by the launch, before anything of the program runs, and inherited by all that it starts. Each process is held to them by itself;
//! what all of them take together is for the container's limits to bound.

use std::{ffi::OsString, io, num::NonZeroU32};

use rustix::{
    process::{Gid, Resource, Rlimit, Uid},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// What programs are held to; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The user and the group they run as, if not as who starts them, who must be root then.
    pub user: Option<NonZeroU32>,
    /// Most memory of one process that is its own, in bytes; what is reserved and not used does not count.
    pub memory: Option<u64>,
    /// Most open files and connections of one process.
    pub open_files: Option<u64>,
    /// Largest file that can be written, in bytes.
    pub file_size: Option<u64>,
    /// Most processes and threads of all programs of that user together. It bounds nothing without a user of their own.
    pub processes: Option<u64>,
}

/// How they are told to a launch.
const USER: &str = "--user";
const MEMORY: &str = "--memory";
const OPEN_FILES: &str = "--open-files";
const FILE_SIZE: &str = "--file-size";
const PROCESSES: &str = "--processes";

impl Bounds {
    /// The arguments of a launch; [`Bounds::take`] reads them.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = OsString> {
        let told = [
            (USER, self.user.map(|user| u64::from(user.get()))),
            (MEMORY, self.memory),
            (OPEN_FILES, self.open_files),
            (FILE_SIZE, self.file_size),
            (PROCESSES, self.processes),
        ];
        let told = told.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
        told.flat_map(|(flag, value)| [OsString::from(flag), OsString::from(value.to_string())])
    }

    /// Is this one of its arguments?
    pub(crate) fn knows(flag: &str) -> bool {
        [USER, MEMORY, OPEN_FILES, FILE_SIZE, PROCESSES].contains(&flag)
    }

    /// Takes the value of one of its arguments; none, if it is no such value.
    pub(crate) fn take(&mut self, flag: &str, value: &str) -> Option<()> {
        let number = value.parse::<u64>().ok()?;
        match flag {
            // The highest would mean to the kernel that all is left as it is.
            USER if number < u64::from(u32::MAX) => {
                self.user = Some(NonZeroU32::new(number.try_into().ok()?)?)
            }
            MEMORY => self.memory = Some(number),
            OPEN_FILES => self.open_files = Some(number),
            FILE_SIZE => self.file_size = Some(number),
            PROCESSES => self.processes = Some(number),
            _ => return None,
        }
        Some(())
    }

    /// Holds this process to them for good. It must have one thread: the kernel changes the user of a thread.
    pub(crate) fn apply(&self) -> io::Result<()> {
        let limits = [
            (Resource::Data, self.memory),
            (Resource::Nofile, self.open_files),
            (Resource::Fsize, self.file_size),
            (Resource::Nproc, self.user.and(self.processes)),
        ];
        for (resource, most) in limits {
            let Some(most) = most else { continue };
            // What is lower already stays.
            let now = rustix::process::getrlimit(resource);
            let least = |now: Option<u64>| Some(now.map_or(most, |now| now.min(most)));
            let limit = Rlimit {
                current: least(now.current),
                maximum: least(now.maximum),
            };
            rustix::process::setrlimit(resource, limit)?;
        }
        let Some(user) = self.user else { return Ok(()) };
        let (user, group) = (Uid::from_raw(user.get()), Gid::from_raw(user.get()));
        // The groups first: nobody but root gives them up.
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)?;
        Ok(())
    }
}
