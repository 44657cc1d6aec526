//! What waits at the hub of the user's team: steps of durable runs that were lost with their worker, about which someone decides,
//! and what workers ask.

use cycod_app::views::{LostView, QueuedView};
use cycod_engine::{
    LostAnswer, StepPath,
    diagnostic::{Shown, shown},
    journal::{Reached, reached},
};
use cycod_store::{Run, approvals::RequestId, digest};
use cycod_team_sync::{FleetTasks, TeamQuestion};
use serde_json::json;

use super::{RequestName, consents::Consent, failed, lost, now};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        runs::history,
        team::{self, NoFleet, not_synced},
    },
    page::Page,
    table::Cell,
};

/// A lost step about which the user may decide.
pub(super) struct LostThere {
    /// The name under which it waits; it stays the same.
    pub(super) id: RequestId,
    question: TeamQuestion,
}

impl LostThere {
    fn of(question: TeamQuestion) -> Self {
        let id = RequestId::of(&digest(&json!(["asked", question.run, question.about])));
        Self { id, question }
    }

    fn left(&self) -> String {
        left(self.question.expires)
    }

    /// The run in the history of this machine, if it began or was followed here.
    fn run(&self, context: &Context) -> Result<Option<Run>, CommandError> {
        Ok(history(context).find(&self.question.run).map_err(|error| failed(&error))?.pop())
    }

    fn reached(&self, context: &Context) -> Result<Reached, CommandError> {
        let step = StepPath::named(&self.question.step);
        match self.run(context)? {
            Some(run) => reached(&history(context).journals(), &run.id, &step).map_err(|error| failed(&error)),
            None => Ok(Reached::default()),
        }
    }

    /// How it is written as JSON.
    pub(super) fn view(&self) -> LostView<'_> {
        let TeamQuestion { run, tool, member, step, worker, asked, expires, late, about: _ } = &self.question;
        let seconds = |seconds: i64| u64::try_from(seconds).unwrap_or_default();
        LostView {
            id: self.id.to_string(),
            state: "lost",
            tool,
            level: None,
            run,
            step,
            asker: member.clone(),
            asked: seconds(*asked),
            worker: Some(worker),
            expires: Some(seconds(*expires)),
            late: (!late.is_empty()).then_some(late),
            reached: None,
        }
    }

    /// Its row in the list of what waits.
    pub(super) fn row(&self) -> Vec<Cell<'_>> {
        vec![
            Cell::new(self.id.to_string()),
            Cell::new(format!("{}: step {}", self.question.tool, self.question.step)),
            Cell::new("-"),
            Cell::new("lost"),
            Cell::new(self.left()),
            Cell::new(self.question.member.as_str()),
        ]
    }

    /// Shows everything about it.
    pub(super) fn show(&self, context: &mut Context, is_json: bool) -> Result<u8, CommandError> {
        let reached = self.reached(context)?;
        if is_json {
            context.printer.json_of(&self.view().with(&reached));
        } else {
            let text = self.page(&reached).finish(context.printer.data_colour);
            context.printer.text(text);
        }
        Ok(0)
    }

    /// Everything about it, for the user who is to decide.
    pub(super) fn text(&self, context: &Context) -> Result<Shown, CommandError> {
        Ok(self.page(&self.reached(context)?).finish(false))
    }

    fn page(&self, reached: &Reached) -> Page {
        let TeamQuestion { run, tool, member, worker, late, .. } = &self.question;
        let mut page = Page::default();
        page.heading(&format!("{tool}: step {} was lost with its worker, and may have been done", self.question.step));
        page.blank();
        page.fact("run", run);
        page.fact("member", member);
        page.fact("worker", worker);
        page.fact("left", &self.left());
        if !late.is_empty() {
            page.fact("late", &format!("a result came late, and counts with `done`: cycod runs late {late}"));
        }
        lost::how_far(&mut page, reached);
        page
    }

    /// Decides with the answer of the option, or of the user at the terminal.
    pub(super) fn approve(&self, context: &mut Context, wanted: Option<LostAnswer>) -> Result<u8, CommandError> {
        let answer = lost::wanted_or_asked(wanted, (&self.id, &self.question.step), || self.text(context))?;
        let said = self.decide(context, answer)?;
        context.printer.say(said);
        Ok(0)
    }

    /// Tells the hub what follows.
    pub(super) fn decide(&self, context: &Context, answer: LostAnswer) -> Result<Shown, CommandError> {
        let Some(mut tasks) = tasks(context)? else { return Err(CommandError::failure("you have left the team")) };
        tasks.answer_question(&self.question, &json!(answer)).map_err(|error| not_synced(&error))?;
        let TeamQuestion { run, tool, member, .. } = &self.question;
        Ok(match self.run(context)? {
            Some(_) => shown!["`", tool.as_str(), "` continues: cycod runs follow ", run.as_str()],
            None => shown!["`", tool.as_str(), "` of ", member.as_str(), " continues"],
        })
    }
}

