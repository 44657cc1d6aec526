//! The filter of system calls: a program for the kernel's small machine that looks at each call's number and arguments.
//!
//! The numbers are found by halving, so a call costs a handful of steps; and the kernel, which tries every number once when a
//! filter is set, is done soon. What is not mentioned is allowed: a list of what is allowed would break programs with every
//! new kernel. What is mentioned reaches around the confinement, or has no use in one and a long history of faults.

use std::ffi::c_long;
use std::sync::OnceLock;

/// One instruction, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warden) struct Step {
    code: u16,
    then: u8,
    otherwise: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
const ERROR: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;
const ASK: u32 = 0x7FC0_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// Where the kernel puts the number of the call and the architecture; the arguments follow, eight bytes each.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const fn step(code: u16, value: u32) -> Step {
    Step { code, then: 0, otherwise: 0, value }
}

const fn branch(code: u16, value: u32, then: u8, otherwise: u8) -> Step {
    Step { code, then, otherwise, value }
}

const fn refuse(errno: i32) -> Step {
    step(RETURN, ERROR | errno.cast_unsigned())
}

/// Returns the filter, made once; whether sockets with paths and names may be made is what differs.
pub(super) fn filter(unix: bool) -> &'static [Step] {
    static FILTERS: [OnceLock<Vec<Step>>; 2] = [const { OnceLock::new() }; 2];
    FILTERS[usize::from(unix)].get_or_init(|| assemble(rules(unix), ALLOW, KILL))
}

/// A filter that asks its listener before these calls; before one of them only if an argument is given.
pub(in crate::warden) fn asking(calls: impl Iterator<Item = c_long>, conditional: c_long, index: u32) -> Vec<Step> {
    let given = [step(LOAD, argument(index)), branch(IF_EQUAL, 0, 0, 1), step(RETURN, ALLOW), step(RETURN, ASK)];
    let rule = |call| (number(call), if call == conditional { given.to_vec() } else { vec![step(RETURN, ASK)] });
    assemble(calls.map(rule).collect(), ALLOW, ALLOW)
}

/// A filter that lets a process `pid` compute and use the descriptors that it has; any other call ends it.
pub(in crate::warden) fn computing(pid: u32) -> Vec<Step> {
    let mut rules: Vec<(u32, Vec<Step>)> =
        COMPUTING.iter().map(|&call| (number(call), vec![step(RETURN, ALLOW)])).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(
        [libc::SYS_poll, libc::SYS_gettimeofday, libc::SYS_time].map(|call| (number(call), vec![step(RETURN, ALLOW)])),
    );
    // Memory, but none that could hold code.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let executable = libc::PROT_EXEC.cast_unsigned();
        let steps =
            [step(LOAD, argument(2)), branch(IF_ANY_BIT, executable, 0, 1), step(RETURN, KILL), step(RETURN, ALLOW)];
        rules.push((number(call), steps.to_vec()));
    }
    // The standard library asks, in some builds, whether what it closes is open.
    let asks = [
        step(LOAD, argument(1)),
        branch(IF_EQUAL, libc::F_GETFD.cast_unsigned(), 0, 1),
        step(RETURN, ALLOW),
        step(RETURN, KILL),
    ];
    rules.push((number(libc::SYS_fcntl), asks.to_vec()));
    // Giving up in the usual way, which says more than being killed.
    let abort = [
        step(LOAD, argument(0)),
        branch(IF_EQUAL, pid, 0, 3),
        step(LOAD, argument(2)),
        branch(IF_EQUAL, libc::SIGABRT.cast_unsigned(), 0, 1),
        step(RETURN, ALLOW),
        step(RETURN, KILL),
    ];
    rules.push((number(libc::SYS_tgkill), abort.to_vec()));
    assemble(rules, KILL, KILL)
}

/// Assembles rules; `other` is what becomes of a call without one, `foreign` of a call of another architecture.
fn assemble(mut rules: Vec<(u32, Vec<Step>)>, other: u32, foreign: u32) -> Vec<Step> {
    let mut steps = vec![
        step(LOAD, ARCHITECTURE_AT),
        branch(IF_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, foreign),
        step(LOAD, NUMBER),
    ];
    // The third set of numbers of x86-64, with other meanings for some.
    #[cfg(target_arch = "x86_64")]
    steps.extend([branch(IF_AT_LEAST, 0x4000_0000, 0, 1), step(RETURN, foreign)]);
    rules.sort_by_key(|&(number, _)| number);
    // Stretches of numbers with the same answer.
    let mut stretches: Vec<(u32, Vec<Step>)> = vec![(0, vec![step(RETURN, other)])];
    let mut add = |from: u32, answer: Vec<Step>| match stretches.last_mut() {
        Some(last) if last.1 == answer => {}
        Some(last) if last.0 == from => last.1 = answer,
        _ => stretches.push((from, answer)),
    };
    let mut next = 0;
    for (number, answer) in rules {
        if number > next {
            add(next, vec![step(RETURN, other)]);
        }
        add(number, answer);
        next = number + 1;
    }
    add(next, vec![step(RETURN, other)]);
    let mut search = Search { steps, pending: Vec::new() };
    search.halve(&stretches);
    search.finish()
}

