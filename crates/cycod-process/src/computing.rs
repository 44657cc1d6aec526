use std::io;

#[cfg(target_os = "macos")]
use crate::macos;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::warden;

/// Gives up every power of this process, of all its threads and for ever, but to compute, to have up to `memory` bytes of
/// address space, and to read and write the descriptors that it has.
///
/// It can open nothing, start nothing (no thread either), connect to nothing, signal nobody and make no memory executable:
/// the kernel ends it when it tries. What a library looks up in files when it is first needed, such as the time zone, must
/// have been needed before; see also [`share_one_arena`](crate::share_one_arena).
///
/// On macOS, the kernel refuses what it tries, its memory has no limit, and it can start threads.
///
/// # Errors
/// When the kernel does not let us, or knows no way: then the process still has powers, and must not go on.
pub fn compute_only(memory: u64) -> io::Result<()> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return warden::compute_only(memory);
    #[cfg(target_os = "macos")]
    {
        _ = memory;
        macos::compute_only()
    }
    #[cfg(not(any(
        target_os = "macos",
        all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))
    )))]
    {
        _ = memory;
        Err(io::Error::new(io::ErrorKind::Unsupported, "no way is known here to make a process powerless"))
    }
}
