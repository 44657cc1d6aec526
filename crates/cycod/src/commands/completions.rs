use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use crate::{
    cli::{self, Context, GROUPS, SHORT_FORMS},
    command_error::CommandError,
};

/// `cycod completions`.
pub(crate) fn command() -> Command {
    Command::new("completions").about("Print a shell completion script").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell to print it for"),
    )
}

/// Prints a shell completion script.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let shell = *matches.get_one::<Shell>("shell").expect("clap requires it");
    let mut script = Vec::new();
    // The commands take these as texts, so that they can say more about a wrong one than clap does.
    let hosts = || cycod_settings::HOSTS.iter().map(|host| host.name);
    let with_hosts = |command: Command| command.mut_arg("host", |host| host.value_parser(hosts().collect::<Vec<_>>()));
    let mut command = cli::command()
        .mut_subcommand("mcp", |mcp| mcp.mut_subcommand("install", with_hosts).mut_subcommand("uninstall", with_hosts));
    generate(shell, &mut command, "cycod", &mut script);
    let script = String::from_utf8(script).expect("names and texts are UTF-8");
    context.printer.data(with_names(shell, script).as_bytes());
    Ok(0)
}

/// The commands whose argument is the name of a tool.
const TAKE_TOOLS: &str = "info get run test validate edit remove export schema graph why confine trust untrust";
/// The commands whose argument is the name of an MCP server.
const TAKE_SERVERS: &str = "get remove test accept login";

/// Adds what completes names of tools and servers, which only the program knows when it is asked.
fn with_names(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => {
            // The generated function stays as it is; ours is asked first and falls back to it.
            let patterns =
                |group: &str, commands: &str| format!("{group}\\ ") + &commands.replace(' ', &format!("|{group}\\ "));
            let ours = BASH.replace("SHORT_FORMS", &SHORT_FORMS.join("|"));
            let ours = ours.replace("TOOL_COMMANDS", &patterns("tool", TAKE_TOOLS));
            script + &ours.replace("MCP_COMMANDS", &patterns("mcp", TAKE_SERVERS))
        }
        Shell::Zsh => {
            let (head, rest) = script.split_once('\n').unwrap_or((script.as_str(), ""));
            let rest = rest.lines().map(|line| {
                let begins = |word: &str| {
                    line.starts_with(&format!("':{word}"))
                        || line.starts_with(&format!("'::{word}"))
                        || line.starts_with(&format!("'*::{word}"))
                };
                let names = if begins("name") {
                    "_cycod_tool_names"
                } else if begins("server:") {
                    "_cycod_server_names"
                } else {
                    "_default"
                };
                line.replace(":_default'", &format!(":{names}'")) + "\n"
            });
            format!("{head}\n{ZSH}{}", rest.collect::<String>())
        }
        Shell::Fish => {
            let names = [("tool", TAKE_TOOLS), ("mcp", TAKE_SERVERS)].map(|(group, commands)| {
                let command =
                    format!("__fish_seen_subcommand_from {group}; and __fish_seen_subcommand_from {commands}");
                format!(
                    "complete -c cycod -n \"{command}\" -f -a \"(cycod {group} list --format simple 2>/dev/null)\"\n"
                )
            });
            let groups: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
            let short: Vec<&str> =
                SHORT_FORMS.iter().copied().filter(|name| TAKE_TOOLS.split(' ').any(|taken| taken == *name)).collect();
            let short = format!(
                "complete -c cycod -n \"not __fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}\" -f -a \"(cycod list --format simple 2>/dev/null)\"\n",
                groups.join(" "),
                short.join(" "),
            );
            script + &names.concat() + &short
        }
        _ => script,
    }
}

const BASH: &str = r#"
_cycod_with_tools() {
    local cur="${COMP_WORDS[COMP_CWORD]}" group="${COMP_WORDS[1]}" command="${COMP_WORDS[2]}" first=3
    case "$group" in
        SHORT_FORMS) group=tool command="${COMP_WORDS[1]}" first=2 ;;
    esac
    if [[ "$COMP_CWORD" -ge "$first" && "$cur" != -* && "${COMP_WORDS[COMP_CWORD-1]}" != --* ]]; then
        case "$group $command" in
            TOOL_COMMANDS|MCP_COMMANDS)
                mapfile -t COMPREPLY < <(compgen -W "$(cycod "$group" list --format simple 2>/dev/null)" -- "$cur")
                [[ ${#COMPREPLY[@]} -gt 0 ]] && return
                ;;
        esac
    fi
    _cycod "$@"
}
complete -F _cycod_with_tools -o bashdefault -o default cycod
"#;

const ZSH: &str = r"
_cycod_tool_names() {
    local -a names
    names=(${(f)$(cycod tool list --format simple 2>/dev/null)})
    compadd -a names || _default
}
_cycod_server_names() {
    local -a names
    names=(${(f)$(cycod mcp list --format simple 2>/dev/null)})
    compadd -a names || _default
}

";
