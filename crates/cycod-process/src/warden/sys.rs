//! System calls without a C library in between.
//!
//! The warden and the program on its way to `execve` run in our memory but not in our process: they have no thread-local
//! storage of their own, so `errno`, locks and the allocator belong to somebody else. Everything they do goes through here.

use std::ffi::c_long;

/// The lowest result that is an error number, negated.
const MIN_ERRNO: isize = -4095;

/// Makes one system call and returns what the kernel returned: `-errno` on failure.
///
/// # Safety
/// As the call itself demands of its arguments.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn call(number: c_long, args: [usize; 6]) -> isize {
    let result;
    let [a, b, c, d, e, f] = args;
    // SAFETY: the kernel's calling convention; the caller answers for the arguments.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes one system call and returns what the kernel returned: `-errno` on failure.
///
/// # Safety
/// As the call itself demands of its arguments.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) unsafe fn call(number: c_long, args: [usize; 6]) -> isize {
    let result;
    let [a, b, c, d, e, f] = args;
    // SAFETY: the kernel's calling convention; the caller answers for the arguments.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// Makes a system call with up to six arguments, whatever integer or pointer types they have.
macro_rules! sys {
    (@six $number:expr; $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr) => {
        $crate::warden::sys::call($number, [$a as usize, $b as usize, $c as usize, $d as usize, $e as usize, $f as usize])
    };
    ($number:expr) => { sys!(@six $number; 0, 0, 0, 0, 0, 0) };
    ($number:expr, $a:expr) => { sys!(@six $number; $a, 0, 0, 0, 0, 0) };
    ($number:expr, $a:expr, $b:expr) => { sys!(@six $number; $a, $b, 0, 0, 0, 0) };
    ($number:expr, $a:expr, $b:expr, $c:expr) => { sys!(@six $number; $a, $b, $c, 0, 0, 0) };
    ($number:expr, $a:expr, $b:expr, $c:expr, $d:expr) => { sys!(@six $number; $a, $b, $c, $d, 0, 0) };
    ($number:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr) => { sys!(@six $number; $a, $b, $c, $d, $e, 0) };
    ($number:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr) => { sys!(@six $number; $a, $b, $c, $d, $e, $f) };
}
pub(super) use sys;

/// Returns the error number in the result of a call, if it failed.
#[inline(always)]
pub(super) fn errno(result: isize) -> Option<i32> {
    if matches!(result, MIN_ERRNO..=-1) { Some((result as i32).wrapping_neg()) } else { None }
}

/// Starts a process that shares our memory, runs `body(argument)` on its own stack and never returns; gives its id, which
/// is also written to `id` before the process runs.
///
/// # Safety
/// `stack_top` is the 16-aligned end of memory that nobody else uses until the process is gone or has executed a program;
/// `body` obeys this module's rule; `argument` and `id` stay valid as long.
#[inline(always)]
pub(super) unsafe fn clone<T>(
    flags: i32,
    stack_top: *mut u8,
    body: unsafe extern "C" fn(*mut T) -> !,
    argument: *mut T,
    id: *mut i32,
) -> isize {
    let flags = (flags | libc::CLONE_VM | libc::CLONE_PARENT_SETTID) as usize;
    let result: isize;
    // SAFETY: both sides return from the call with the same registers. The new process (zero) has an empty stack and calls
    // `body`, which never returns; ours goes on behind it. Nothing of our own stack is touched by the other side.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags, in("rsi") stack_top, in("rdx") id, in("r10") 0, in("r8") 0,
            in("r12") argument, in("r13") body,
            lateout("rcx") _, lateout("r11") _,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") flags => result,
            in("x1") stack_top, in("x2") id, in("x3") 0, in("x4") 0,
            in("x20") argument, in("x21") body,
            out("x30") _,
        );
    }
    result
}

/// Closes a descriptor and ends the process, without touching memory in between: a process that sees the descriptor closed may use
/// the stack again.
#[inline(always)]
pub(super) fn close_and_exit(fd: i32) -> ! {
    // SAFETY: two plain calls on registers; the second does not return.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "syscall",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            exit = const libc::SYS_exit_group,
            in("rax") libc::SYS_close, in("rdi") fd as isize,
            options(noreturn, nostack),
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "svc 0",
            "mov x8, {exit}",
            "mov x0, 0",
            "svc 0",
            "brk 1",
            exit = const libc::SYS_exit_group,
            in("x8") libc::SYS_close, in("x0") fd as isize,
            options(noreturn, nostack),
        );
    }
}

/// Blocks every signal in this thread, even those that the C library keeps for itself, and returns the mask before.
pub(super) fn block_signals() -> u64 {
    let (all, mut before) = (u64::MAX, 0_u64);
    // SAFETY: pointers to eight bytes each, as the size says.
    unsafe { sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, &raw mut before, 8) };
    before
}

/// Sets this thread's signal mask.
pub(super) fn set_signals(mask: u64) {
    // SAFETY: a pointer to eight bytes, as the size says.
    unsafe { sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8) };
}

/// Sends a signal; a process that is gone is not an error.
#[inline(always)]
pub(super) fn kill(pid: i32, signal: i32) {
    // SAFETY: plain call without pointers.
    unsafe { sys!(libc::SYS_kill, pid as isize, signal) };
}
