use std::sync::Arc;

use cycod_diagnostic::{Code, Refusal};
use cycod_schema::Schema;
use serde_json::{Value as Json, json};

use crate::{account::Account, text::paragraph};

/// Who answers what a server asks during a call.
pub trait Person: Send + Sync {
    /// Whether somebody is there; a server asks only those who say so.
    fn is_there(&self) -> bool;

    /// Answers a question. It may take as long as a person takes; the call's time goes on.
    fn answer(&self, question: &ServerQuestion) -> ServerReply;

    /// Who answers what a server asks over the connection of one account, where others must not hear of it.
    fn of_account(&self, account: &Account) -> Option<Arc<dyn Person>> {
        _ = account;
        None
    }

    /// Asks a model for a server whose entry allows it; `request` and the answer are as on the wire.
    ///
    /// # Errors
    /// Why no model is asked.
    fn sample(&self, server: &str, request: Json) -> Result<Json, Refusal> {
        _ = request;
        let why = "there is no client here whose model could be asked";
        Err(Refusal::new(Code::NobodyToAnswer, why).place(server))
    }
}

/// What a server asks during a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerQuestion {
    /// The server that asks.
    pub server: String,
    /// What it asks, with hidden characters shown.
    pub message: String,
    /// The form: a flat JSON Schema of type object.
    pub form: Json,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerReply {
    /// The form, filled in: a JSON object.
    Accept(Json),
    /// The person says no.
    Decline,
    /// The person does not answer.
    Cancel,
}

/// Nobody is there: everything is declined.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPerson;

impl Person for NoPerson {
    fn is_there(&self) -> bool {
        false
    }

    fn answer(&self, _: &ServerQuestion) -> ServerReply {
        ServerReply::Decline
    }
}

/// Puts a question and returns the result as it goes back. A reply that does not fit the form is none.
pub(crate) fn ask(person: &dyn Person, server: &str, message: &str, form: Json) -> Json {
    if !person.is_there() {
        return json!({ "action": "decline" });
    }
    let schema = Schema::compile(&form);
    let question = ServerQuestion { server: server.to_owned(), message: paragraph(message), form };
    match (person.answer(&question), schema) {
        (ServerReply::Accept(content), Ok(schema)) if schema.validate(&content).is_empty() => {
            json!({ "action": "accept", "content": content })
        }
        (ServerReply::Decline, _) => json!({ "action": "decline" }),
        _ => json!({ "action": "cancel" }),
    }
}
