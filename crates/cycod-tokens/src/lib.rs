//! What tools cost a model: how many tokens their descriptions and schemas take, and what to shorten so that they fit.
//!
//! [`Measure`] counts, [`fit`] proposes. Nothing here knows a file, a setting or a price.

mod count;
mod cuts;
mod fit;
mod measure;
mod merge;
mod patterns;
#[cfg(feature = "exact")]
mod vocabulary;

pub use count::{Counter, NoTokenizer, estimate};
pub use cuts::{Cut, CutKind};
pub use fit::{Candidate, Fit, Off, Shortened, fit};
pub use measure::Measure;
pub use merge::Merged;
pub use patterns::{Turning, turnings};
