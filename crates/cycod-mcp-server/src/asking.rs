//! What must be asked before a call can go on, in the words of the protocol, and the way back from its answers.

use std::{collections::BTreeMap, fmt::Write as _};

use cycod_engine::{
    Answer, AnswerTo, AskedOf, Decision, Plan, Preview, Question,
    diagnostic::{Refusal, visible},
};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationCapability, InputRequest, InputRequests, ListRootsRequest, RootsCapabilities, SamplingCapability,
    SamplingMessage,
};
use serde_json::{Value as Json, json};

/// The key of the question whether a tool may run; no question of a tool can be called so.
pub(crate) const APPROVAL: &str = "cycod/approval";

/// The most of a command that is shown to the person who is asked, in bytes. More would hide what comes after it.
const MOST_SHOWN: usize = 4 * 1024;

/// Something to ask.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// Its key on the wire.
    pub(crate) key: String,
    /// What is asked, and of whom.
    pub(crate) request: InputRequest,
    /// Whether the call can go on without an answer.
    pub(crate) is_required: bool,
    subject: Subject,
}

#[derive(Clone, Debug)]
enum Subject {
    Question(Question),
    Approval,
}

/// What somebody answered.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// To one of the tool's questions.
    To(String, AnswerTo),
    /// Whether the tool may run.
    Approval(Answer),
}

impl Pending {
    /// One of the tool's own questions.
    ///
    /// # Errors
    /// When its form is none that the protocol knows.
    pub(crate) fn question(question: Question) -> Result<Self, Refusal> {
        let request = match &question.whom {
            AskedOf::Person { message, form } => form_request(message, form.clone()).map_err(|error| {
                Refusal::new("unknown-form", format!("the form of `{}` cannot be shown: {error}", question.name))
            })?,
            AskedOf::Model { prompt, max_tokens } => {
                let message = SamplingMessage::user_text(prompt.clone());
                let params = CreateMessageRequestParams::new(vec![message], *max_tokens);
                InputRequest::CreateMessage(CreateMessageRequest::new(params))
            }
            AskedOf::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
        };
        let (key, is_required) = (question.name.clone(), question.is_required);
        Ok(Self { key, request, is_required, subject: Subject::Question(question) })
    }

    /// The question whether a plan may run.
    pub(crate) fn approval(plan: &Plan, preview: &Preview, decision: &Decision) -> Result<Self, Refusal> {
        let form = json!({
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Run it", "default": false}},
            "required": ["approve"],
        });
        let request = form_request(&approval_text(plan, preview, decision), form)
            .map_err(|error| Refusal::new("unknown-form", error.to_string()))?;
        Ok(Self { key: APPROVAL.to_owned(), request, is_required: true, subject: Subject::Approval })
    }

    /// Whether a client with these capabilities can ask it.
    pub(crate) fn is_askable(&self, client: &ClientCapabilities) -> bool {
        match &self.request {
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
            Subject::Approval => {
                let is_yes = answer.get("action")? == "accept" && answer.get("content")?.get("approve")? == true;
                return Some(Reply::Approval(if is_yes { Answer::Once } else { Answer::No }));
            }
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

/// What a person needs to know to say yes or no: what runs, with what, and why it is asked.
fn approval_text(plan: &Plan, preview: &Preview, decision: &Decision) -> String {
    let tool = plan.tool();
    let mut text = format!("May `{}` run?\n\n", tool.name);
    for command in preview.everything() {
        for line in visible(&shortened(&command)).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    let arguments = plan.call.arguments_json();
    if arguments != "{}" {
        let masked = cycod_engine::mask(&arguments, &plan.call.secrets());
        let _ = write!(text, "\nArguments: {}", visible(&shortened(&masked)));
    }
    let _ = write!(text, "\nLevel: {}. {}.", plan.level, decision.rule);
    if let Some(why) = &tool.security.justification {
        let _ = write!(text, "\nIts author says: {}", visible(why));
    }
    text
}

/// A text with its middle left out where it is too long to be read.
fn shortened(text: &str) -> String {
    if text.len() <= MOST_SHOWN {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(MOST_SHOWN / 2);
    let tail = text.ceil_char_boundary(text.len() - MOST_SHOWN / 2);
    format!("{}[… {} bytes …]{}", &text[..head], tail - head, &text[tail..])
}