/// A search by halving on its way. The kernel takes its time for every step of a filter, so the plain answers, which most
/// stretches have, stand once at the end.
struct Search {
    steps: Vec<Step>,
    /// The branches that lead to a plain answer: where they are, on which side, and what it is.
    pending: Vec<(usize, bool, u32)>,
}

impl Search {
    fn halve(&mut self, stretches: &[(u32, Vec<Step>)]) {
        if let [(_, answer)] = stretches {
            self.steps.extend(answer);
            return;
        }
        let (low, high) = stretches.split_at(stretches.len() / 2);
        let at = self.steps.len();
        self.steps.push(branch(IF_AT_LEAST, high[0].0, 0, 0));
        self.side(at, false, low);
        self.side(at, true, high);
    }

    fn side(&mut self, at: usize, then: bool, stretches: &[(u32, Vec<Step>)]) {
        match stretches {
            [(_, answer)] if let [Step { code: RETURN, value, .. }] = answer.as_slice() => {
                self.pending.push((at, then, *value));
            }
            _ => {
                self.lead(at, then, self.steps.len());
                self.halve(stretches);
            }
        }
    }

    fn finish(mut self) -> Vec<Step> {
        let mut answers: Vec<(u32, usize)> = Vec::new();
        for (at, then, value) in std::mem::take(&mut self.pending) {
            let known = answers.iter().find(|(answer, _)| *answer == value).map(|&(_, place)| place);
            let place = known.unwrap_or_else(|| {
                self.steps.push(step(RETURN, value));
                answers.push((value, self.steps.len() - 1));
                self.steps.len() - 1
            });
            self.lead(at, then, place);
        }
        self.steps
    }

    fn lead(&mut self, at: usize, then: bool, to: usize) {
        let distance = u8::try_from(to - at - 1).expect("a filter has fewer steps than a branch can leap");
        let step = &mut self.steps[at];
        *(if then { &mut step.then } else { &mut step.otherwise }) = distance;
    }
}

/// The namespaces that `clone` can make.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The bits that make a file run with its owner's rights.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

