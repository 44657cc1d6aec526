//! Who is asked in a chat, and what they said beforehand.

use std::time::Duration;

use cycod_engine::{
    Answer, Approver, Engine, Layer, Origin, Pattern, Request, Rule, Stop, Verdict,
    diagnostic::{Code, Refusal, shown, visible},
};
use cycod_store::approvals::StandingAnswer;

use crate::{
    cli::{Context, within},
    command_error::CommandError,
    commands::approvals::{by_a_person, list, queue_for_model, tty_of_a_person},
    rules,
    run::{Prompt, Said},
};

/// Asks the user who types; without one, the request waits in the queue.
pub(super) struct ChatApprover<'a> {
    pub(super) engine: &'a Engine,
    /// Whether a person types.
    pub(super) is_attended: bool,
    pub(super) stop: &'a Stop,
}

impl ChatApprover<'_> {
    fn prompt(&self) -> Option<Prompt<'_>> {
        let tty = self.is_attended.then(tty_of_a_person).flatten()?;
        Some(Prompt { tty, host: self.engine.host(), stop: Some(self.stop) })
    }
}

impl Approver for ChatApprover<'_> {
    fn answer(&self, request: &Request) -> Answer {
        let Some(prompt) = self.prompt() else {
            return queue_for_model(self.engine, Duration::ZERO, self.stop, request, "cycod chat");
        };
        match prompt.ask(request, false, &mut || self.stop.is_raised()) {
            Said::Answer(answer) => answer,
            Said::Out => {
                // Ctrl-C ends the turn here as it does elsewhere.
                self.stop.ask();
                Answer::No(None)
            }
            Said::Later | Said::Over | Said::Gone => Answer::No(None),
        }
    }

    fn tell(&self, why: &str) -> bool {
        self.prompt().is_some_and(|prompt| prompt.tell(why))
    }
}

/// Shows what waits and what was approved for `session` or for longer, or approves what is named.
pub(super) fn approve(
    context: &mut Context,
    names: &[String],
    session: Option<&str>,
    given: &mut Vec<Rule>,
    is_attended: bool,
) -> Result<(), CommandError> {
    if matches!(names, [] | [_]) && names.first().is_none_or(|name| name == "list") {
        return shown(context, session, given);
    }
    if !is_attended {
        let why = "what comes through a pipe approves nothing";
        return Err(Refusal::new(Code::ApprovalNeedsTerminal, why)
            .attempt(format!("cycod chat --auto-approve {}", names.join(",")))
            .into());
    }
    by_a_person("cycod chat")?;
    for name in names {
        if let Some(id) = waiting(context, name)? {
            within(context, &["approvals".to_owned(), "approve".to_owned(), id])?;
        } else {
            rule(context, name, Verdict::Allow, given)?;
            context.printer.say(&format!("Approved `{}` until this chat ends", visible(name)));
        }
    }
    Ok(())
}

/// Denies what waits, or whatever is asked from now on.
pub(super) fn deny(context: &mut Context, names: &[String], given: &mut Vec<Rule>) -> Result<(), CommandError> {
    if names.is_empty() {
        return Err(CommandError::usage("`/deny` needs the name of what is to be denied")
            .hint("a tool, a level (read, write, run), or what '/approve list' calls a request"));
    }
    for name in names {
        if let Some(id) = waiting(context, name)? {
            within(context, &["approvals".to_owned(), "deny".to_owned(), id])?;
        } else {
            rule(context, name, Verdict::Deny, given)?;
            context.printer.say(&format!("Denied `{}` until this chat ends", visible(name)));
        }
    }
    Ok(())
}

fn shown(context: &mut Context, session: Option<&str>, given: &[Rule]) -> Result<(), CommandError> {
    within(context, &["approvals".to_owned(), "list".to_owned()])?;
    let holds = |standing: &StandingAnswer| standing.session.is_none() || standing.session.as_deref() == session;
    match list::standing(context, holds)? {
        Some(table) => context.printer.text(shown!["\n", table]),
        None => context.printer.say("nothing was approved for longer than a call"),
    }
    for rule in given {
        context.printer.line(&visible(&format!("{rule}, until this chat ends")));
    }
    Ok(())
}

/// The request of a name that waits, if there is one.
fn waiting(context: &Context, name: &str) -> Result<Option<String>, CommandError> {
    Ok(list::waiting(context)?.into_iter().find(|id| id.eq_ignore_ascii_case(name)))
}

/// Adds a rule for as long as the chat lasts.
fn rule(context: &mut Context, name: &str, verdict: Verdict, given: &mut Vec<Rule>) -> Result<(), CommandError> {
    let command = if verdict == Verdict::Allow { "/approve" } else { "/deny" };
    let pattern = Pattern::parse(name).map_err(|error| rules::wrong(&format!("{command} "), name, &error))?;
    if let Some((code, doubt)) = cycod_app::doubts(&pattern, &context.engine).into_iter().next() {
        let mut failed = CommandError::failure(format!("`{name}`: {doubt}")).hint("see: /approve list");
        failed.code = Some(code);
        return Err(failed);
    }
    let rule = Rule::new(verdict, pattern, Origin::new(Layer::CommandLine, command));
    context.engine.add_rules(vec![rule.clone()]);
    given.push(rule);
    Ok(())
}
