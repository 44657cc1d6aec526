//! Secrets in texts.
//!
//! A program writes a secret in its own way: as JSON, in an address, quoted for a shell, in Base64. How many ways there are to
//! write one text grows with each of its characters, because tools disagree about which of them need an escape. So the ways are
//! not listed. Instead the text is read in several ways at once, each of which undoes one family of escapes, and the same
//! automaton of the secrets themselves follows every one:
//!
//! ```text
//!                         ┌─ as it is ───────────┐
//!                         ├─ % undone ───────────┤
//!  text ───► windows ─────┼─ \ undone ───────────┼──► automaton ──► places ──► ****
//!                         ├─ digits of Base64 ───┤
//!                         └─ …                   ┘
//! ```
//!
//! Most of a text can be no secret in any of them, and four bytes in a row are enough to tell; that is what the windows do.
//!
//! [`Masks`] is made once, of all the secrets that a run knows, and has three faces: a whole text, a stream of pieces, a JSON
//! value. Time and memory are linear in the text, whatever the secrets are. Of a text that comes in pieces, what is held back
//! is what the automaton says may still become a secret.
//!
//! Invariant: nothing here reads a file, an environment or a clock, and no text makes it panic.

mod digits;
mod json;
mod masks;
mod scan;
mod secret;
mod undo;
mod windows;
mod words;

pub use masks::{Masks, StreamMask};
pub use secret::{can_be_masked, is_literal};
