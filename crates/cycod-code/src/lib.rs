//! Names every kind of problem, of files and of calls, and says what each means on every surface.
//!
//! All of it is one table, in `table.rs`: a new code is a line there, and a page in `docs/errors/`.

mod code;
mod surface;
mod table;
#[cfg(test)]
mod tests;

pub use code::UnknownCode;
pub use surface::Exit;
pub use table::Code;
