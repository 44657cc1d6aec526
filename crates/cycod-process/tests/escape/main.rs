//! Real attacks on the confinement of a program: each is run as any program is started, where it must work, and confined,
//! where nothing may get out.
//!
//! The suite makes itself a world first: processes, mounts, a network, names and queues of its own, with services and
//! addresses that a tool would like to reach. So it needs no network, and nothing stays behind. Every attack is run by root and
//! by an ordinary user, if the suite is started by root.
//!
//! `cargo test -p cycod-process --test escape [WORD…]` runs those whose names hold one of the words; `UPDATE_EXPECT=1`
//! writes the page that is made of the table.
#![allow(unsafe_code, reason = "signals and descriptors, as in the library")]
#![allow(clippy::disallowed_methods, reason = "the half without confinement is started without the library")]
#![allow(clippy::print_stdout, reason = "the table is what the suite has to say")]
#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod duel;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod field;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod page;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod table;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod world;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    world::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("0 attacks: the suite knows Linux on x86-64 only");
}
