//! What must be asked before a call can go on, in the words of the protocol, and the way back from its answers.

use std::collections::BTreeMap;

use cycod_engine::{
    Answer, AnswerTo, AskedOf, Breadth, PendingQuestion, Request,
    definition::Privilege,
    diagnostic::{Code, Refusal, Shown, visible, wrapped},
};
use cycod_process::is_below_a_run;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationCapability, InputRequest, InputRequests, ListRootsRequest, RootsCapabilities, SamplingCapability,
    SamplingMessage,
};
use serde_json::{Value as Json, json};

/// The key of the question whether a tool may run; no question of a tool can be called so.
pub(crate) const APPROVAL: &str = "cycod/approval";

/// The most that a form shows, in bytes and in lines. More is not asked by a form, for nobody would read it there.
const MOST_BYTES: usize = 16 * 1024;
const MOST_LINES: usize = 200;

/// How wide what others wrote stands in a form, in columns: a line that a client wraps would begin with anything.
const WIDTH: usize = 72;

/// Something to ask.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// Its key on the wire.
    pub(crate) key: String,
    /// What is asked, and of whom.
    pub(crate) request: InputRequest,
    /// Whether the call can go on without an answer.
    pub(crate) is_required: bool,
    /// Whether it is too long for a client to ask it.
    pub(crate) is_too_long: bool,
    subject: Subject,
}

#[derive(Clone, Debug)]
enum Subject {
    Question(PendingQuestion),
    Approval(Box<Request>),
}

/// How long a yes holds, as the client's user reads it, the shortest first.
const LENGTHS: [(&str, Answer); 3] = [
    ("this once", Answer::Once),
    ("this session, with these arguments", Answer::Session(Breadth::TheseArguments)),
    ("this session, with any arguments", Answer::Session(Breadth::AnyArguments)),
];

/// What somebody answered.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// To one of the tool's questions.
    To(String, AnswerTo),
    /// Whether the tool may run.
    Approval(Answer),
}

impl Reply {
    /// Whether the tool may run, if it says that.
    pub(crate) fn approval(self) -> Option<Answer> {
        match self {
            Self::Approval(answer) => Some(answer),
            Self::To(..) => None,
        }
    }
}

impl Pending {
    /// One of the tool's own questions.
    ///
    /// # Errors
    /// When its form is none that the protocol knows.
    pub(crate) fn question(question: PendingQuestion) -> Result<Self, Refusal> {
        let request = match &question.whom {
            AskedOf::Person { message, form } => form_request(message, form.clone()).map_err(|error| {
                Refusal::new(Code::UnknownForm, format!("the form of `{}` cannot be shown: {error}", question.name))
            })?,
            AskedOf::Model { prompt, max_tokens } => {
                let message = SamplingMessage::user_text(prompt.clone());
                let params = CreateMessageRequestParams::new(vec![message], *max_tokens);
                InputRequest::CreateMessage(CreateMessageRequest::new(params))
            }
            AskedOf::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
        };
        let (key, is_required) = (question.name.clone(), question.is_required);
        Ok(Self { key, request, is_required, is_too_long: false, subject: Subject::Question(question) })
    }

    /// The question whether a plan may run.
    ///
    /// A client answers for its user, and cannot prove that there is one. So what it says holds as long as this server at
    /// most.
    pub(crate) fn approval(request: Request) -> Result<Self, Refusal> {
        let text = approval_text(&request);
        let mut form = json!({
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Run it", "default": false}},
            "required": ["approve"],
        });
        if request.is_lasting {
            let lengths = LENGTHS.map(|(length, _)| length);
            form["properties"]["for"] =
                json!({"type": "string", "title": "For how long", "enum": lengths, "default": lengths[0]});
        }
        form["properties"]["reason"] = json!({"type": "string", "title": "If not, why", "maxLength": 1000});
        let asked = form_request(text.as_deref().unwrap_or_default(), form);
        let asked = asked.map_err(|error| Refusal::new(Code::UnknownForm, error.to_string()))?;
        let (is_too_long, subject) = (text.is_none(), Subject::Approval(Box::new(request)));
        Ok(Self { key: APPROVAL.to_owned(), request: asked, is_required: true, is_too_long, subject })
    }

    /// What somebody else can be asked in its place; nothing for a question of the tool's own.
    pub(crate) fn into_approval(self) -> Option<Request> {
        match self.subject {
            Subject::Approval(request) => Some(*request),
            Subject::Question(_) => None,
        }
    }

    /// Whether a client with these capabilities can ask it. Below a tool, the client may be the tool, and approves nothing.
    pub(crate) fn is_askable(&self, client: &ClientCapabilities) -> bool {
        match &self.request {
            _ if self.is_too_long => false,
            _ if matches!(self.subject, Subject::Approval(_)) && is_below_a_run() => false,
            InputRequest::Elicitation(_) => client.elicitation.as_ref().is_some_and(|elicitation| {
                // Before 2025-11-25 an empty object meant forms.
                elicitation.form.is_some() || elicitation.url.is_none()
            }),
            InputRequest::CreateMessage(_) => client.sampling.is_some(),
            InputRequest::ListRoots(_) => client.roots.is_some(),
            _ => false,
        }
    }

