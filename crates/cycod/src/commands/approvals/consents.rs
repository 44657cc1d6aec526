//! What workers ask before they run something for a member, because their own rules say so. The answer is signed with the key of
//! this device, for all that is shown and for one run: a hub can't give it.

use cycod_app::views::ConsentView;
use cycod_engine::{
    Answer, Request,
    approvals::request_from_json,
    diagnostic::{Code, Refusal, Shown, shown},
};
use cycod_store::{approvals::RequestId, digest};
use cycod_team_sync::TeamConsent;
use serde_json::{Value, json};

use super::elsewhere::{left, tasks};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::team::not_synced,
    printer::Tty,
    run::{Prompt, Said, request_text},
    table::Cell,
};

/// A question of a worker.
pub(super) struct Consent {
    /// The name under which it waits; it stays the same.
    pub(super) id: RequestId,
    consent: TeamConsent,
    /// What is shown; nothing if this version can't read it.
    request: Option<Request>,
    /// Who may answer, by name, with the keys of their devices.
    approvers: Vec<(String, String)>,
    about: Value,
}

impl Consent {
    pub(super) fn of(consent: TeamConsent) -> Self {
        let id = RequestId::of(&digest(&json!(["consent", consent.run, consent.document])));
        let question = consent.question().ok();
        let request = question.as_ref().and_then(|question| request_from_json(&question.request));
        let request = request.map(|request| Request {
            asker: format!("{}, for run {} at the worker {}", request.asker, consent.run, consent.worker),
            ..request
        });
        let about = question.as_ref().map(|question| question.request.clone()).unwrap_or_default();
        let approvers = question.map(|question| question.approvers.into_iter().collect()).unwrap_or_default();
        Self { id, consent, request, approvers, about }
    }

    /// What it is about, in a line.
    fn title(&self) -> String {
        let TeamConsent { tool, steps, .. } = &self.consent;
        match &steps[..] {
            [] => tool.clone(),
            [one] => format!("{tool}: step {one}"),
            several => format!("{tool}: steps {}", several.join(", ")),
        }
    }

    pub(super) fn run_id(&self) -> &str {
        &self.consent.run
    }

    pub(super) fn row(&self) -> Vec<Cell<'_>> {
        vec![
            Cell::new(self.id.to_string()),
            Cell::new(self.title()),
            Cell::new(self.about["level"].as_str().unwrap_or("-")),
            Cell::new("waiting"),
            Cell::new(left(self.consent.expires)),
            Cell::new(self.consent.member.as_str()),
        ]
    }

    /// How it is written as JSON.
    pub(super) fn view(&self) -> ConsentView<'_> {
        let TeamConsent { run, member, steps, worker, asked, expires, .. } = &self.consent;
        let seconds = |seconds: i64| u64::try_from(seconds).unwrap_or_default();
        ConsentView {
            about: self.about.as_object().cloned().unwrap_or_default(),
            id: self.id.to_string(),
            state: "waiting",
            run,
            member,
            steps,
            worker,
            approvers: self.approvers.iter().map(|(name, _)| name.as_str()).collect(),
            asked: seconds(*asked),
            expires: seconds(*expires),
        }
    }

    fn request(&self) -> Result<&Request, CommandError> {
        self.request.as_ref().ok_or_else(|| {
            CommandError::failure(format!("the request `{}` can't be understood: it is of another version", self.id))
        })
    }

    pub(super) fn show(&self, context: &mut Context, is_json: bool) -> Result<u8, CommandError> {
        if is_json {
            context.printer.json_of(&self.view());
            return Ok(0);
        }
        let (mut text, _) = request_text(self.request()?, context.printer.width.unwrap_or(100), true);
        let names: Vec<&str> = self.approvers.iter().map(|(name, _)| name.as_str()).collect();
        text.push_str(&format!("approvers {}\nleft      {}\n", names.join(", "), left(self.consent.expires)));
        context.printer.text(&text);
        Ok(0)
    }

    /// Refuses if the worker takes no answer from this device.
    fn check(&self, device: &str) -> Result<(), CommandError> {
        if self.approvers.iter().any(|(_, key)| key == device) {
            return Ok(());
        }
        let TeamConsent { worker, .. } = &self.consent;
        let names: Vec<String> = self.approvers.iter().map(|(name, _)| format!("`{name}`")).collect();
        let why = format!("the worker `{worker}` takes the approval of {}, and not of this device", names.join(", "));
        Err(CommandError::failure(why)
            .hint(format!("to change that, run at `{worker}`: cycod worker approvers --add NAME={device}")))
    }

    /// Shows it to the user at the terminal, and answers it.
    pub(super) fn approve(&self, context: &mut Context, without_terminal: bool) -> Result<u8, CommandError> {
        let request = self.request()?;
        let said = match (Tty::open(), without_terminal) {
            (_, true) => Said::Answer(Answer::Once),
            (Some(tty), false) => Prompt { tty, host: context.engine.host(), stop: None }.ask_for(request, None, false),
            (None, false) => {
                let why = "a request must be shown before you approve it, and there is no terminal";
                let command = format!("cycod approvals approve {}", self.id);
                return Err(Refusal::new(Code::ApprovalNeedsTerminal, why)
                    .attempt(format!("ask the user to run it in a terminal: {command}"))
                    .into());
            }
        };
        let said = self.answered(context, said)?;
        context.printer.say(said.ok_or_else(|| CommandError::failure("nothing was answered"))?);
        Ok(0)
    }

    /// Asks the user at a terminal; nothing if they leave it.
    pub(super) fn ask(
        &self,
        context: &Context,
        prompt: &Prompt<'_>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Shown>, CommandError> {
        let said = prompt.ask(self.request()?, true, is_over);
        self.answered(context, said)
    }

    fn answered(&self, context: &Context, said: Said) -> Result<Option<Shown>, CommandError> {
        match said.or_no() {
            Said::Answer(Answer::No(reason)) => self.answer(context, false, reason).map(Some),
            Said::Answer(Answer::Once) => self.answer(context, true, None).map(Some),
            _ => Ok(None),
        }
    }

    /// Signs an answer.
    pub(super) fn answer(
        &self,
        context: &Context,
        approved: bool,
        reason: Option<String>,
    ) -> Result<Shown, CommandError> {
        let Some(mut tasks) = tasks(context)? else { return Err(CommandError::failure("you have left the team")) };
        self.check(&tasks.device())?;
        tasks.consent(&self.consent, approved, reason).map_err(|error| not_synced(&error))?;
        let (word, tool) = (if approved { "Approved `" } else { "Denied `" }, self.consent.tool.as_str());
        Ok(shown![word, tool, "` for the run ", self.consent.run.as_str()])
    }
}
