//! Steps that a crash interrupted: they wait in the queue until somebody decides what follows.

use std::fmt::Display;

use cycod_app::views::{LostView, who};
use cycod_engine::{
    LostAnswer, LostStep, Resumption,
    diagnostic::{Code, Refusal, Shown, shown},
    journal::Reached,
};
use cycod_store::approvals::RequestId;

use super::{RequestName, failed};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::runs::history,
    page::Page,
    printer::{Line, Tty},
    table::Cell,
};

/// What can be done about a lost step, as options say it.
pub(crate) const WORDS: [(&str, LostAnswer); 3] =
    [("again", LostAnswer::Again), ("done", LostAnswer::Done), ("stop", LostAnswer::Stop)];

/// Asks the user at the terminal what follows for a lost step; nothing when they leave it.
pub(crate) fn ask(tty: &Tty, is_over: &mut dyn FnMut() -> bool) -> Option<LostAnswer> {
    loop {
        match tty.ask("Start it [a]gain, was it [d]one, or [s]top? ", is_over) {
            Line::Text(text) => {
                let word = text.trim().to_ascii_lowercase();
                let is_meant = |(known, _): &&(&str, LostAnswer)| word == *known || word == known[..1];
                if let Some((_, answer)) = WORDS.iter().find(is_meant) {
                    return Some(*answer);
                }
            }
            Line::Pasted => {}
            Line::Out | Line::Over | Line::Gone => return None,
        }
    }
}

/// Every lost step that nobody decided about, those of the oldest run first.
pub(super) fn all(context: &Context) -> Result<Vec<LostStep>, CommandError> {
    LostStep::all(&history(context)).map_err(|error| failed(&error))
}

/// The lost step that waits under the name that was given.
pub(super) fn named(context: &Context, name: &RequestName) -> Result<Option<LostStep>, CommandError> {
    Ok(all(context)?.into_iter().find(|lost| lost.id.to_string() == name.id))
}

/// Its row in the list of what waits.
pub(super) fn row(lost: &LostStep) -> Vec<Cell<'_>> {
    vec![
        Cell::new(lost.id.to_string()),
        Cell::new(format!("{}: step {}", lost.run.tool, lost.step())),
        Cell::new(lost.run.call["level"].as_str().unwrap_or("?")),
        Cell::new("lost"),
        Cell::new("-"),
        Cell::new(who(&lost.run)),
    ]
}

/// How far it got.
pub(super) fn reached(context: &Context, lost: &LostStep) -> Result<Reached, CommandError> {
    lost.reached(&history(context)).map_err(|error| failed(&error))
}

/// Shows everything about it.
pub(super) fn show(context: &mut Context, lost: &LostStep, is_json: bool) -> Result<u8, CommandError> {
    let reached = reached(context, lost)?;
    if is_json {
        context.printer.json_of(&LostView::of(lost).with(&reached));
    } else {
        let text = page(lost, &reached).finish(context.printer.data_colour);
        context.printer.text(text);
    }
    Ok(0)
}

/// Everything about it, for the user who is to decide.
pub(super) fn text(context: &Context, lost: &LostStep) -> Result<Shown, CommandError> {
    Ok(page(lost, &reached(context, lost)?).finish(false))
}

fn page(lost: &LostStep, reached: &Reached) -> Page {
    let mut page = Page::default();
    page.heading(&format!("{}: step {} was interrupted, and may have been done", lost.run.tool, lost.step()));
    page.blank();
    page.fact("run", &lost.run.id);
    page.fact("asked by", &who(&lost.run));
    page.fact("level", lost.run.call["level"].as_str().unwrap_or_default());
    how_far(&mut page, reached);
    page
}

/// Adds what a step ran, and what it wrote.
pub(super) fn how_far(page: &mut Page, reached: &Reached) {
    if !reached.command.is_empty() {
        page.section("COMMAND");
        page.code(2, &reached.command);
    }
    let shown = reached.output.len();
    page.section(&match (reached.written, shown) {
        (0, _) => "IT WROTE NOTHING".to_owned(),
        (all, shown) if all > shown as u64 => format!("IT WROTE {all} BYTES, AT LAST"),
        (all, _) => format!("IT WROTE {all} BYTES"),
    });
    page.code(2, &String::from_utf8_lossy(&reached.output));
}

/// The answer of the option, or of the user at the terminal, who is shown `text`.
pub(super) fn wanted_or_asked(
    wanted: Option<LostAnswer>,
    (id, step): (&RequestId, &dyn Display),
    text: impl FnOnce() -> Result<Shown, CommandError>,
) -> Result<LostAnswer, CommandError> {
    match (wanted, Tty::open()) {
        (Some(answer), _) => Ok(answer),
        (None, Some(tty)) => {
            tty.say(text()?);
            ask(&tty, &mut || false).ok_or_else(|| CommandError::failure("nothing was decided"))
        }
        (None, None) => {
            let why = format!("`{step}` may have been done, and there is no terminal to ask at");
            let command = format!("cycod approvals approve {id}");
            Err(Refusal::new(Code::ApprovalNeedsTerminal, why)
                .attempt(format!("`{command} --lost again`, `--lost done` or `--lost stop`"))
                .into())
        }
    }
}

/// Approves with one of the three answers: that of the option, or of the user at the terminal.
pub(super) fn approve(context: &mut Context, wanted: Option<LostAnswer>, lost: &LostStep) -> Result<u8, CommandError> {
    let answer = wanted_or_asked(wanted, (&lost.id, &lost.step()), || text(context, lost))?;
    let said = decide(context, lost, answer)?;
    context.printer.say(said);
    Ok(0)
}

/// Writes down what follows for a lost step, and continues the run in the background once all of its steps are decided.
pub(super) fn decide(context: &Context, lost: &LostStep, answer: LostAnswer) -> Result<Shown, CommandError> {
    let mut resumption = Resumption::open(&history(context).journals(), &lost.run.id)?;
    resumption.decide(lost, answer)?;
    let tool = &lost.run.tool;
    let left = resumption.undecided();
    if left > 0 {
        let steps = if left == 1 { "another step is" } else { "other steps are" };
        return Ok(shown!["`", tool, "` continues when ", steps, " decided: cycod approvals list"]);
    }
    context.engine.resume_in_background(resumption).map_err(|refusal| {
        let by_hand = format!("cycod runs resume {}", lost.run.id);
        let attempt =
            refusal.attempt.clone().map_or_else(|| by_hand.clone(), |attempt| format!("{attempt}; then: {by_hand}"));
        CommandError::from(refusal.attempt(attempt))
    })?;
    Ok(shown!["`", tool, "` continues: cycod runs follow ", lost.run.id.as_str()])
}
