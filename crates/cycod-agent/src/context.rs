//! Keeps a request within the limit of its model: old content is replaced by references.

use cycod_engine::{approvals::LOCAL, outputs::Shelf, tokens::estimate};
use cycod_model::{Call, Message, Reply, Request, ToolSpec};
use cycod_store::Maker;
use cycod_store::RunId;
use serde_json::{Value as Json, json};

/// What a model holds when nobody knows how much it does.
pub(crate) const WINDOW: usize = 128_000;

/// How many of the last messages stay whole as long as anything else can give way.
const WHOLE: usize = 4;

/// What is below this is not worth a reference, in tokens.
const SMALL: usize = 100;

/// How much of a long text stays beside its reference, in bytes.
const BEGINNING: usize = 400;

/// What a reference begins with.
const MARK: &str = "[left out to make room: ";

/// How full the room may become, and how full it is when room was made, in percent. It is made rarely, because each time the
/// provider has to read everything anew.
const FULL: usize = 80;
const ROOMY: usize = 50;

/// How full it may stay when nothing is left to give way but what the model still works with.
const CLOSE: usize = 95;

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
    let opaque = |opaque: &Option<Json>| opaque.as_ref().map_or(0, |opaque| estimate(&opaque.to_string()));
    let call = |call: &Call| AROUND + estimate(&call.arguments_text()) + opaque(&call.opaque);
    AROUND
        + match message {
            Message::User(text) => estimate(text),
            Message::Model(reply) => {
                estimate(&reply.text) + opaque(&reply.opaque) + reply.calls.iter().map(call).sum::<usize>()
            }
            Message::Results(results) => results.iter().map(|result| AROUND + estimate(&result.text)).sum(),
        }
}

/// What making room came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// How many results and other parts of messages gave way.
    pub(crate) parts: usize,
    /// How many messages were left out altogether.
    pub(crate) messages: usize,
    /// How many tokens that won.
    pub(crate) tokens: usize,
}

/// Makes room when a request of `size` tokens fills too much of `room`, both by estimate.
///
/// The oldest results go first. When that is not enough: long texts and arguments of old replies, then the oldest messages
/// altogether, then newer results, then long texts of the person, of which the beginning stays. The first message of the
/// person and the last messages stay.
pub(crate) fn make_room(messages: &mut Vec<Message>, size: usize, room: usize, shelf: &Shelf) -> Room {
    let mut making = Making { made: Room::default(), size, shelf };
    let percent = |percent: usize| (room as u128 * percent as u128 / 100) as usize;
    if size <= percent(FULL) {
        return making.made;
    }
    let old = messages.len().saturating_sub(WHOLE);
    making.results(&mut messages[..old], percent(ROOMY));
    if making.size > percent(CLOSE) {
        making.replies(&mut messages[..old], percent(FULL));
    }
    if making.size > percent(CLOSE) {
        making.leave_out(messages, percent(FULL), room / 4);
    }
    if making.size > percent(CLOSE) {
        making.results(messages, percent(FULL));
    }
    if making.size > percent(CLOSE) {
        making.questions(messages, percent(FULL), room / 4);
    }
    making.made
}

/// Room that is being made.
struct Making<'a> {
    made: Room,
    /// How many tokens the request still has.
    size: usize,
    shelf: &'a Shelf,
}

