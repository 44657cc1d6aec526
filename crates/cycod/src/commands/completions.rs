use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use crate::{
    cli::{self, Context},
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
    generate(shell, &mut cli::command(), "cycod", &mut script);
    let script = String::from_utf8(script).expect("names and texts are UTF-8");
    context.printer.data(with_tool_names(shell, script).as_bytes());
    Ok(0)
}

/// The commands whose argument is the name of a tool.
const TAKE_TOOLS: &str = "get run test validate edit remove export schema graph";

/// Adds what completes names of tools, which only the program knows when it is asked.
fn with_tool_names(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => {
            // The generated function stays as it is; ours is asked first and falls back to it.
            let ours = BASH.replace("COMMANDS", &TAKE_TOOLS.replace(' ', "|"));
            script + &ours
        }
        Shell::Zsh => {
            let (head, rest) = script.split_once('\n').unwrap_or((script.as_str(), ""));
            let names_a_tool = |line: &&str| line.starts_with("':name") || line.starts_with("'*::name");
            let rest = rest.lines().map(|line| match Some(line).filter(names_a_tool) {
                Some(line) => line.replace(":_default'", ":_cycod_tool_names'") + "\n",
                None => line.to_owned() + "\n",
            });
            format!("{head}\n{ZSH}{}", rest.collect::<String>())
        }
        Shell::Fish => {
            let command = format!("__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from {TAKE_TOOLS}");
            format!(
                "{script}complete -c cycod -n \"{command}\" -f -a \"(cycod tool list --format simple 2>/dev/null)\"\n"
            )
        }
        _ => script,
    }
}

const BASH: &str = r#"
_cycod_with_tools() {
    local cur="${COMP_WORDS[COMP_CWORD]}"
    if [[ "${COMP_WORDS[1]}" == tool && "$COMP_CWORD" -ge 3 && "$cur" != -* && "${COMP_WORDS[COMP_CWORD-1]}" != --* ]]; then
        case "${COMP_WORDS[2]}" in
            COMMANDS)
                mapfile -t COMPREPLY < <(compgen -W "$(cycod tool list --format simple 2>/dev/null)" -- "$cur")
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

";
