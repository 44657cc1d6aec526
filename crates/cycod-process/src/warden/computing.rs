use std::ffi::{c_int, c_uint};
use std::io;
use std::mem::size_of;

use super::confine::filter::{self, Step};

/// Of a filter that all threads get at once.
const FOR_ALL_THREADS: c_uint = 1;

/// How many descriptors there may be: the kernel takes no more than that in one `poll`.
const DESCRIPTORS: u64 = 16;

/// See [`crate::compute_only`].
pub(crate) fn compute_only(memory: u64) -> io::Result<()> {
    for (resource, most) in
        [(libc::RLIMIT_AS, memory), (libc::RLIMIT_NOFILE, DESCRIPTORS), (libc::RLIMIT_NPROC, 0), (libc::RLIMIT_CORE, 0)]
    {
        lower(resource as c_int, most)?;
    }
    let steps = filter::computing(std::process::id());
    const { assert!(size_of::<Step>() == size_of::<libc::sock_filter>()) }
    let length = steps.len().try_into().map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: steps.as_ptr().cast::<libc::sock_filter>().cast_mut() };
    // SAFETY: the calls read their arguments only, and the program lives until they return.
    let refused = unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 {
            let set = libc::SECCOMP_SET_MODE_FILTER;
            libc::syscall(libc::SYS_seccomp, set, FOR_ALL_THREADS, &raw const program)
        } else {
            -1
        }
    };
    match refused {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        thread => Err(io::Error::other(format!("thread {thread} has a filter of its own"))),
    }
}

/// Lowers a limit; one that is lower already stays.
fn lower(resource: c_int, most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the limit into a structure of its type.
    if unsafe { libc::getrlimit(resource as _, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_max = limit.rlim_max.min(most);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the limit.
    match unsafe { libc::setrlimit(resource as _, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
