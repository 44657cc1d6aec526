use std::{
    io::{IsTerminal, stdin},
    sync::{Mutex, PoisonError},
};

use cycod_engine::diagnostic::{Shown, shown};
use cycod_mcp_client::{Person, ServerQuestion, ServerReply};
use serde_json::{Map, Value as Json, json};

use crate::{
    printer::{talk, talk_is_terminal},
    run::line,
};

/// The person at the terminal, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal;

impl Person for Terminal {
    fn is_there(&self) -> bool {
        stdin().is_terminal() && talk_is_terminal()
    }

    fn answer(&self, question: &ServerQuestion) -> ServerReply {
        // There is one terminal: what several servers ask comes one after the other.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shown!["`", Shown::from(&question.server).on_one_line(), "`"];
        talk(shown!["The server ", &server, " asks:\n", Shown::from(&question.message).quoted("  | "), "\n"]);
        let mut form = Map::new();
        let required = question.form["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in question.form["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|required| required == name.as_str());
            match ask_field(name, field, is_required) {
                Some(Some(value)) => _ = form.insert(name.clone(), value),
                Some(None) => {}
                None => return ServerReply::Cancel,
            }
        }
        match read(shown!["Send this to ", server, "? [y/n] "]).as_deref() {
            Some("y" | "yes") => ServerReply::Accept(Json::Object(form)),
            Some(_) => ServerReply::Decline,
            None => ServerReply::Cancel,
        }
    }
}

/// The value for a field of a form: nothing when it is left out, and no answer at all at the end of input.
fn ask_field(name: &str, field: &Json, is_required: bool) -> Option<Option<Json>> {
    let what = line(name, field);
    loop {
        let answer = read(&*what)?;
        if answer.is_empty() {
            match &field["default"] {
                Json::Null if is_required => continue,
                Json::Null => return Some(None),
                default => return Some(Some(default.clone())),
            }
        }
        let value = match field["type"].as_str() {
            Some("boolean") => match answer.as_str() {
                "y" | "yes" | "true" => Some(json!(true)),
                "n" | "no" | "false" => Some(json!(false)),
                _ => None,
            },
            Some("number" | "integer") => serde_json::from_str(&answer).ok().filter(Json::is_number),
            Some("array") => Some(answer.split(',').map(|item| json!(item.trim())).collect()),
            _ => Some(Json::String(answer)),
        };
        if value.is_some() {
            return Some(value);
        }
    }
}

fn read(prompt: impl Into<Shown>) -> Option<String> {
    talk(prompt);
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(1..) => Some(line.trim().to_owned()),
        _ => None,
    }
}
