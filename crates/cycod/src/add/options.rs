//! Every option of `tool add`, and what it does to the request.

use super::{
    draft::{Draft, Group},
    parse::Request,
};

/// An option: its name without the dashes, where it may stand, and what it does.
pub(crate) struct AddOption {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) place: Place,
    pub(crate) takes: Takes,
}

/// Where an option may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Anywhere: it is about the tool.
    Tool,
    /// Anywhere: it opens a group.
    Opens,
    /// Behind what opens a group of its kind.
    In(Group),
}

/// What words an option takes, and what is done with them; an error continues "`--name` …".
pub(crate) enum Takes {
    Nothing(fn(&mut Request) -> Done),
    One(&'static str, fn(&mut Request, String) -> Done),
    Two([&'static str; 2], fn(&mut Request, String, String) -> Done),
    /// A name, a description, and any number of `key=value`.
    Parameter,
}

pub(crate) type Done = Result<(), String>;

use Takes::{Nothing, One, Two};

const fn tool(name: &'static str, takes: Takes) -> AddOption {
    AddOption { name, short: None, place: Place::Tool, takes }
}

const fn short(name: &'static str, short: char, takes: Takes) -> AddOption {
    AddOption { short: Some(short), ..tool(name, takes) }
}

const fn opens(name: &'static str, takes: Takes) -> AddOption {
    AddOption { place: Place::Opens, ..tool(name, takes) }
}

const fn step(name: &'static str, takes: Takes) -> AddOption {
    AddOption { place: Place::In(Group::Step), ..tool(name, takes) }
}

const fn test(name: &'static str, takes: Takes) -> AddOption {
    AddOption { place: Place::In(Group::Test), ..tool(name, takes) }
}

/// The options, in the order of the help page.
pub(crate) const OPTIONS: &[AddOption] = &[
    tool("description", One("DESC", |to, text| once(&mut to.draft.description, text))),
    tool("from-file", One("PATH", |to, path| once(&mut to.from_file, path))),
    tool("editor", Nothing(|to| flag(&mut to.editor))),
    tool("override", Nothing(|to| flag(&mut to.overwrite))),
    tool("bash", One("COMMAND", |to, text| to.draft.form("bash", text))),
    tool("cmd", One("COMMAND", |to, text| to.draft.form("cmd", text))),
    tool("pwsh", One("COMMAND", |to, text| to.draft.form("pwsh", text))),
    tool("run", One("COMMAND", |to, text| to.draft.form("run", text))),
    tool("script", One("SCRIPT", |to, text| to.draft.form("script", text))),
    tool("shell", One("SHELL", |to, text| once(&mut to.draft.shell, text))),
    tool("command-default", One("COMMAND", |to, text| to.draft.commands.add("default", text))),
    tool("command-windows", One("COMMAND", |to, text| to.draft.commands.add("windows", text))),
    tool("command-linux", One("COMMAND", |to, text| to.draft.commands.add("linux", text))),
    tool("command-macos", One("COMMAND", |to, text| to.draft.commands.add("macos", text))),
    opens("step", Two(["NAME", "COMMAND"], |to, name, text| to.draft.step(name, text))),
    opens(
        "step-command-default",
        Two(["NAME", "COMMAND"], |to, name, text| to.draft.step_command(name, "default", text)),
    ),
    opens(
        "step-command-windows",
        Two(["NAME", "COMMAND"], |to, name, text| to.draft.step_command(name, "windows", text)),
    ),
    opens("step-command-linux", Two(["NAME", "COMMAND"], |to, name, text| to.draft.step_command(name, "linux", text))),
    opens("step-command-macos", Two(["NAME", "COMMAND"], |to, name, text| to.draft.step_command(name, "macos", text))),
    step("continue-on-error", Nothing(|to| flag(&mut to.draft.open_step()?.continue_on_error))),
    step("on-failure", Nothing(|to| flag(&mut to.draft.open_step()?.on_failure))),
    step("run-condition", One("CONDITION", |to, text| once(&mut to.draft.open_step()?.condition, text))),
    step("parallel", Nothing(|to| flag(&mut to.draft.open_step()?.parallel))),
    step(
        "wait-for",
        One("STEP1,STEP2", |to, text| {
            to.draft.open_step()?.wait_for.extend(list(&text));
            Ok(())
        }),
    ),
    step("retry-attempts", One("N", |to, text| once(&mut to.draft.open_step()?.attempts, text))),
    step("retry-delay", One("MS", |to, text| once(&mut to.draft.open_step()?.delay, text))),
    step("fallback", One("COMMAND", |to, text| once(&mut to.draft.open_step()?.fallback, text))),
    step("output-mode", One("buffer|stream", |to, text| once(&mut to.draft.open_step()?.output_mode, text))),
    step("output-buffer-limit", One("SIZE", |to, text| once(&mut to.draft.open_step()?.buffer_limit, text))),
    opens("parameter", Takes::Parameter),
    tool("security-privilege", One("LEVEL", |to, text| once(&mut to.draft.privilege, text))),
    tool("security-isolation", One("LEVEL", |to, text| once(&mut to.draft.isolation, text))),
    tool("security-permission", One("PERMISSION", |to, text| push(&mut to.draft.permissions, text))),
    tool("env-var", One("NAME=VALUE", |to, text| pair(&mut to.draft.variables, &text))),
    tool("inherit-env", One("true|false", |to, text| once(&mut to.draft.inherit, text))),
    opens("test", Two(["NAME", "DESC"], |to, name, text| to.draft.test(name, text))),
    test("test-param", One("NAME=VALUE", |to, text| pair(&mut to.draft.open_test()?.parameters, &text))),
    test("expect-exit-code", One("N", |to, text| once(&mut to.draft.open_test()?.exit_code, text))),
    test("expect-output", One("TEXT", |to, text| push(&mut to.draft.open_test()?.output, text))),
    test("expect-file-exists", One("PATH", |to, text| push(&mut to.draft.open_test()?.files, text))),
    test("cleanup", One("COMMAND", |to, text| push(&mut to.draft.open_test()?.cleanup, text))),
    tool("platform", One("PLATFORM", |to, text| push(&mut to.draft.platforms, text))),
    tool("tag", One("TAG", |to, text| push(&mut to.draft.tags, text))),
    tool("timeout", One("MILLISECONDS", |to, text| once(&mut to.draft.timeout, text))),
    tool("working-directory", One("DIR", |to, text| once(&mut to.draft.working_directory, text))),
    tool("input", One("INPUT", |to, text| once(&mut to.draft.input, text))),
    tool(
        "scope",
        One("SCOPE", |to, text| {
            to.scopes.push(text);
            Ok(())
        }),
    ),
    short("global", 'g', Nothing(|to| scope(to, "global"))),
    short("user", 'u', Nothing(|to| scope(to, "user"))),
    short("local", 'l', Nothing(|to| scope(to, "local"))),
    short("any", 'a', Nothing(|to| scope(to, "any"))),
    tool("color", One("WHEN", |to, text| once(&mut to.color, text))),
    short(
        "help",
        'h',
        Nothing(|to| {
            to.help = true;
            Ok(())
        }),
    ),
];

/// The option called `name`.
pub(crate) fn find(name: &str) -> Option<&'static AddOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

impl AddOption {
    /// What it takes, as a person would write it.
    pub(crate) fn usage(&self) -> String {
        let quoted = |word: &str| match word {
            "COMMAND" | "DESC" | "CONDITION" | "SCRIPT" | "TEXT" | "INPUT" => format!("\"{word}\""),
            _ => word.to_owned(),
        };
        match &self.takes {
            Nothing(_) => format!("--{}", self.name),
            One(word, _) => format!("--{} {}", self.name, quoted(word)),
            Two([first, second], _) => format!("--{} {first} {}", self.name, quoted(second)),
            Takes::Parameter => format!("--{} NAME \"DESC\" [key=value…]", self.name),
        }
    }
}

fn once(slot: &mut Option<String>, text: String) -> Done {
    match slot.replace(text) {
        None => Ok(()),
        Some(_) => Err("is given twice".to_owned()),
    }
}

fn flag(slot: &mut bool) -> Done {
    *slot = true;
    Ok(())
}

fn push(to: &mut Vec<String>, text: String) -> Done {
    to.push(text);
    Ok(())
}

fn scope(to: &mut Request, name: &str) -> Done {
    to.scopes.push(name.to_owned());
    Ok(())
}

fn pair(to: &mut Vec<(String, String)>, text: &str) -> Done {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            if to.iter().any(|(known, _)| known == name) {
                return Err(format!("gives `{name}` twice"));
            }
            to.push((name.to_owned(), value.to_owned()));
            Ok(())
        }
        _ => Err(format!("takes NAME=VALUE, not `{text}`")),
    }
}

/// Splits at commas.
pub(crate) fn list(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned)
}

impl Draft {
    fn form(&mut self, key: &'static str, text: String) -> Done {
        match self.forms.iter().find(|(known, _)| *known == key) {
            Some(_) => Err("is given twice".to_owned()),
            None => {
                self.forms.push((key, text));
                Ok(())
            }
        }
    }
}
