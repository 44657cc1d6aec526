use std::ffi::OsStr;

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{
    catalog::{Scope, ScopeFilter},
    definition::{Host, ToolName},
    diagnostic::SourceFile,
};
use cycod_process::find_program;

use crate::{
    cli::Context,
    command_error::CommandError,
    create::{LANGUAGES, Language, TEMPLATES, Template, text},
    options::{one_of, parsed},
    scope::ScopeOptions,
    store,
};

/// What `cycod tool create` takes.
/// For whom a tool is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Location {
    Project,
    Personal,
}

#[derive(Parser)]
#[command(name = "create", about = "Create a tool from a template")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    new: String,
    /// What the tool starts as
    #[arg(long, value_name = "TEMPLATE", value_parser = one_of(TEMPLATES), default_value = "basic")]
    template: Template,
    /// What its code is written in
    #[arg(long, value_name = "LANGUAGE", value_parser = one_of(LANGUAGES), default_value = "r")]
    language: Language,
    /// For this project or for you alone
    #[arg(long, value_name = "LOCATION", conflicts_with_all = ["scope", "global", "user", "local", "any"])]
    location: Option<Location>,
    /// Replace an existing tool of this name
    #[arg(long = "override", alias = "force")]
    overwrite: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool create`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Writes a tool that runs and passes its own tests as it is.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = new_name(&args.new)?;
    let (template, language) = (args.template, args.language);
    let asked = match args.location {
        Some(Location::Project) => Some(ScopeFilter::Only(Scope::Local)),
        Some(Location::Personal) => Some(ScopeFilter::Only(Scope::User)),
        None => args.scope.filter()?,
    };
    let scope = match asked {
        None => Scope::Local,
        Some(ScopeFilter::Only(scope)) => scope,
        Some(ScopeFilter::Any) => {
            return Err(CommandError::usage("a tool is written into one scope")
                .hint("give --location project or --location personal"));
        }
    };
    let text = text(name.as_str(), template, language);
    let source = SourceFile::new(format!("{name}.md (as made from the template)"), text.as_str());
    let target = store::target(context, scope);
    let not_done = format!("tool `{name}` was not created");
    let tool = store::checked(context, &source, Some(name.as_str()), &target, &not_done)?;
    let written = store::save(context, scope, &name, &text, args.overwrite).map_err(|error| {
        let is_taken = error.message.contains("is already there");
        if is_taken { error.hint(format!("or change it: cycod tool edit {name}")) } else { error }
    })?;
    store::say_saved(context, "Created", scope, &tool, &written);
    let mut steps = vec![
        format!("  change it: cycod tool edit {name}"),
        format!("  test it: cycod test {name}"),
        format!("  validate it: cycod validate {name}"),
    ];
    if scope == Scope::Local && written.path.components().any(|part| part.as_os_str() == ".cycod") {
        steps.push(
            "  share it: it is a file of the project, which runs code on the machine of everyone who trusts it"
                .to_owned(),
        );
    }
    context.printer.say(&steps.join("\n"));
    if let Some(program) = language.program().filter(|program| !is_there(program, context.engine.host())) {
        context
            .printer
            .warn(&format!("`{program}`, which runs its code, is not on the PATH: the tool cannot run here"));
    }
    Ok(0)
}

/// Reads the name of a new tool: lowercase letters, digits and hyphens, as the names of files and of commands are.
fn new_name(given: &str) -> Result<ToolName, CommandError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name = ToolName::new(given).filter(|_| given.chars().all(fits));
    name.ok_or_else(|| {
        let error = CommandError::usage(format!("`{given}` cannot name a new tool"))
            .hint("names are of lowercase letters, digits and hyphens, at most 64, such as `my-tool`");
        let fixed: String = given.to_lowercase().chars().map(|c| if fits(c) { c } else { '-' }).collect::<String>();
        let fixed = fixed.trim_matches('-');
        if ToolName::new(fixed).is_some() && fixed != given {
            error.hint(format!("did you mean `{fixed}`?"))
        } else {
            error
        }
    })
}

fn is_there(program: &str, host: &Host) -> bool {
    let path = host.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    find_program(OsStr::new(program), &path, &host.working_directory).is_ok()
}
