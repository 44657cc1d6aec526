/// Keeps the memory of a host with many threads small: they share two arenas of the C library's allocator, where each would
/// get one of its own. To be called before there are threads. Other allocators are left alone.
pub fn share_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets one number of the allocator; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Makes all threads share one arena of the C library's allocator. To be called before there are threads, by a process that
/// will call [`compute_only`](crate::compute_only): a second arena looks into a file before it shrinks.
pub fn share_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets one number of the allocator; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