    /// What a client must be able to do so that it can be asked.
    pub(crate) fn needs(&self) -> ClientCapabilities {
        let mut needs = ClientCapabilities::default();
        match &self.request {
            InputRequest::Elicitation(_) => needs.elicitation = Some(ElicitationCapability::default()),
            InputRequest::CreateMessage(_) => needs.sampling = Some(SamplingCapability::default()),
            InputRequest::ListRoots(_) => needs.roots = Some(RootsCapabilities::default()),
            _ => {}
        }
        needs
    }

    /// Reads what came back over the wire; nothing when it is no answer to this question.
    pub(crate) fn read(&self, answer: &Json) -> Option<Reply> {
        let question = match &self.subject {
            // Nobody saw what is too long to be shown.
            Subject::Approval(_) if self.is_too_long => return None,
            Subject::Approval(_) => return Some(Reply::Approval(approval(answer)?)),
            Subject::Question(question) => question,
        };
        let accepted = match &question.whom {
            AskedOf::Person { .. } => match answer.get("action")?.as_str()? {
                "accept" => AnswerTo::Accept(answer.get("content").cloned().unwrap_or_else(|| json!({}))),
                "decline" => AnswerTo::Decline,
                "cancel" => AnswerTo::Cancel,
                _ => return None,
            },
            AskedOf::Model { .. } => AnswerTo::Accept(json!({ question.name.as_str(): said(answer.get("content")?)? })),
            AskedOf::Roots => {
                let roots = answer.get("roots")?.as_array()?;
                let addresses: Vec<&Json> = roots.iter().filter_map(|root| root.get("uri")).collect();
                AnswerTo::Accept(json!({ question.name.as_str(): addresses }))
            }
        };
        Some(Reply::To(question.name.clone(), accepted))
    }
}

/// Reads whether a tool may run.
fn approval(answer: &Json) -> Option<Answer> {
    if answer.get("action")? != "accept" {
        return Some(Answer::No(None));
    }
    let content = answer.get("content")?;
    let text = |name: &str| content.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    if *content.get("approve")? != true {
        return Some(Answer::No(text("reason").map(str::to_owned)));
    }
    let length = |wanted: &str| LENGTHS.into_iter().find(|(length, _)| *length == wanted).map(|(_, answer)| answer);
    // What was not offered was not agreed to.
    Some(text("for").map_or(Some(Answer::Once), length).unwrap_or(Answer::No(None)))
}

/// Everything that is asked in one round.
pub(crate) fn requests(pending: &[Pending]) -> InputRequests {
    pending.iter().map(|one| (one.key.clone(), one.request.clone())).collect::<BTreeMap<_, _>>()
}

fn form_request(message: &str, form: Json) -> Result<InputRequest, serde_json::Error> {
    let requested_schema = serde_json::from_value(form)?;
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message: message.to_owned(), requested_schema };
    Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
}

/// The text of a model's answer: one block, or several.
fn said(content: &Json) -> Option<String> {
    let text = |block: &Json| block.get("text").and_then(Json::as_str).map(str::to_owned);
    match content {
        Json::Array(blocks) => Some(blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")),
        block => text(block),
    }
}

/// What a person needs to know to say yes or no: what runs, with what, where it reaches, and why it is asked.
///
/// What others wrote stands behind a mark on lines of its own, so that none of it can be taken for ours. Nothing is left
/// out: what is too long for a form is not asked by one.
fn approval_text(request: &Request) -> Option<String> {
    let mut text = Text(format!("May `{}` run?\n", Shown::from(&request.tool).on_one_line().as_str()));
    text.quote("It runs", &request.commands);
    if request.has_arguments() {
        text.quote("It is given", [&request.arguments]);
    }
    text.quote("In", [&request.working_directory]);
    text.quote("It can reach", &request.reach);
    let rights = match request.privilege {
        Privilege::SameAsUser => "with your rights",
        Privilege::Reduced => "with reduced rights",
        Privilege::Elevated => "WITH THE RIGHTS OF THE ADMINISTRATOR",
    };
    text.0.push_str(&format!("\nLevel: {}, {rights}\n", request.level));
    text.quote("You are asked because", [&request.rule]);
    text.quote("Its author says, unchecked", &request.justification);
    text.quote("Changed since it was trusted", &request.changes);
    text.quote("Note", &request.warnings);
    (text.0.len() <= MOST_BYTES && text.0.lines().count() <= MOST_LINES).then_some(text.0)
}

/// The text of a form.
struct Text(String);

impl Text {
    /// Adds texts of others below a heading of ours, if there are any.
    fn quote<'a>(&mut self, heading: &str, texts: impl IntoIterator<Item = &'a String>) {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_some() {
            self.0.push_str(&format!("\n{heading}\n"));
        }
        for text in texts {
            // An end is no place to hide something behind many empty lines.
            let shown = visible(text.trim_end()).replace('\t', "    ");
            for (at, line) in shown.split('\n').enumerate() {
                let first = if at == 0 { "    $ " } else { "    | " };
                for (at, part) in wrapped(line, WIDTH).into_iter().enumerate() {
                    let mark = if at == 0 { first } else { "    + " };
                    self.0.push_str(format!("{mark}{part}").trim_end());
                    self.0.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