fn number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// What is not simply allowed.
fn rules(unix: bool) -> Vec<(u32, Vec<Step>)> {
    let mut rules: Vec<(u32, Vec<Step>)> = Vec::with_capacity(128);
    let refused = |calls: &[c_long], errno| -> Vec<(u32, Vec<Step>)> {
        calls.iter().map(|&call| (number(call), vec![refuse(errno)])).collect()
    };
    rules.extend(refused(REFUSED, libc::EPERM));
    #[cfg(target_arch = "x86_64")]
    rules.extend(refused(REFUSED_ON_X86, libc::EPERM));
    // As if the kernel had been built without: shared memory and queues that outlive processes, and that no limit counts.
    rules.extend(refused(OUTLIVING, libc::ENOSYS));
    // As if the kernel were older: every program that knows these knows what to do without them. Their arguments are in
    // memory, where a filter cannot look.
    rules.extend(refused(&[libc::SYS_clone3, libc::SYS_openat2], libc::ENOSYS));
    let any_bit = |index, bits: u32| {
        vec![step(LOAD, argument(index)), branch(IF_ANY_BIT, bits, 0, 1), refuse(libc::EPERM), step(RETURN, ALLOW)]
    };
    let mut add = |call: c_long, answer: Vec<Step>| rules.push((number(call), answer));
    add(libc::SYS_clone, any_bit(0, NAMESPACES.cast_unsigned()));
    for (call, index) in [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)] {
        add(call, any_bit(index, SET_ID));
    }
    // The mode counts only where a file may be made.
    let made = |flags, mode| {
        let makes = (libc::O_CREAT | libc::O_TMPFILE) & !libc::O_DIRECTORY;
        vec![
            step(LOAD, argument(flags)),
            branch(IF_ANY_BIT, makes.cast_unsigned(), 0, 3),
            step(LOAD, argument(mode)),
            branch(IF_ANY_BIT, SET_ID, 0, 1),
            refuse(libc::EPERM),
            step(RETURN, ALLOW),
        ]
    };
    add(libc::SYS_openat, made(2, 3));
    #[cfg(target_arch = "x86_64")]
    {
        for (call, index) in [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)] {
            add(call, any_bit(index, SET_ID));
        }
        add(libc::SYS_open, made(1, 2));
    }
    // Typing on a terminal in somebody's name, and what the Linux console copies and pastes.
    add(
        libc::SYS_ioctl,
        vec![
            step(LOAD, argument(1)),
            branch(IF_EQUAL, 0x5412, 2, 0),
            branch(IF_EQUAL, 0x541C, 1, 0),
            step(RETURN, ALLOW),
            refuse(libc::EPERM),
        ],
    );
    // What an ordinary program asks for, or asks about.
    add(
        libc::SYS_personality,
        vec![
            step(LOAD, argument(0)),
            branch(IF_EQUAL, 0, 4, 0),
            branch(IF_EQUAL, 0x8, 3, 0),
            branch(IF_EQUAL, 0xFFFF_FFFF, 2, 0),
            branch(IF_EQUAL, 0x2_0008, 1, 0),
            refuse(libc::EPERM),
            step(RETURN, ALLOW),
        ],
    );
    add(libc::SYS_socket, socket(unix));
    let is_unix = |otherwise| branch(IF_EQUAL, libc::AF_UNIX.cast_unsigned(), 0, otherwise);
    let refused = refuse(libc::EAFNOSUPPORT);
    add(
        libc::SYS_socketpair,
        if unix {
            vec![step(LOAD, argument(0)), is_unix(1), step(RETURN, ALLOW), refused]
        } else {
            // One of a pair for datagrams can send to others than its twin.
            vec![
                step(LOAD, argument(0)),
                is_unix(5),
                step(LOAD, argument(1)),
                step(AND, 0xF),
                branch(IF_EQUAL, libc::SOCK_STREAM.cast_unsigned(), 1, 0),
                branch(IF_EQUAL, libc::SOCK_SEQPACKET.cast_unsigned(), 0, 1),
                step(RETURN, ALLOW),
                refused,
            ]
        },
    );
    rules
}

/// Streams and datagrams between processes and on the network; and questions about the own network.
fn socket(unix: bool) -> Vec<Step> {
    let family = |family: i32, skip| branch(IF_EQUAL, family.cast_unsigned(), skip, 0);
    let mut steps = vec![step(LOAD, argument(0))];
    if unix {
        steps.extend([branch(IF_EQUAL, libc::AF_UNIX.cast_unsigned(), 0, 1), step(RETURN, ALLOW)]);
    } else {
        steps.extend([branch(IF_EQUAL, libc::AF_UNIX.cast_unsigned(), 0, 1), refuse(libc::EPERM)]);
    }
    steps.extend([
        family(libc::AF_INET, 5),
        family(libc::AF_INET6, 4),
        branch(IF_EQUAL, libc::AF_NETLINK.cast_unsigned(), 1, 0),
        refuse(libc::EAFNOSUPPORT),
        step(LOAD, argument(2)),
        branch(IF_EQUAL, libc::NETLINK_ROUTE.cast_unsigned(), 4, 5),
        // A stream or datagrams, whatever flags come with it.
        step(LOAD, argument(1)),
        step(AND, 0xF),
        branch(IF_EQUAL, libc::SOCK_STREAM.cast_unsigned(), 1, 0),
        branch(IF_EQUAL, libc::SOCK_DGRAM.cast_unsigned(), 0, 1),
        step(RETURN, ALLOW),
        refuse(libc::EPERM),
    ]);
    steps
}

/// Calls without a harmless use in a confinement.
#[rustfmt::skip]
const REFUSED: &[c_long] = &[
    // Other file systems, other namespaces, files by number.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_move_mount, libc::SYS_open_tree,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr, OPEN_TREE_ATTR,
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init, libc::SYS_fanotify_mark, libc::SYS_quotactl, libc::SYS_quotactl_fd,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_process_mrelease, libc::SYS_pidfd_getfd, libc::SYS_kcmp, libc::SYS_move_pages, libc::SYS_migrate_pages,
    // Ways into the kernel.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, LSM_SET_SELF_ATTR,
    // The machine.
    libc::SYS_kexec_load, KEXEC_FILE_LOAD, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module,
    libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_syslog, libc::SYS_vhangup,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_sethostname, libc::SYS_setdomainname,
    libc::SYS_lookup_dcookie, libc::SYS_nfsservctl,
];

