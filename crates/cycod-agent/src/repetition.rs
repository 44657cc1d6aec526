use std::collections::HashMap;

use cycod_diagnostic::{Code, Refusal};
use cycod_model::{Call, NoObject};

/// How often the same call may bring the same result.
const MOST: u32 = 3;

/// Knows which calls a turn has made, and what came of them, so that a model that goes in circles is told, and then ended.
#[derive(Debug, Default)]
pub(crate) struct Repetition(HashMap<String, Known>);

#[derive(Debug, Default)]
struct Known {
    result: String,
    times: u32,
    was_told: bool,
}

/// What is to be done about a call.
#[derive(Debug)]
pub(crate) enum Again {
    /// It is new, or its result may be.
    No,
    /// It is answered with this, and not made.
    Told(Refusal),
    /// It was answered so before.
    Circle,
}

impl Repetition {
    /// Looks at a call before it is made.
    pub(crate) fn look(&mut self, call: &Call) -> Again {
        let Some(known) = self.0.get_mut(&key(call)).filter(|known| known.times >= MOST) else { return Again::No };
        if known.was_told {
            return Again::Circle;
        }
        known.was_told = true;
        let why = format!("the same call has returned the same result {MOST} times, and was not made again");
        Again::Told(
            Refusal::new(Code::RepeatedCall, why).place(&call.name).attempt(
                "use the result that you have, call something else, or answer; the same call again ends the work",
            ),
        )
    }

    /// Takes note of what came of a call; `changes` says whether it may have changed something, so that the results of others
    /// may be new.
    pub(crate) fn ended(&mut self, call: &Call, result: &str, changes: bool) {
        let key = key(call);
        if changes && !self.0.contains_key(&key) {
            self.0.clear();
        }
        let known = self.0.entry(key).or_default();
        if known.times > 0 && known.result == result {
            known.times += 1;
        } else {
            *known = Known { result: result.to_owned(), times: 1, was_told: false };
        }
    }
}

fn key(call: &Call) -> String {
    let arguments = match &call.arguments {
        Ok(arguments) => cycod_store::canonical(&serde_json::Value::Object(arguments.clone())),
        Err(NoObject(text)) => text.clone(),
    };
    format!("{} {arguments}", call.name)
}
