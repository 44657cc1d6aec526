//! `cycod team review`: shows what is proposed, by meaning and by text, and signs a decision about it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::trust::Difference;
use cycod_team::{ChangeClass, FORMAT, Proposal, ReviewDocument, ReviewVerdict, SignedRole, TeamChannel, text};
use cycod_team_change::of_file;
use serde_json::{Value, json};

use super::{
    desk::{self, Desk, names, short},
    failed, not_synced, now,
    propose::line,
};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod team review` takes.
#[derive(Parser)]
#[command(name = "review", about = "Show what is proposed, and approve or refuse it")]
struct Arguments {
    /// The first digits of a proposal; without them, all are listed
    #[arg(value_name = "PROPOSAL")]
    proposal: Option<String>,
    /// Approve it
    #[arg(long, requires = "key", requires = "proposal")]
    approve: bool,
    /// Refuse it
    #[arg(long, requires = "key", requires = "proposal", requires = "why", conflicts_with = "approve")]
    refuse: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// The SSH key that signs the review
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The directory of the releases
    #[arg(long, value_name = "DIR")]
    at: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod team review`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists the proposals, or shows one of them and signs what the user decides.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let at = args.at.as_deref();
    let desk = desk::open(context, at, &TeamChannel::default())?;
    let (proposals, broken) = desk.proposals()?;
    for why in broken {
        context.printer.say(&format!("ignored: {why}"));
    }
    let Some(name) = &args.proposal else {
        return list(context, (desk, at), &proposals, args.format);
    };
    let named: Vec<&Proposal> = proposals.iter().filter(|proposal| names(name, proposal.digest)).collect();
    let [proposal] = named[..] else {
        let message = match named.len() {
            0 => format!("no proposal waits that begins with `{name}`"),
            _ => format!("several proposals begin with `{name}`"),
        };
        return Err(CommandError::failure(message).hint(format!("list them: cycod team review{}", desk.given)));
    };
    let desk = desk.on(context, at, &proposal.document.channel)?;
    let classes = show(context, &desk, proposal, args.format)?;
    let verdict = match (args.approve, args.refuse) {
        (true, _) => ReviewVerdict::Approve,
        (_, true) => ReviewVerdict::Refuse,
        _ => return Ok(0),
    };
    let Some(key) = &args.key else { return Err(CommandError::usage("a review needs a key that signs it")) };
    check_reviewer(context, &desk, proposal, key)?;
    let seen = classes.clone();
    let document = ReviewDocument {
        format: FORMAT,
        team: desk.root.team.clone(),
        proposal: proposal.digest,
        classes,
        verdict,
        why: args.why.clone().unwrap_or_default(),
        made: now(context.engine.host()),
    };
    let document = text("review", &document).map_err(|error| failed(&error))?;
    let signed = desk.signed(context, key, SignedRole::Review, document)?;
    desk.desk.review(proposal.digest, &signed).map_err(|error| not_synced(&error))?;
    let mut reviewed = proposal.signed.clone();
    reviewed.reviews.push(signed);
    let proposal = Proposal::read(&reviewed, &desk.role, &desk.root.team).map_err(|error| failed(&error))?;
    let state = desk.state(&proposal, &seen);
    context.printer.say(&format!("{}: {state}", short(proposal.digest)));
    Ok(0)
}

/// Refuses a review that could not count.
fn check_reviewer(context: &Context, desk: &Desk, proposal: &Proposal, key: &Path) -> Result<(), CommandError> {
    let key = desk.reviewer(context, key)?;
    if proposal.author.is_same(&key) {
        return Err(CommandError::failure("you proposed this yourself; someone else has to review it"));
    }
    if !desk.fits(proposal) {
        let message = "the team's files have changed since this was proposed";
        return Err(CommandError::failure(message).hint("its author can propose it again"));
    }
    Ok(())
}

fn list(
    context: &mut Context,
    (mut desk, at): (Desk, Option<&str>),
    proposals: &[Proposal],
    format: TextOrJson,
) -> Result<u8, CommandError> {
    let (mut values, mut lines) = (Vec::new(), Vec::new());
    for proposal in proposals {
        let channel = &proposal.document.channel;
        desk = desk.on(context, at, channel)?;
        let (name, why) = (short(proposal.digest), &proposal.document.why);
        let of = if channel.is_stable() { String::new() } else { format!("for {channel}, ") };
        lines.push(format!("{name}  {why}"));
        lines.push(format!("          {of}by {}, {}", proposal.author, desk.state(proposal, &BTreeSet::new())));
        values.push(about(&desk, proposal));
    }
    if format.is_json() {
        context.printer.json(&format!("{:#}", json!({ "proposals": values })));
    } else if proposals.is_empty() {
        context.printer.say("No proposal waits");
    }
    for line in lines.iter().filter(|_| !format.is_json()) {
        context.printer.line(line);
    }
    Ok(0)
}

fn about(desk: &Desk, proposal: &Proposal) -> Value {
    json!({
        "proposal": proposal.digest,
        "channel": proposal.document.channel,
        "author": proposal.author.to_string(),
        "made": proposal.document.made,
        "why": proposal.document.why,
        "source": proposal.document.source,
        "changes": proposal.document.changes,
        "state": desk.state(proposal, &BTreeSet::new()),
        "reviews": proposal.reviews.iter().map(|review| json!({
            "reviewer": review.reviewer.to_string(),
            "verdict": review.document.verdict,
            "why": review.document.why,
        })).collect::<Vec<_>>(),
    })
}

/// Shows a proposal; returns the classes of what it changes.
fn show(
    context: &mut Context,
    desk: &Desk,
    proposal: &Proposal,
    format: TextOrJson,
) -> Result<BTreeSet<ChangeClass>, CommandError> {
    let mut classes = BTreeSet::new();
    let mut lines = vec![
        proposal.digest.to_string(),
        format!("  author   {}", proposal.author),
        format!("  made     {}", proposal.document.made),
        format!("  why      {}", proposal.document.why),
    ];
    // The author of the commit can be one of the reviewers, which Git alone doesn't prove.
    lines.extend(proposal.document.source.iter().map(|source| format!("  from     {source}, as Git says")));
    let (mut changes, mut texts) = (Vec::new(), Vec::new());
    for (path, change) in &proposal.document.changes {
        let new = match change.after {
            Some(after) => {
                Some(desk.desk.blob(after.sha256).map_err(|error| not_synced(&error))?.ok_or_else(|| {
                    CommandError::failure(format!("the bytes of `{path}` are missing, so it can't be reviewed"))
                })?)
            }
            None => None,
        };
        let old = desk.current(path);
        let how = of_file(path, old, new.as_deref());
        classes.extend(how.iter().map(|change| change.class));
        changes.push(line(path, &how));
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let (old, new) = (text(old), text(new.as_deref()));
        texts.push(
            Difference::between((&format!("{path} (the team's)"), &old), (&format!("{path} (proposed)"), &new))
                .to_string(),
        );
    }
    lines.push(format!("  state    {}", desk.state(proposal, &classes)));
    lines.extend(changes);
    if format.is_json() {
        let classes: Vec<&str> = classes.iter().map(|class| class.name()).collect();
        let mut whole = about(desk, proposal);
        whole["classes"] = json!(classes);
        context.printer.json(&format!("{whole:#}"));
    } else {
        for line in lines.iter().map(String::as_str).chain(texts.iter().flat_map(|text| text.lines())) {
            context.printer.line(line);
        }
    }
    Ok(classes)
}
