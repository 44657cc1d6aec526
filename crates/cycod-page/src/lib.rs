//! What the pages of every server share: style, script and icon, the headers of answers, forms, and small parts of HTML.
//!
//! A page has no text of others that is not escaped: [`parts::text`] shows what is hidden in it, and the templates escape the
//! rest. Its headers allow nothing that is not in this program.

#![expect(clippy::needless_pass_by_value, reason = "a piece of markup is written where it is used, and used once")]

mod assets;
mod document;
pub mod form;
pub mod parts;
pub mod reply;

pub use assets::{Asset, Assets};
pub use document::{Live, document};
