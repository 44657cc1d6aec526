//! Real processes, started, stopped and killed.
#![cfg(unix)]
#![allow(unsafe_code, reason = "signals and descriptors, as in the library")]
#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod computing;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod confinement;
mod conversation;
mod descendants;
mod descriptors;
mod endings;
mod failures;
mod host;
mod limits;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod observation;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod pool;
mod search;
mod streams;
mod support;
