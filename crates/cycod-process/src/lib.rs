//! Starts one program under limits, and always knows how it ended.
//!
//! The only home of `unsafe` and of `Command` in the project.
#![allow(
    unsafe_code,
    reason = "processes, signals and descriptors are raw system interfaces; every other crate builds on this one instead"
)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod ancestry;
#[cfg(any(windows, test))]
mod command_line;
mod computing;
mod confinement;
mod conversation;
mod detached;
mod ended;
mod error;
mod expiry;
#[cfg(unix)]
mod fifo;
mod foreground;
#[cfg_attr(windows, path = "windows/interrupts.rs")]
mod interrupts;
#[cfg(any(target_os = "macos", all(test, unix)))]
mod macos;
mod memory;
mod observe;
mod pool;
mod portable;
mod program;
mod session;
mod spec;
mod stop;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod warden;
#[cfg(windows)]
mod windows;

pub use ancestry::{Below, below_a_run, is_below_a_run, terminal_session, variable_above_runs};
pub use computing::compute_only;
pub use confinement::{
    Confinement, Enforced, Lack, Mechanism, Mount, MountAccess, Network, NetworkEnforcement, NetworkGate, Offered,
    ProcessEnforcement, Root, offered,
};
pub use conversation::{Conversation, Streams};
pub use detached::start_detached;
pub use ended::{EndedProcess, Ending, Leftovers, MemoryEnforcement};
pub use error::StartError;
pub use expiry::expire_at;
#[cfg(unix)]
pub use fifo::make_fifo;
pub use foreground::{run_attached, run_foreground};
pub use interrupts::{HostInterrupts, has_hung_up, host_interrupts};
pub use memory::share_one_arena;
pub use observe::{ObservedPlace, ObservedTouch, Observer, Touched};
pub use pool::{Pool, PoolSize};
pub use program::{Program, ProgramNotFound, find_program};
pub use session::Session;
#[cfg(unix)]
pub use spec::Descriptor;
pub use spec::{Input, ProcessLimits, SCRIPT_PATH, Spec, Stream, Terminal};
pub use stop::{Stop, Urgency};
#[cfg(windows)]
pub use windows::{
    ConsoleKeys, ControlPipe, FileCreation, FileExposure, FileWriting, Inbox, MachineFlaw, Received, UserConsole,
    console_size, create_machine_directory, create_private_directory, file_exposure, is_pipe_deserted, machine_flaw,
    open_private_file, path_exposure, protect_for_user, shows_styles, speak, system_drive, unprotect_for_user,
};
