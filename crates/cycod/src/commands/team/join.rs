//! `cycod team join`: compares the root of a team, shows what its release brings, asks, and puts it into force.

use std::path::PathBuf;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_mcp_client::{LoginResource, access_token};
use cycod_team::{BlobDigest, SignedRole, device_text};
use cycod_team_sync::{DeviceKey, EnrolmentProof, HubIssuer, TeamHub, TeamSource, TeamStore, find_hub, first_root};

use super::{channel, content, not_synced, now, place, sign};
use crate::{browse::Browsing, cli::Context, command_error::CommandError, editor::ask, options::parsed};

/// What `cycod team join` takes.
#[derive(Parser)]
#[command(name = "join", about = "Use the tools and rules of a team")]
struct Arguments {
    /// The directory or the address of the team's releases
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The SHA-256 of a root that you know to be the team's
    #[arg(long, value_name = "SHA256")]
    root: Option<String>,
    /// The channel whose releases you want
    #[arg(long, value_name = "CHANNEL", default_value = "stable")]
    channel: String,
    /// A token of the team's hub
    #[arg(long, value_name = "TOKEN", conflicts_with = "key")]
    token: Option<String>,
    /// Your SSH key, which the team's hub knows
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Log in with a browser, so that the team's hub knows you
    #[arg(long, conflicts_with_all = ["key", "token"])]
    login: bool,
    /// Don't ask; needs --root
    #[arg(long)]
    yes: bool,
    /// Join for every user of this machine; only its administrator can
    #[arg(long)]
    machine: bool,
}

/// `cycod team join`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Joins a team.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let source = TeamSource::parse(&args.source, &context.engine.host().working_directory)
        .map_err(|why| CommandError::usage(format!("`{}` isn't a source: {why}", args.source)))?;
    let source = match source {
        // As it is without the steps by which the user came there.
        TeamSource::Directory(path) => TeamSource::Directory(std::fs::canonicalize(&path).unwrap_or(path)),
        web @ TeamSource::Web(_) => web,
    };
    let pin = args.root.as_deref().map(str::parse::<BlobDigest>).transpose();
    let pin = pin.map_err(|why| CommandError::usage(format!("`--root`: {why}")))?;
    if !(context.is_attended() || args.yes && pin.is_some()) {
        return Err(CommandError::usage("joining a team needs your consent, and there is no terminal to ask at")
            .hint("give --yes and --root SHA256, with the SHA-256 that the team told you"));
    }
    if args.yes && pin.is_none() {
        return Err(CommandError::usage("without a question, only --root can say which team this is"));
    }
    let channel = channel(Some(&args.channel))?;
    let store = TeamStore::at(place(context, args.machine));
    if store.place().is_joined() {
        let team = store.member().ok().flatten().map(|member| format!(" `{}`", member.team)).unwrap_or_default();
        let leave = if args.machine { "cycod team leave --machine" } else { "cycod team leave" };
        return Err(CommandError::failure(format!("the team{team} was joined already")).hint(leave));
    }
    let of_machine = place(context, true);
    if !args.machine && of_machine.is_joined() {
        let release = of_machine.release().map(|release| format!(" {}", release.team)).unwrap_or_default();
        return Err(CommandError::failure(format!("this machine has joined the team{release}, which binds here")));
    }
    let (store, source) = at_hub(context, &args, store, source)?;
    let root = match pin {
        Some(pin) => pin,
        None => first_root(&source, store.device().map_err(|error| not_synced(&error))?.as_ref())
            .map_err(|error| not_synced(&error))?,
    };
    let fetched =
        store.fetch(&source, Some(root), &channel, now(context.engine.host())).map_err(|error| not_synced(&error))?;
    let mut lines = content::described(&fetched.verified);
    lines.insert(1, format!("  root       {root}"));
    context.printer.say(&lines.join("\n"));
    if !args.yes {
        if pin.is_none() {
            context.printer.say("Compare the root with what the team told you: cycod can't know it.");
        }
        context.printer.say("Its tools will run as yours, and its rules will bind you until you leave.");
        match ask(context, "Join? [y/n] ", &["y", "n"])? {
            Some("y") => {}
            _ => return Err(CommandError::failure("the team was not joined")),
        }
    }
    store.join(&source, root, &fetched, now(context.engine.host())).map_err(|error| not_synced(&error))?;
    let (team, whose) = (&fetched.verified.release.team, if args.machine { "This machine" } else { "You" });
    let verb = if args.machine { "has" } else { "have" };
    context.printer.say(&format!("{whose} {verb} joined {team}"));
    Ok(0)
}

/// If the source is a hub, makes this device one of the user's there.
fn at_hub(
    context: &mut Context,
    args: &Arguments,
    store: TeamStore,
    source: TeamSource,
) -> Result<(TeamStore, TeamSource), CommandError> {
    let hub = match &source {
        TeamSource::Web(url) => find_hub(url).map_err(|error| not_synced(&error))?,
        TeamSource::Directory(_) => None,
    };
    let Some((address, team)) = hub else {
        return match args.token.is_some() || args.key.is_some() || args.login {
            true => {
                let message = format!("`{}` isn't a hub, so it needs no token, no key and no login", args.source);
                Err(CommandError::usage(message))
            }
            false => Ok((store, source)),
        };
    };
    let device = DeviceKey::generate().map_err(|error| not_synced(&error))?;
    let hub = TeamHub::open(address.clone(), device.clone()).map_err(|error| not_synced(&error))?;
    let proof = match (&args.token, &args.key) {
        (Some(token), _) => EnrolmentProof::Token(token.clone()),
        (None, Some(key)) => {
            let challenge = hub.challenge().map_err(|error| not_synced(&error))?;
            let document = device_text(&team, &challenge, &device.public());
            let keys = std::slice::from_ref(key);
            let signature = sign(context.engine.host(), keys, SignedRole::Device, document.as_bytes())?;
            EnrolmentProof::Signature { challenge, signature: String::from_utf8_lossy(&signature).into_owned() }
        }
        (None, None) if args.login => EnrolmentProof::AccessToken(logged_in(&hub, &team)?),
        (None, None) => {
            return Err(CommandError::usage(format!(
                "`{}` is the hub of {team}, which must know who you are",
                args.source
            ))
            .hint(
                "give your SSH key with --key, log in with --login, or give a token of its administrator with --token",
            ));
        }
    };
    let member = hub.enrol(&proof).map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("The hub of {team} knows you as {member}"));
    Ok((TeamStore::with_device(store.place().clone(), device), TeamSource::Web(address)))
}

/// Lets the user log in at the authorization server of a hub; returns the access token, which is sent once and stored nowhere.
fn logged_in(hub: &TeamHub, team: &str) -> Result<String, CommandError> {
    let issuer = hub.issuer().map_err(|error| not_synced(&error))?.ok_or_else(|| {
        CommandError::failure(format!("members of the hub of {team} don't log in with a browser"))
            .hint("give your SSH key with --key, or a token of its administrator with --token")
    })?;
    let address = hub.address().to_string();
    let HubIssuer { issuer, audience, client } = issuer;
    let resource = LoginResource { address, audience, issuer, client };
    let (_browsing, browse) = Browsing::begin();
    Ok(access_token(&resource, browse)?)
}