impl Making<'_> {
    /// Puts results where they can be found again, the oldest first, until the request is small enough.
    fn results(&mut self, messages: &mut [Message], enough: usize) {
        let results = messages.iter_mut().filter_map(|message| match message {
            Message::Results(results) => Some(results),
            _ => None,
        });
        for result in results.flatten() {
            if self.size <= enough {
                return;
            }
            self.give_way(&mut result.text, 0);
        }
    }

    /// Shortens texts of the model and the arguments of its calls.
    fn replies(&mut self, messages: &mut [Message], enough: usize) {
        for message in messages {
            let Message::Model(reply) = message else { continue };
            if self.size <= enough {
                return;
            }
            self.give_way(&mut reply.text, BEGINNING);
            for arguments in reply.calls.iter_mut().filter_map(|call| call.arguments.as_mut().ok()) {
                for value in arguments.values_mut() {
                    if let Json::String(text) = value {
                        self.give_way(text, 0);
                    }
                }
            }
        }
    }

    /// Leaves out the oldest messages but the first, up to where a reply or the person begins; of a first one that is longer
    /// than `most`, the beginning stays.
    fn leave_out(&mut self, messages: &mut Vec<Message>, enough: usize, most: usize) {
        let last = messages.len().saturating_sub(WHOLE);
        let (mut until, mut won, mut sum) = (1, 0, 0);
        for (at, message) in messages.iter().enumerate().take(last + 1).skip(1) {
            if !matches!(message, Message::Results(_)) {
                (until, won) = (at, sum);
                if self.size.saturating_sub(won) <= enough {
                    break;
                }
            }
            sum += of_message(message);
        }
        if until > 1 && matches!(messages[0], Message::User(_)) {
            let all = json!(messages[1..until]);
            let lines: String = all.as_array().into_iter().flatten().map(|message| format!("{message}\n")).collect();
            if let Some(reference) = reference(&lines, self.shelf) {
                let count = until - 1;
                let noun = if count == 1 { "message" } else { "messages" };
                if let Message::User(text) = &mut messages[0] {
                    text.push_str(&format!("\n\n({count} earlier {noun} of this conversation: {reference})"));
                }
                messages.drain(1..until);
                self.made.messages += count;
                self.won(won.saturating_sub(estimate(&reference)));
            }
        }
        if self.size > enough
            && messages.len() > 1
            && let Some(Message::User(text)) = messages.first_mut()
            && estimate(text) > most
        {
            self.give_way(text, BEGINNING.max(most));
        }
    }

    /// Shortens what the person said before the last time: otherwise, a text that was too long once would be too long for
    /// ever.
    fn questions(&mut self, messages: &mut [Message], enough: usize, most: usize) {
        let mut said: Vec<&mut String> = messages
            .iter_mut()
            .filter_map(|message| match message {
                Message::User(text) => Some(text),
                _ => None,
            })
            .collect();
        said.pop();
        for text in said {
            if self.size <= enough {
                return;
            }
            self.give_way(text, BEGINNING.max(most));
        }
    }

    /// Puts a reference in the place of a text, behind its first bytes. A text that cannot be kept stays.
    fn give_way(&mut self, text: &mut String, beginning: usize) {
        let before = estimate(text);
        if before < SMALL + beginning / 4 || is_reference(text) {
            return;
        }
        if let Some(reference) = reference(text, self.shelf) {
            let beginning = &text[..text.floor_char_boundary(beginning)];
            let shorter = if beginning.is_empty() { reference } else { format!("{beginning} … {reference}") };
            self.made.parts += 1;
            self.won(before.saturating_sub(estimate(&shorter)));
            *text = shorter;
        }
    }

    fn won(&mut self, tokens: usize) {
        self.made.tokens += tokens;
        self.size = self.size.saturating_sub(tokens);
    }
}

/// Who makes what the loop itself keeps.
pub(crate) fn of_the_loop() -> Maker {
    Maker::new(LOCAL, "")
}

/// Puts a text where it can be found again; nothing when it cannot be kept.
fn reference(text: &str, shelf: &Shelf) -> Option<String> {
    let run = RunId::random().ok()?.to_string();
    let mut kept = shelf.keep(&run, "result", of_the_loop(), text.as_bytes()).ok()?;
    kept.store().ok()?;
    let (bytes, lines, uri) = (kept.bytes(), kept.lines(), kept.id().uri());
    let look = cycod_engine::outputs::LOOK;
    Some(format!("{MARK}{bytes} bytes, {lines} lines; read them with {look}, as {{\"output\": \"{uri}\"}}]"))
}

/// Whether a text gave way before: nothing stands behind its reference. A tool may show such a reference in the middle of
/// its output, and that gives way.
fn is_reference(text: &str) -> bool {
    text.rsplit_once(MARK).is_some_and(|(_, rest)| rest.len() < 2 * SMALL && rest.find(']') == Some(rest.len() - 1))
}

/// The call of a reply that the limit of its tokens cut off, by its place: the last one, unless its arguments are whole.
pub(crate) fn cut_off(reply: &Reply) -> Option<usize> {
    let last = reply.calls.len().checked_sub(1)?;
    let is_whole = reply.calls[last].arguments.as_ref().is_ok_and(|arguments| !arguments.is_empty());
    (reply.stop == cycod_model::StopReason::MaxTokens && !is_whole).then_some(last)
}
