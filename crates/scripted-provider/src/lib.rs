//! A provider of language models that says what a script says: for tests, never part of the product.
//!
//! One server speaks every format, told apart by the path, always as a stream. Which turn of the script answers is told by the
//! conversation itself: by how often the model has spoken in it. So any number of conversations can go on at once.
//!
//! ```no_run
//! use scripted_provider::{Script, ScriptedProvider};
//!
//! let script = Script::from_json(
//!     r#"{"turns": [
//!         {"text": "Let me look.", "calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
//!         {"before": [{"status": 429, "headers": {"retry-after": "1"}}], "text": "Done."}
//!     ]}"#,
//! )?;
//! let provider = ScriptedProvider::start(script);
//! let base_url = provider.url("openai"); // http://127.0.0.1:PORT/v1
//! // … ask it, then look at what was asked:
//! assert_eq!(provider.asked().len(), 3);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! A script can also be a function from what was asked to a turn: [`Script::answering`]. As a process, `scripted-provider FILE`
//! reads a script from a file and prints its address; it ends when its standard input does.
//!
//! | base address | format |
//! |---|---|
//! | `url("openai")`, `url("openai-responses")` | `…/v1`, with `/chat/completions` and `/responses` below |
//! | `url("anthropic")`, `url("gemini")`, `url("ollama")` | the address itself |

mod asked;
mod frames;
mod script;
mod server;

pub use asked::{Asked, Format};
pub use script::{Answer, Before, Conversation, Cut, Script, ScriptedCall, Stop, Tokens, Turn};
pub use server::ScriptedProvider;
