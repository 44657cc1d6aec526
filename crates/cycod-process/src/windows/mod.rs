//! How Windows starts programs: the whole command line as one text, the handles that a program gets by name, a job that
//! holds all it starts, and one that marks it as a program of a run. And how it makes files, pipes and secrets that only
//! their owner can read, and tells whether only the administrators can change a file.
//!
//! The standard library's `Command` starts programs with every handle that may be inherited, escapes what is meant for
//! `cmd.exe`, and runs batch files. So programs are started here by `CreateProcessW`, and only here.

mod access;
mod console;
mod control;
mod inbox;
mod job;
mod machine;
mod mark;
mod output;
mod private;
mod protected;
mod start;

pub use console::{ConsoleKeys, UserConsole, console_size, shows_styles};
pub use control::{ControlPipe, is_pipe_deserted, speak};
pub use inbox::{Inbox, Received};
pub(crate) use job::{Hold, Job, JobLimits, hold_above};
pub use machine::{MachineFlaw, create_machine_directory, machine_flaw, system_drive};
pub(crate) use mark::is_marked;
pub(crate) use output::{Drain, OutputPipe};
pub use private::{
    FileCreation, FileExposure, FileWriting, create_private_directory, file_exposure, open_private_file, path_exposure,
};
pub use protected::{protect_for_user, unprotect_for_user};
pub(crate) use start::{Console, Process, own_stream, start, start_in, start_outside};