/// What a process needs that computes, and talks over the descriptors that it has.
#[rustfmt::skip]
const COMPUTING: &[c_long] = &[
    libc::SYS_read, libc::SYS_readv, libc::SYS_write, libc::SYS_writev, libc::SYS_close, libc::SYS_ppoll,
    libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_brk,
    libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep,
    libc::SYS_getrandom, libc::SYS_getpid, libc::SYS_gettid,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall, libc::SYS_exit, libc::SYS_exit_group,
];

#[rustfmt::skip]
const OUTLIVING: &[c_long] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt, libc::SYS_semget, libc::SYS_semop, libc::SYS_semctl,
    libc::SYS_semtimedop, libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl, libc::SYS_mq_open,
    libc::SYS_mq_unlink, libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive, libc::SYS_mq_notify, libc::SYS_mq_getsetattr,
];

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const REFUSED_ON_X86: &[c_long] = &[
    libc::SYS_modify_ldt, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs,
    libc::SYS__sysctl, CREATE_MODULE, GET_KERNEL_SYMS, QUERY_MODULE,
];

// Numbers that are the same everywhere.
const FCHMODAT2: c_long = 452;
const LSM_SET_SELF_ATTR: c_long = 460;
const OPEN_TREE_ATTR: c_long = 467;
// Of old kernels.
#[cfg(target_arch = "x86_64")]
const CREATE_MODULE: c_long = 174;
#[cfg(target_arch = "x86_64")]
const GET_KERNEL_SYMS: c_long = 177;
#[cfg(target_arch = "x86_64")]
const QUERY_MODULE: c_long = 178;
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: c_long = libc::SYS_kexec_file_load;
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: c_long = 294;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel does.
    fn run(steps: &[Step], architecture: u32, call: c_long, args: [u64; 6]) -> u32 {
        let (mut at, mut value) = (0, 0_u32);
        for _ in 0..100 {
            let step = steps[at];
            at += 1;
            let mut choose = |holds| at += usize::from(if holds { step.then } else { step.otherwise });
            match step.code {
                LOAD => {
                    value = match step.value {
                        NUMBER => u32::try_from(call).expect("numbers are small"),
                        ARCHITECTURE_AT => architecture,
                        offset => args[(offset as usize - 16) / 8] as u32,
                    }
                }
                AND => value &= step.value,
                IF_EQUAL => choose(value == step.value),
                IF_AT_LEAST => choose(value >= step.value),
                IF_ANY_BIT => choose(value & step.value != 0),
                RETURN => return step.value,
                other => panic!("no such step: {other:#x}"),
            }
        }
        panic!("a filter of a hundred steps is too long");
    }

    fn check(unix: bool, call: c_long, args: &[u64], errno: Option<i32>) {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        let expected = errno.map_or(ALLOW, |errno| ERROR | errno.cast_unsigned());
        assert_eq!(run(filter(unix), ARCHITECTURE, call, all), expected, "call {call} {args:?}");
    }

    #[test]
    fn every_number_has_the_answer_of_its_rule() {
        let rules = rules(true);
        let mut numbers: Vec<u32> = rules.iter().map(|&(number, _)| number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "a call has two rules");
        for call in 0..600 {
            let rule = rules.iter().find(|(number, _)| c_long::from(*number) == call);
            match rule.map(|(_, answer)| answer.as_slice()) {
                None => check(true, call, &[], None),
                Some([Step { code: RETURN, value, .. }]) => {
                    assert_eq!(run(filter(true), ARCHITECTURE, call, [0; 6]), *value);
                }
                Some(_) => {}
            }
        }
    }

    #[test]
    fn looks_at_arguments() {
        let eperm = Some(libc::EPERM);
        check(true, libc::SYS_clone, &[(libc::CLONE_VM | libc::SIGCHLD) as u64], None);
        check(true, libc::SYS_clone, &[libc::CLONE_NEWUSER as u64], eperm);
        check(true, libc::SYS_clone3, &[], Some(libc::ENOSYS));
        check(true, libc::SYS_fchmodat, &[0, 0, 0o755], None);
        check(true, libc::SYS_fchmodat, &[0, 0, 0o4755], eperm);
        check(true, libc::SYS_openat, &[0, 0, libc::O_RDONLY as u64, 0o6777], None);
        check(true, libc::SYS_openat, &[0, 0, (libc::O_CREAT | libc::O_WRONLY) as u64, 0o644], None);
        check(true, libc::SYS_openat, &[0, 0, (libc::O_CREAT | libc::O_WRONLY) as u64, 0o4755], eperm);
        check(true, libc::SYS_openat, &[0, 0, (libc::O_TMPFILE | libc::O_WRONLY) as u64, 0o2755], eperm);
        check(true, libc::SYS_openat, &[0, 0, libc::O_DIRECTORY as u64, 0o4755], None);
        check(true, libc::SYS_ioctl, &[0, 0x5401], None);
        check(true, libc::SYS_ioctl, &[0, 0xDEAD_BEEF_0000_541C], eperm);
        check(true, libc::SYS_ioctl, &[0, 0x5412], eperm);
        check(true, libc::SYS_personality, &[0xFFFF_FFFF], None);
        check(true, libc::SYS_personality, &[0x4_0000], eperm);
    }

    #[test]
    fn allows_the_sockets_of_its_kind() {
        let family = Some(libc::EAFNOSUPPORT);
        let socket = |family: i32, kind: i32, protocol: u64| [family as u64, kind as u64, protocol];
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        for net in [libc::AF_INET, libc::AF_INET6] {
            check(true, libc::SYS_socket, &socket(net, stream, 0), None);
            check(true, libc::SYS_socket, &socket(net, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 17), None);
            check(true, libc::SYS_socket, &socket(net, libc::SOCK_RAW, 1), Some(libc::EPERM));
        }
        check(true, libc::SYS_socket, &socket(libc::AF_UNIX, stream, 0), None);
        check(false, libc::SYS_socket, &socket(libc::AF_UNIX, stream, 0), Some(libc::EPERM));
        check(false, libc::SYS_socketpair, &socket(libc::AF_UNIX, stream, 0), None);
        check(false, libc::SYS_socketpair, &socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0), None);
        for others in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            check(true, libc::SYS_socketpair, &socket(libc::AF_UNIX, others, 0), None);
            check(false, libc::SYS_socketpair, &socket(libc::AF_UNIX, others, 0), family);
        }
        check(true, libc::SYS_socket, &socket(libc::AF_NETLINK, libc::SOCK_RAW, 0), None);
        check(true, libc::SYS_socket, &socket(libc::AF_NETLINK, libc::SOCK_RAW, 9), Some(libc::EPERM));
        for other in [libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH, libc::AF_XDP] {
            check(true, libc::SYS_socket, &socket(other, libc::SOCK_RAW, 0), family);
        }
    }

    #[test]
    fn lets_compute_and_nothing_else() {
        const PID: u32 = 77;
        let steps = computing(PID);
        assert!(steps.len() < 256, "{} steps", steps.len());
        let allows = |call, args: [u64; 6]| match run(&steps, ARCHITECTURE, call, args) {
            ALLOW => true,
            KILL => false,
            other => panic!("call {call} gets {other:#x}"),
        };
        for &call in COMPUTING {
            assert!(allows(call, [0; 6]), "call {call}");
        }
        let others = [
            libc::SYS_openat,
            libc::SYS_socket,
            libc::SYS_execve,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_kill,
            libc::SYS_ioctl,
            libc::SYS_fcntl,
            libc::SYS_prctl,
            libc::SYS_ptrace,
            libc::SYS_io_uring_setup,
            libc::SYS_dup,
            libc::SYS_sendmsg,
            libc::SYS_prlimit64,
            libc::SYS_memfd_create,
            libc::SYS_seccomp,
            449,
            599,
        ];
        assert!(others.iter().all(|&call| !allows(call, [0; 6])));
        let memory = |call, protection: i32| allows(call, [0, 4096, protection as u64, 0, 0, 0]);
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            assert!(memory(call, libc::PROT_READ | libc::PROT_WRITE));
            assert!(!memory(call, libc::PROT_READ | libc::PROT_EXEC));
        }
        let signal = |pid: u32, signal: i32| allows(libc::SYS_tgkill, [pid.into(), 5, signal as u64, 0, 0, 0]);
        assert!(signal(PID, libc::SIGABRT) && !signal(PID, libc::SIGKILL) && !signal(1, libc::SIGABRT));
        assert_eq!(run(&steps, 0x4000_0003, libc::SYS_getpid, [0; 6]), KILL);
    }

    #[test]
    fn kills_what_speaks_another_language() {
        assert_eq!(run(filter(true), 0x4000_0003, libc::SYS_getpid, [0; 6]), KILL);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(run(filter(true), ARCHITECTURE, 0x4000_0000 | libc::SYS_getpid, [0; 6]), KILL);
    }
}