/// How long something still waits.
pub(super) fn left(expires: i64) -> String {
    let seconds = u64::try_from(expires).unwrap_or_default().saturating_sub(now());
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

/// What the hub of the user's team knows; nothing for a user without one.
pub(super) fn tasks(context: &Context) -> Result<Option<FleetTasks>, CommandError> {
    match team::fleet(&context.engine) {
        Ok((_, tasks)) => Ok(Some(tasks)),
        Err(NoFleet::NotJoined | NoFleet::NoHub(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Something that waits at the hub.
pub(super) enum There {
    Lost(Box<LostThere>),
    Consent(Box<Consent>),
}

impl There {
    pub(super) fn id(&self) -> &RequestId {
        match self {
            Self::Lost(lost) => &lost.id,
            Self::Consent(consent) => &consent.id,
        }
    }

    /// The durable run that waits for it, or what the hub calls another one.
    pub(super) fn run_id(&self) -> &str {
        match self {
            Self::Lost(lost) => &lost.question.run,
            Self::Consent(consent) => consent.run_id(),
        }
    }

    pub(super) fn row(&self) -> Vec<Cell<'_>> {
        match self {
            Self::Lost(lost) => lost.row(),
            Self::Consent(consent) => consent.row(),
        }
    }

    pub(super) fn view(&self) -> QueuedView<'_> {
        match self {
            Self::Lost(lost) => QueuedView::Lost(lost.view()),
            Self::Consent(consent) => QueuedView::Consent(consent.view()),
        }
    }

    pub(super) fn show(&self, context: &mut Context, is_json: bool) -> Result<u8, CommandError> {
        match self {
            Self::Lost(lost) => lost.show(context, is_json),
            Self::Consent(consent) => consent.show(context, is_json),
        }
    }
}

/// Everything about which the user may decide, the oldest question of each kind first.
pub(super) fn all(context: &Context) -> Result<Vec<There>, CommandError> {
    let Some(mut tasks) = tasks(context)? else { return Ok(Vec::new()) };
    let lost = tasks.questions().map_err(|error| not_synced(&error))?;
    let asked = tasks.consents().map_err(|error| not_synced(&error))?;
    let lost = lost.into_iter().map(|question| There::Lost(Box::new(LostThere::of(question))));
    Ok(lost.chain(asked.into_iter().map(|consent| There::Consent(Box::new(Consent::of(consent))))).collect())
}

/// What waits under the name that was given. The hub isn't asked about what waits on this machine.
pub(super) fn named(context: &Context, name: &RequestName) -> Result<Option<There>, CommandError> {
    let here = context.engine.approvals().pending(now()).map_err(|error| failed(&error))?;
    if here.iter().any(|pending| pending.id.to_string() == name.id) {
        return Ok(None);
    }
    Ok(all(context)?.into_iter().find(|there| there.id().to_string() == name.id))
}
