//! Keeps what a model is told within its window: old outputs give way to references.

use cycod_engine::{outputs::Shelf, tokens::estimate};
use cycod_model::{Call, Message, Request, ToolResult, ToolSpec};
use cycod_store::RunId;

/// What a model holds when nobody knows how much it does.
pub(crate) const WINDOW: usize = 128_000;

/// How many of the last messages stay whole.
const WHOLE: usize = 4;

/// Results below this are not worth a reference, in tokens.
const SMALL: usize = 100;

/// What a reference to an output begins with.
const MARK: &str = "[left out to make room: ";

/// How full the window may become, and how full it is when room was made, in percent. It is made rarely, because each time
/// the provider has to read everything anew.
const FULL: usize = 80;
const ROOMY: usize = 50;

/// How many tokens a request has, by estimate.
pub(crate) fn tokens(request: &Request) -> usize {
    let tool =
        |tool: &ToolSpec| estimate(&tool.description) + estimate(&tool.schema.to_string()) + estimate(&tool.name);
    request.system.as_deref().map_or(0, estimate)
        + request.tools.iter().map(tool).sum::<usize>()
        + request.messages.iter().map(of_message).sum::<usize>()
}

/// How many tokens a message has, by estimate.
fn of_message(message: &Message) -> usize {
    // What stands around each message and each call.
    const AROUND: usize = 8;
    let arguments = |call: &Call| AROUND + estimate(&call.arguments_text());
    AROUND
        + match message {
            Message::User(text) => estimate(text),
            Message::Model(reply) => estimate(&reply.text) + reply.calls.iter().map(arguments).sum::<usize>(),
            Message::Results(results) => results.iter().map(|result| AROUND + estimate(&result.text)).sum(),
        }
}

/// What making room came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// How many results gave way.
    pub(crate) results: usize,
    /// How many tokens that won.
    pub(crate) tokens: usize,
}

/// Makes room when a request takes `size` tokens of a window: the oldest outputs first, the last messages never.
pub(crate) fn make_room(messages: &mut [Message], size: usize, window: usize, shelf: &Shelf) -> Room {
    let mut room = Room::default();
    if size <= window / 100 * FULL {
        return room;
    }
    let wanted = size - window / 100 * ROOMY;
    let old = messages.len().saturating_sub(WHOLE);
    let results = messages[..old].iter_mut().filter_map(|message| match message {
        Message::Results(results) => Some(results),
        _ => None,
    });
    for result in results.flatten() {
        if room.tokens >= wanted {
            break;
        }
        let before = estimate(&result.text);
        if before < SMALL || result.text.starts_with(MARK) {
            continue;
        }
        if let Some(reference) = reference(result, shelf) {
            room.tokens += before.saturating_sub(estimate(&reference));
            room.results += 1;
            result.text = reference;
        }
    }
    room
}

/// Puts a result where it can be found again; nothing when it cannot be kept, so that it stays.
fn reference(result: &ToolResult, shelf: &Shelf) -> Option<String> {
    let run = RunId::random().ok()?.to_string();
    let mut kept = shelf.keep(&run, "result", result.text.as_bytes()).ok()?;
    kept.store().ok()?;
    let (bytes, lines, uri) = (kept.bytes(), kept.lines(), kept.id().uri());
    let look = cycod_engine::outputs::LOOK;
    Some(format!("{MARK}{bytes} bytes, {lines} lines; read them with {look}, as {{\"output\": \"{uri}\"}}]"))
}
