/// Makes all threads share one arena of the C library's allocator, where each would get one of its own. To be called before there
/// are threads. Other allocators are left alone.
///
/// A host with many threads needs less memory. A second arena also grows by one page at a time, and looks into a file before it
/// shrinks, which a process that will call [`compute_only`](crate::compute_only) may not.
pub fn share_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets one number of the allocator; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
