//! The one way to start threads and tasks, so that a panic is an error.
//!
//! A panic is a bug in cycod. It ends the work that it happens in, and nothing else: the caller that waits for that work
//! gets [`Broken`] at once. The panic hook has written the line that says where it was, with the name of the thread, so
//! what nobody waits for ([`Thread::detach`], `detach_task`) leaves that line and nothing else.
//!
//! ```text
//!  caught ──┬─ Thread   start · detach · scoped · answer
//!           └─ task · task_on · guarded · detach_task · blocking · waited  (with the feature `tokio`)
//! ```
//!
//! A caller that waits for something else than what is returned here (a channel, a flag, a pipe) must still be told when the work
//! breaks off. A sender, a guard or a descriptor that the work owns does that when it is dropped.

mod broken;
#[cfg(feature = "tokio")]
mod task;
mod thread;

pub use broken::{Broken, caught};
#[cfg(feature = "tokio")]
pub use task::{DetachedTask, blocking, detach_task, guarded, task, task_on, waited};
pub use thread::{Scoped, StartedThread, Thread, ThreadAnswer};
