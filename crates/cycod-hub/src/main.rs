//! The program `cycod-hub`: prepares a hub, looks after its members, and serves it.

mod dev;
mod doctor;
mod git;
mod parts;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use cycod_conductor::Conductor;
use cycod_file::{Durability, FileAccess};
use cycod_hub::{
    Hub, HubError, HubKey, HubLogin, HubMember, HubRefusal, HubServer, HubStore, HubSubject, ImportOutcome,
    PostgresStore, Restate, RestateKey, SqliteStore,
};
use cycod_process::share_one_arena;
use cycod_team::{TeamChannel, TeamKey};
use jiff::Timestamp;

/// A server on which a team proposes, reviews and releases its tools
#[derive(Parser)]
#[command(name = "cycod-hub", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create the hub's key and database
    Init {
        #[command(flatten)]
        place: Place,
        /// The address of a PostgreSQL database instead of a file, as postgres://hub@localhost/hub
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
    /// Take the roots that your root keys signed
    Root {
        #[command(flatten)]
        place: Place,
        /// The directory that `cycod team root --out` wrote
        #[arg(value_name = "DIR")]
        from: PathBuf,
    },
    /// Look after the members
    Member {
        #[command(subcommand)]
        command: MemberCommand,
    },
    /// Print a token with which one device joins
    Token {
        #[command(flatten)]
        place: Place,
        /// The member whose device it is
        name: String,
        /// After how many hours it expires
        #[arg(long, value_name = "N", default_value_t = 24)]
        hours: u32,
    },
    /// Look after the machines that run tools for members
    Worker {
        #[command(subcommand)]
        command: WorkerCommand,
    },
    /// Propose what a branch of a repository changes; nothing goes the other way
    Import {
        #[command(flatten)]
        place: Place,
        /// A clone, or a repository without a working tree
        #[arg(long, value_name = "DIR")]
        git: PathBuf,
        /// The branch
        #[arg(long, value_name = "NAME", default_value = "main")]
        branch: String,
        /// The directory in the repository that has `tools`
        #[arg(long, value_name = "PATH", default_value = ".cycod")]
        path: String,
        /// The channel that is to change
        #[arg(long, value_name = "CHANNEL", default_value = "stable")]
        channel: String,
    },
    /// Check the record of changes, and print it
    Audit {
        #[command(flatten)]
        place: Place,
    },
    /// After a backup was restored, release with a number that is new to members
    Recover {
        #[command(flatten)]
        place: Place,
        /// The highest number of a release that members have
        #[arg(long, value_name = "N")]
        after: u32,
    },
    /// Try workers on this machine: create a hub if there is none, serve it, and start workers
    Dev {
        #[command(flatten)]
        place: Place,
        /// Where to listen
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
        listen: SocketAddr,
        /// How many workers to start
        #[arg(long, value_name = "N", default_value_t = 2)]
        workers: u8,
        /// The address of a PostgreSQL database instead of a file, if there is no hub yet
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
    /// Serve the hub
    Serve {
        #[command(flatten)]
        place: Place,
        /// Where to listen
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
        listen: SocketAddr,
        /// The ingress of Restate on this machine, for durable runs
        #[arg(long, value_name = "ADDRESS")]
        restate: Option<SocketAddr>,
        #[command(flatten)]
        oauth: OAuthOptions,
    },
    /// Drive durable runs, for Restate
    Conductor {
        #[command(flatten)]
        place: Place,
        /// Where Restate reaches it
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
        listen: SocketAddr,
        /// The administration of Restate on this machine
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9070")]
        admin: SocketAddr,
    },
    /// Find each part of a hub with durable runs, and what is wrong with it
    Doctor {
        /// The directory of the hub
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// The configuration of Restate (default: restate.toml in the directory of the hub)
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Output format
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: Format,
        /// The ingress of Restate on this machine (default: as the configuration says)
        #[arg(long, value_name = "ADDRESS")]
        restate: Option<SocketAddr>,
        /// The administration of Restate on this machine (default: as the configuration says)
        #[arg(long, value_name = "ADDRESS")]
        admin: Option<SocketAddr>,
    },
}

/// The authorization server at which members log in to join.
#[derive(Args)]
struct OAuthOptions {
    /// Let members join with a login at this authorization server
    #[arg(long, value_name = "URL", requires_all = ["oauth_audience", "oauth_client"])]
    oauth_issuer: Option<String>,
    /// The address of this hub, which access tokens are issued for
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    oauth_audience: Option<String>,
    /// The ID of the public client that is registered for cycod there
    #[arg(long, value_name = "ID", requires = "oauth_issuer")]
    oauth_client: Option<String>,
}

impl OAuthOptions {
    fn login(&self) -> Result<Option<HubLogin>, HubError> {
        let Self { oauth_issuer: Some(issuer), oauth_audience: Some(audience), oauth_client: Some(client) } = self
        else {
            return Ok(None);
        };
        let login = HubLogin::new(issuer, audience, client);
        login.map(Some).map_err(|error| HubError::new(HubRefusal::Invalid, error.to_string()))
    }
}

#[derive(Subcommand)]
enum MemberCommand {
    /// Add a member, or change one
    Add {
        #[command(flatten)]
        place: Place,
        /// What the member is called
        name: String,
        /// The public SSH key of the member
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Let the member release
        #[arg(long)]
        admin: bool,
    },
    /// Say as which user of the authorization server a member logs in
    Subject {
        #[command(flatten)]
        place: Place,
        /// What the member is called
        name: String,
        /// The issuer and the subject of the user's access tokens, with `#` between
        #[arg(value_name = "ISSUER#SUBJECT", required_unless_present = "none")]
        subject: Option<HubSubject>,
        /// Don't let the member join with a login
        #[arg(long, conflicts_with = "subject")]
        none: bool,
    },
    /// List the members
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Remove a member and all devices of the member
    Remove {
        #[command(flatten)]
        place: Place,
        /// What the member is called
        name: String,
    },
}

#[derive(Subcommand)]
enum WorkerCommand {
    /// Print a token with which one machine becomes a worker
    Token {
        #[command(flatten)]
        place: Place,
        /// What the worker is called
        name: String,
        /// After how many hours it expires
        #[arg(long, value_name = "N", default_value_t = 24)]
        hours: u32,
    },
    /// List the workers
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Remove a worker; what it runs counts as lost
    Remove {
        #[command(flatten)]
        place: Place,
        /// What the worker is called
        name: String,
    },
}

/// Whether a command writes for people or for programs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Where the hub's files are.
#[derive(Args)]
struct Place {
    /// The directory of the hub
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Place {
    fn key(&self) -> PathBuf {
        self.data.join("release.key")
    }

    /// The file with the address of the database, if that is no file.
    fn address(&self) -> PathBuf {
        self.data.join("database")
    }

    fn hub(&self) -> Result<Hub, HubError> {
        if !self.key().exists() {
            let message = format!("there is no hub in `{}`: cycod-hub init --data DIR", self.data.display());
            return Err(HubError::new(HubRefusal::Missing, message));
        }
        let key = HubKey::read(&self.key())?;
        let store: Arc<dyn HubStore> = match fs::read_to_string(self.address()) {
            Ok(url) => Arc::new(PostgresStore::open(url.trim())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Arc::new(SqliteStore::open(&self.data.join("hub.db"))?)
            }
            Err(error) => return Err(failed("read", &self.address(), &error)),
        };
        Ok(Hub::new(store, key))
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> HubError {
    HubError::new(HubRefusal::Failed, format!("cannot {doing} `{}`: {error}", path.display()))
}

fn main() -> ExitCode {
    // A hub runs for months: with an arena for each thread, what one thread has freed isn't there for the others.
    share_one_arena();
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(lines) => {
            print(&lines);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where this program prints")]
fn print(lines: &[String]) {
    let mut out = io::stdout().lock();
    // Who no longer reads needs no error.
    drop(lines.iter().try_for_each(|line| writeln!(out, "{}", plain(line))));
}

#[expect(clippy::disallowed_methods, reason = "the one place where this program prints")]
fn report(error: &HubError) {
    drop(writeln!(io::stderr().lock(), "error: {}", plain(&error.message)));
}

/// A line without anything that a terminal would act on.
fn plain(line: &str) -> String {
    let is_plain = |c: char| c == '…' || c == ' ' || c.is_ascii_graphic();
    line.chars().flat_map(|c| if is_plain(c) { vec![c] } else { c.escape_default().collect() }).collect()
}

fn run(command: Command) -> Result<Vec<String>, HubError> {
    let now = Timestamp::now();
    match command {
        Command::Init { place, database } => init(&place, database.as_deref()),
        Command::Root { place, from } => {
            let hub = place.hub()?;
            let version = hub.take_roots(&roots(&from)?, now)?;
            Ok(vec![format!("Root {version} of {} is in force", hub.team()?)])
        }
        Command::Member { command: MemberCommand::Add { place, name, key, admin } } => {
            let text = fs::read_to_string(&key).map_err(|error| failed("read", &key, &error))?;
            let key: TeamKey = text.parse().map_err(|error: cycod_team::UnusableKey| {
                HubError::new(HubRefusal::Invalid, format!("`{}`: {error}", key.display()))
            })?;
            place.hub()?.add_member(&name, &key, admin, now)?;
            Ok(vec![format!("{name} is a member{}", if admin { " who can release" } else { "" })])
        }
        Command::Member { command: MemberCommand::Subject { place, name, subject, none: _ } } => {
            place.hub()?.set_subject(&name, subject.as_ref(), now)?;
            Ok(vec![match subject {
                Some(subject) => format!("{name} logs in as {subject}"),
                None => format!("{name} can't join with a login"),
            }])
        }
        Command::Member { command: MemberCommand::List { place } } => {
            let line = |(member, subject): &(HubMember, Option<String>)| {
                let login = subject.as_ref().map(|subject| format!("  logs in as {subject}")).unwrap_or_default();
                let kind = if member.is_admin { "admin " } else { "member" };
                format!("{kind}  {}  {}{login}", member.name, member.key)
            };
            Ok(place.hub()?.members()?.iter().map(line).collect())
        }
        Command::Member { command: MemberCommand::Remove { place, name } } => {
            place.hub()?.remove_member(&name, now)?;
            Ok(vec![format!("{name} is no longer a member")])
        }
        Command::Token { place, name, hours } => Ok(vec![place.hub()?.token(&name, hours, now)?]),
        Command::Worker { command: WorkerCommand::Token { place, name, hours } } => {
            Ok(vec![place.hub()?.worker_token(&name, hours, now)?])
        }
        Command::Worker { command: WorkerCommand::List { place } } => {
            let line = |(name, labels, is_here): (String, Vec<String>, bool)| {
                format!("{}  {name}  {}", if is_here { "running" } else { "away   " }, labels.join(" "))
            };
            Ok(place.hub()?.workers(now)?.into_iter().map(line).collect())
        }
        Command::Worker { command: WorkerCommand::Remove { place, name } } => {
            place.hub()?.remove_worker(&name, now)?;
            Ok(vec![format!("{name} is no longer a worker")])
        }
        Command::Import { place, git, branch, path, channel } => import(&place, &git, (&branch, &path), &channel, now),
        Command::Audit { place } => {
            let rows = place.hub()?.audit()?;
            let line = |row: &cycod_hub::HubAudit| {
                let at = Timestamp::from_second(row.at).map(|at| at.to_string()).unwrap_or_default();
                format!("{} {at} {} {} {}", row.number, row.member, row.action, row.subject)
            };
            let head = rows.last().map(|last| format!("The digest of row {} is {}", last.number, last.digest));
            Ok(rows.iter().map(line).chain(head).collect())
        }
        Command::Recover { place, after } => {
            let hub = place.hub()?;
            let number = hub.recover(after, now)?;
            Ok(vec![format!("Made release {number} of {}", hub.team()?)])
        }
        Command::Dev { place, listen, workers, database } => {
            try_out(&place, listen, workers.into(), database.as_deref())
        }
        Command::Serve { place, listen, restate, oauth } => {
            let (hub, login) = (place.hub()?, oauth.login()?);
            if let Some(restate) = restate {
                hub.use_restate(Restate::at(restate)?);
            }
            serve(hub, listen, login)
        }
        Command::Conductor { place, listen, admin } => conduct(&place, listen, Restate::at(admin)?),
        Command::Doctor { data, config, format, restate, admin } => {
            let found = doctor::examine(&doctor::Examined { data, config, ingress: restate, admin })?;
            let lines = match format {
                Format::Text => found.lines(),
                Format::Json => vec![found.json().to_string()],
            };
            if found.are_well() {
                return Ok(lines);
            }
            print(&lines);
            Err(HubError::new(HubRefusal::Failed, "something is missing or wrong"))
        }
    }
}

fn init(place: &Place, database: Option<&str>) -> Result<Vec<String>, HubError> {
    if place.key().exists() {
        let message = format!("`{}` has a hub already", place.data.display());
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    // First, so that nothing is written for an address that is wrong.
    let store = database.map(PostgresStore::open).transpose()?;
    cycod_file::create_private_directories(&place.data).map_err(|error| failed("create", &place.data, &error))?;
    if let (Some(_), Some(url)) = (store, database) {
        cycod_file::replace(&place.address(), url.as_bytes(), FileAccess::Private, Durability::Power)
            .map_err(|error| failed("write", &place.address(), &error))?;
    }
    HubKey::generate()?.write(&place.key())?;
    drop(place.hub()?);
    let public = place.key().with_extension("key.pub");
    Ok(vec![
        format!("Created a hub in `{}`", place.data.display()),
        format!("Let its key sign releases: cycod team root --release-key {} …", public.display()),
    ])
}

/// The roots in a directory of releases, by path.
fn roots(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>, HubError> {
    let root = directory.join("root");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&root).map_err(|error| failed("read", &root, &error))? {
        let entry = entry.map_err(|error| failed("read", &root, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") || name.ends_with(".json.sigs") {
            let bytes = fs::read(entry.path()).map_err(|error| failed("read", &entry.path(), &error))?;
            files.insert(format!("root/{name}"), bytes);
        }
    }
    Ok(files)
}

/// Proposes what a branch changes.
fn import(
    place: &Place,
    git: &Path,
    (branch, path): (&str, &str),
    channel: &str,
    now: Timestamp,
) -> Result<Vec<String>, HubError> {
    let channel: TeamChannel = channel
        .parse()
        .map_err(|error: cycod_team::UnusableChannel| HubError::new(HubRefusal::Invalid, error.to_string()))?;
    let hub = place.hub()?;
    let last = hub.last_import(&channel)?;
    let imported = git::Repository::open(git, &place.data)?.read(branch, path, last.as_deref())?;
    let short = |digest: cycod_team::BlobDigest| digest.to_string()[..8].to_owned();
    Ok(match hub.import(&channel, &imported, now)? {
        ImportOutcome::Nothing => vec![format!("The team has all of {}", imported.source)],
        ImportOutcome::Waits(proposal) => vec![format!("It waits as proposal {}", short(proposal))],
        ImportOutcome::Proposed { proposal, paths } => {
            let head = format!("Proposed {}: {}, from {}", short(proposal), imported.why, imported.source);
            [head].into_iter().chain(paths.iter().map(|path| format!("  {path}"))).collect()
        }
    })
}

/// Serves a hub for trying it, until its workers end.
fn try_out(place: &Place, listen: SocketAddr, count: usize, database: Option<&str>) -> Result<Vec<String>, HubError> {
    if !listen.ip().is_loopback() {
        return Err(HubError::new(HubRefusal::Invalid, "a hub for trying listens on this machine only: 127.0.0.1"));
    }
    let now = Timestamp::now();
    if let (true, Some(url)) = (place.key().exists(), database)
        && fs::read_to_string(place.address()).ok().as_deref() != Some(url)
    {
        let message = format!("the hub in `{}` has another database", place.data.display());
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    if !place.key().exists() {
        _ = init(place, database)?;
        dev::prepare(&place.hub()?, &place.data, &HubKey::read(&place.key())?, now)?;
    }
    let hub = place.hub()?;
    if hub.team()? != dev::TEAM {
        let message = format!("`{}` has the hub of a real team: cycod-hub serve", place.data.display());
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    let workers = dev::Workers::find(&place.data)?;
    let begin = |error: &dyn std::fmt::Display| HubError::new(HubRefusal::Failed, format!("cannot begin: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| begin(&error))?;
    runtime.block_on(async {
        let server = HubServer::listen(hub.clone(), listen).await.map_err(|error| begin(&error))?;
        let url = format!("http://{}", server.address());
        print(&[format!("The hub of {} is at {url}", dev::TEAM)]);
        let ports = parts::Ports::behind(server.address());
        let beside = match workers.engine(ports)? {
            Some(programs) => {
                hub.use_restate(Restate::at(ports.ingress)?);
                programs.into()
            }
            None => {
                print(&[format!("Durable runs need Restate, which isn't installed: npm i {}", parts::package())]);
                Vec::new()
            }
        };
        let (door, data, there) = (hub.clone(), place.data.clone(), url.clone());
        let advice = cycod_thread::blocking(move || dev::advice(&door, &data, &there, now));
        print(&advice.await.map_err(|broken| begin(&broken))??);
        let working =
            cycod_thread::blocking(move || workers.run(&hub, (&url, count), beside, |line| print(&[line.to_owned()])));
        tokio::select! {
            () = server.run(report) => Ok(Vec::new()),
            ended = working => ended.map_err(|broken| begin(&broken))?.map(|()| Vec::new()),
        }
    })
}

/// Drives durable runs until Ctrl-C.
fn conduct(place: &Place, listen: SocketAddr, admin: Restate) -> Result<Vec<String>, HubError> {
    if !listen.ip().is_loopback() {
        let message = "the conductor is on the machine of Restate, and listens there only: 127.0.0.1";
        return Err(HubError::new(HubRefusal::Invalid, message));
    }
    let begin = |error: &dyn std::fmt::Display| HubError::new(HubRefusal::Failed, format!("cannot begin: {error}"));
    let hub = place.hub()?;
    let key = RestateKey::of(&place.data)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| begin(&error))?;
    runtime.block_on(async {
        let conductor = Conductor::listen(Arc::new(hub), listen, &key.public()).map_err(|error| begin(&error))?;
        let address = conductor.address();
        let registering = async {
            match admin.register(address).await {
                Ok(()) => {
                    print(&[format!("The conductor is at {address}, and Restate knows it")]);
                    std::future::pending().await
                }
                Err(error) => Err(error),
            }
        };
        tokio::select! {
            () = conductor.run() => Ok(Vec::new()),
            failed = registering => failed,
        }
    })
}

fn serve(hub: Hub, listen: SocketAddr, login: Option<HubLogin>) -> Result<Vec<String>, HubError> {
    let begin = |error: &dyn std::fmt::Display| HubError::new(HubRefusal::Failed, format!("cannot begin: {error}"));
    let team = hub.team()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| begin(&error))?;
    runtime.block_on(async {
        let server = HubServer::listen(hub, listen).await.map_err(|error| begin(&error))?.with_login(login);
        print(&[format!("The hub of {team} is at http://{}", server.address())]);
        server.run(report).await;
        Ok(Vec::new())
    })
}
