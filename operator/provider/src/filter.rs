//! Calls to the kernel that a fenced program is refused: those that reach other processes, the machine, or ways around the fence.
//!
//! The fence of files has no say over them, and a provider often has the operator's own user, to whom the kernel allows them. What is
//! refused fails with "Operation not permitted", as it would without the right; all else goes on as if there were no filter. A
//! filter sees numbers, never what they point to: no path can be judged here (`chmod`), and no signal told from another.

use std::collections::BTreeMap;

use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS,
    EPERM,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, sock_filter,
};

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// It could not be made for this machine.
    #[error("it could not be made for this kind of machine")]
    Make(#[source] BackendError),
    /// The kernel did not take it.
    #[error("the kernel did not take it")]
    Apply(#[source] seccompiler::Error),
}

/// Refused whatever they are asked.
const REFUSED: &[i64] = &[
    // What is within another process.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Other views of files, users and processes than those the fence was built on.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keys are of the user, who is the operator's.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Parts of the kernel that no provider needs, and through which kernels have been broken into.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    // The machine, where the operator is root.
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Refused as well where there are such calls.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
/// `kexec_file_load`, which not every C library names there.
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[i64] = &[294];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REFUSED_HERE: &[i64] = &[];

/// `IOPRIO_WHO_PROCESS` and `PRIO_PROCESS`.
const IO_OF_PROCESS: u64 = 1;
const PRIORITY_OF_PROCESS: u64 = 0;

/// Calls about a process that is named by its number: the arguments, by place, that mean the caller itself. Any others are refused, its
/// own number too: a number tells nobody here whose it is.
const OF_CALLER_ALONE: &[(i64, &[(u8, u64)])] = &[
    (libc::SYS_prlimit64, &[(0, 0)]),
    (libc::SYS_sched_setaffinity, &[(0, 0)]),
    (libc::SYS_sched_setscheduler, &[(0, 0)]),
    (libc::SYS_sched_setparam, &[(0, 0)]),
    (libc::SYS_sched_setattr, &[(0, 0)]),
    // Of all processes of the user, too.
    (libc::SYS_setpriority, &[(0, PRIORITY_OF_PROCESS), (1, 0)]),
    (libc::SYS_ioprio_set, &[(0, IO_OF_PROCESS), (1, 0)]),
];

/// What a new process may not be given of its own.
const NAMESPACES: [i32; 7] = [
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
];

/// Puts the filter over this thread, and over all that it starts from now on, for good.
pub(crate) fn apply() -> Result<(), FilterError> {
    let filter = refusals().map_err(FilterError::Make)?;
    for program in [filter, absences()] {
        seccompiler::apply_filter(&program).map_err(FilterError::Apply)?;
    }
    Ok(())
}

fn refusals() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(*call, Vec::new());
    }
    for (call, own) in OF_CALLER_ALONE {
        let others = own.iter().map(|(place, value)| rule(*place, Is::Ne, *value));
        rules.insert(*call, others.collect::<Result<_, _>>()?);
    }
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        rule(0, Is::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(EPERM.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}

/// All that is asked of an argument is in its lower half: the kernel does not look at the upper one either.
fn rule(place: u8, is: Is, value: u64) -> Result<Rule, BackendError> {
    Rule::new(vec![Condition::new(place, Length::Dword, is, value)?])
}

/// Calls that are as good as absent, for which programs have another way: `clone3`, whose flags lie in memory where no filter sees them,
/// and on x86-64 the numbers of x32, by which each refused call could be made under another number.
fn absences() -> BpfProgram {
    /// Of `linux/bpf_common.h`: load a word, compare with a constant, end.
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const AT_LEAST: u16 = 0x35;
    const END: u16 = 0x06;
    /// Of `linux/seccomp.h`.
    const ALLOW: u32 = 0x7fff_0000;
    const FAIL: u32 = 0x0005_0000;
    /// The lowest number of x32; other machines have none so high.
    const X32: u32 = 0x4000_0000;
    let step = |code, k, (jt, jf)| sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    vec![
        // The number of the call is the first word.
        step(LOAD, 0, (0, 0)),
        step(AT_LEAST, X32, (2, 0)),
        step(EQUAL, clone3, (1, 0)),
        step(END, ALLOW, (0, 0)),
        step(END, FAIL | libc::ENOSYS.cast_unsigned(), (0, 0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_named_twice() {
        let named = REFUSED.iter().chain(REFUSED_HERE);
        let all: Vec<_> = named
            .chain(OF_CALLER_ALONE.iter().map(|(call, _)| call))
            .chain([&libc::SYS_clone, &libc::SYS_clone3])
            .collect();
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        // What every Go program calls as it starts.
        for needed in [
            libc::SYS_sched_getaffinity,
            libc::SYS_tgkill,
            libc::SYS_pidfd_open,
            libc::SYS_pidfd_send_signal,
            libc::SYS_waitid,
        ] {
            assert!(!all.contains(&&needed));
        }
        assert!(refusals().is_ok());
    }
}
