//! The command line of `cycod tool add`: options whose meaning depends on those before them, so that no declaration can describe
//! them.

use std::ffi::{OsStr, OsString};

use cycod_engine::{
    catalog::{Scope, ScopeFilter},
    diagnostic::closest,
};
use lexopt::{Arg, Parser};

use super::{
    draft::{Draft, Group},
    options::{AddOption, OPTIONS, Place, Takes, find},
    parameter::{KEYS, ParameterDraft},
};
use crate::{command_error::CommandError, scope};

/// Everything that `tool add` was asked for.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// The tool's name.
    pub(crate) name: Option<String>,
    /// `--from-file`.
    pub(crate) from_file: Option<String>,
    /// `--editor`.
    pub(crate) editor: bool,
    /// `--override`.
    pub(crate) overwrite: bool,
    /// `--color`.
    pub(crate) color: Option<String>,
    /// `--help`.
    pub(crate) help: bool,
    /// Every scope that was named.
    pub(super) scopes: Vec<String>,
    /// What the options say about the tool.
    pub(crate) draft: Draft,
}

impl Request {
    /// The scope to add to.
    pub(crate) fn scope(&self) -> Result<Scope, CommandError> {
        let mut asked = self.scopes.iter().map(|name| scope::parse(name)).collect::<Result<Vec<_>, _>>()?;
        asked.dedup();
        match asked.as_slice() {
            [] => Ok(Scope::Local),
            [ScopeFilter::Only(scope)] => Ok(*scope),
            [ScopeFilter::Any] => {
                Err(CommandError::usage("a tool is added to one scope").hint("give --local, --user or --global"))
            }
            _ => Err(CommandError::usage("two different scopes are asked for").hint("give one of --scope, -g, -u, -l")),
        }
    }
}

/// Reads the words behind `tool add`.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, CommandError> {
    let mut parser = Parser::from_args(words);
    let mut request = Request::default();
    loop {
        let option = match parser.next() {
            Ok(None) => return Ok(request),
            Ok(Some(Arg::Value(word))) => {
                let word = text(word)?;
                match &request.name {
                    None => request.name = Some(word),
                    Some(name) => {
                        let error = CommandError::usage(format!(
                            "unexpected word `{word}`: the tool is called `{name}` already"
                        ));
                        return Err(error.hint("put quotes around a value that holds spaces"));
                    }
                }
                continue;
            }
            Ok(Some(Arg::Long(name))) => find(name).ok_or_else(|| unknown(name))?,
            Ok(Some(Arg::Short(letter))) => {
                let known = OPTIONS.iter().find(|option| option.short == Some(letter));
                known.ok_or_else(|| {
                    CommandError::usage(format!("unknown option `-{letter}`")).hint("cycod help tool add")
                })?
            }
            Err(lexopt::Error::UnexpectedValue { option, .. }) => {
                return Err(CommandError::usage(format!("`{option}` takes no value")));
            }
            Err(error) => return Err(CommandError::usage(error.to_string()).hint("cycod help tool add")),
        };
        take(&mut parser, option, &mut request)?;
    }
}

/// Reads the values of an option and does what it asks for.
fn take(parser: &mut Parser, option: &'static AddOption, request: &mut Request) -> Result<(), CommandError> {
    check_place(option, &request.draft)?;
    let done = match &option.takes {
        Takes::Nothing(set) => set(request),
        Takes::One(word, set) => {
            let given = value(parser, option, word)?;
            set(request, given)
        }
        Takes::Two([first, second], set) => {
            let first = value(parser, option, first)?;
            let second = value(parser, option, second)?;
            set(request, first, second)
        }
        Takes::Parameter => {
            let parameter = parameter(parser, option)?;
            request.draft.parameter(parameter)
        }
    };
    done.map_err(|why| CommandError::usage(format!("`--{}` {why}", option.name)).hint(option.usage()))
}

/// Says which group a stray modifier belongs to.
fn check_place(option: &AddOption, draft: &Draft) -> Result<(), CommandError> {
    let Place::In(group) = option.place else { return Ok(()) };
    let (noun, opener) = group.noun();
    let belongs = format!("`--{}` belongs to {noun}", option.name);
    match draft.open_group() {
        Some((open, _)) if open == group => Ok(()),
        Some((open, name)) => {
            let error = CommandError::usage(format!("{belongs}, but stands behind `{} {name}`", open.noun().1));
            Err(error.hint(format!("put it behind the {opener} it is about")))
        }
        None => Err(CommandError::usage(format!("{belongs}, and there is none before it"))
            .hint(format!("put it behind {}", opener_usage(group)))),
    }
}

fn opener_usage(group: Group) -> String {
    find(group.noun().1.trim_start_matches('-')).map(AddOption::usage).unwrap_or_default()
}

/// Takes the next word as a value, whatever it starts with, unless it is one of our own options.
fn value(parser: &mut Parser, option: &AddOption, word: &str) -> Result<String, CommandError> {
    let lacks =
        |what: String| CommandError::usage(format!("`--{}` lacks its {word}{what}", option.name)).hint(option.usage());
    if let Some(rest) = parser.try_raw_args()
        && let Some(next) = rest.peek()
        && let Some(name) = own_option(next)
    {
        let error = lacks(format!(": `--{name}` follows"));
        return Err(match &option.takes {
            Takes::One(..) => error.hint(format!("if `--{name}` is the value: --{}=--{name}", option.name)),
            _ => error,
        });
    }
    text(parser.value().map_err(|_| lacks(String::new()))?)
}

/// The name, when a word is exactly one of our long options.
fn own_option(word: &OsStr) -> Option<&'static str> {
    let name = word.to_str()?.strip_prefix("--")?;
    find(name.split_once('=').map_or(name, |(name, _)| name)).map(|option| option.name)
}

/// Reads `NAME "DESC" key=value…`, up to the next option or the tool's name.
fn parameter(parser: &mut Parser, option: &AddOption) -> Result<ParameterDraft, CommandError> {
    let name = value(parser, option, "NAME")?;
    if name.is_empty() {
        return Err(CommandError::usage("a parameter needs a name").hint(option.usage()));
    }
    let description = value(parser, option, "DESC")?;
    if let Some((key, _)) = description.split_once('=').filter(|(key, _)| KEYS.contains(key)) {
        let error = CommandError::usage(format!("parameter `{name}` has no description: `{key}=…` follows its name"));
        return Err(error.hint(format!("--parameter {name} \"what it is for\" {description}")));
    }
    let mut parameter = ParameterDraft { name, description, settings: Vec::new() };
    let wrong = |why: String| CommandError::usage(format!("`--{}` {why}", option.name));
    while let Some(mut rest) = parser.try_raw_args() {
        // A word without `=` is the tool's name; what starts with a dash is an option.
        let Some(word) =
            rest.next_if(|word| word.to_str().is_some_and(|word| !word.starts_with('-') && word.contains('=')))
        else {
            break;
        };
        let word = text(word)?;
        let (key, value) = word.split_once('=').unwrap_or((&word, ""));
        let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
            let error = wrong(format!("`{}`: unknown setting `{key}`", parameter.name));
            return Err(match closest(key, KEYS).or_else(|| renamed(key)) {
                Some(near) => error.hint(format!("did you mean `{near}={value}`?")),
                None => error.hint(format!("known are {}", KEYS.join(", "))),
            });
        };
        parameter.set(key, value.to_owned()).map_err(wrong)?;
    }
    Ok(parameter)
}

/// Our word for a key as it is called in a file.
fn renamed(key: &str) -> Option<&'static str> {
    match key {
        "minLength" => Some("min-length"),
        "maxLength" => Some("max-length"),
        "minimum" => Some("min"),
        "maximum" => Some("max"),
        "examples" => Some("example"),
        _ => None,
    }
}

fn unknown(name: &str) -> CommandError {
    let error = CommandError::usage(format!("unknown option `--{name}`"));
    let names = || OPTIONS.iter().map(|option| option.name);
    let longer = || names().find(|known| name.len() > 2 && known.starts_with(name));
    match closest(name, names()).or_else(longer).and_then(find) {
        Some(near) => error.hint(format!("did you mean `{}`?", near.usage())),
        None => error.hint("cycod help tool add"),
    }
}

fn text(word: OsString) -> Result<String, CommandError> {
    word.into_string().map_err(|word| CommandError::usage(format!("`{}` is not UTF-8", word.display())))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        shlex::split(&line.replace("\\\n", " "))
            .expect("the line is well quoted")
            .into_iter()
            .map(OsString::from)
            .collect()
    }

    #[track_caller]
    fn check(line: &str, expect: &Expect) {
        let got = match parse(words(line)) {
            Ok(request) => request.draft.to_yaml(request.name.as_deref().unwrap_or("-")),
            Err(error) => format!(
                "error: {}\n{}",
                error.message,
                error.hints.iter().map(|hint| format!("  {hint}\n")).collect::<String>()
            ),
        };
        expect.assert_eq(&got);
    }

    #[test]
    fn the_example_of_the_specification() {
        check(
            r#"weather-lookup --description "Get weather for a location" \
              --bash "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'" \
              --parameter LOCATION "City or airport code" required=true example=London \
              --parameter FORMAT "Output format" default=3 \
              --tag weather --tag api --tag read \
              --timeout 10000"#,
            &expect![[r#"
                name: weather-lookup
                description: Get weather for a location
                bash: curl -s 'wttr.in/{LOCATION}?format={FORMAT}'

                parameters:
                  LOCATION:
                    type: string
                    description: City or airport code
                    required: true
                    examples: [London]
                  FORMAT:
                    type: string
                    description: Output format
                    default: "3"

                tags: [weather, api, read]
                timeout: 10000
            "#]],
        );
    }

    #[test]
    fn modifiers_belong_to_the_group_before_them() {
        check(
            r#"build --step fetch "curl {URL} > a" --retry-attempts 3 --retry-delay 500 --fallback "cp b a" --tag run
              --step-command-windows show "type a" --step-command-default show "cat a" --parallel --continue-on-error --on-failure
              --run-condition "{fetch.exit-code} == 0" --wait-for "fetch, other" --output-mode stream --output-buffer-limit 1MB
              --parameter URL "Where from" type=string pattern=a=b min-length=2 escape-shell=true
              --parameter N "How many" type=integer min=1 max=9 default=5 enum=1,5
              --parameter ALL "Whether" type=boolean default=false
              --parameter L "Names" type=array 'default=["a,b","c"]'
              --test good "It works" --test-param URL=x --test-param N=5 --expect-exit-code 0 --expect-output ok --expect-file-exists a --cleanup "rm a"
              --test bad "It fails" --expect-exit-code 1
              --env-var A=b=c --inherit-env false --security-privilege reduced --security-isolation process
              --security-permission network:external --platform linux --input "{URL}" --working-directory /tmp"#,
            &expect![[r#"
                name: build

                steps:
                  - name: fetch
                    bash: curl {URL} > a
                    error-handling:
                      retry:
                        attempts: 3
                        delay: 500
                      fallback: cp b a
                  - name: show
                    commands:
                      default: cat a
                      platforms:
                        windows: type a
                    run-condition: "{fetch.exit-code} == 0"
                    parallel: true
                    wait-for: [fetch, other]
                    continue-on-error: true
                    on-failure: true
                    output:
                      mode: stream
                      buffer-limit: 1MB

                parameters:
                  URL:
                    type: string
                    description: Where from
                    validation:
                      minLength: 2
                      pattern: a=b
                    security:
                      escape-shell: true
                  "N":
                    type: integer
                    description: How many
                    default: 5
                    validation:
                      minimum: 1
                      maximum: 9
                      enum: [1, 5]
                  ALL:
                    type: boolean
                    description: Whether
                    default: false
                  L:
                    type: array
                    description: Names
                    default: ["a,b", c]

                tags: [run]
                platforms: [linux]
                working-directory: /tmp
                input: "{URL}"

                environment:
                  variables:
                    A: b=c
                  inherit: false

                security:
                  execution-privilege: reduced
                  isolation: process
                  required-permissions:
                    - network:external

                tests:
                  - name: good
                    description: It works
                    parameters:
                      URL: x
                      "N": 5
                    expected:
                      exit-code: 0
                      output-contains: ok
                      file-exists: a
                    cleanup:
                      - rm a
                  - name: bad
                    description: It fails
                    expected:
                      exit-code: 1
            "#]],
        );
    }

    #[test]
    fn a_value_may_start_with_a_dash_and_the_name_may_come_last() {
        check(
            r#"--bash "-x {A}" --description=--bash --parameter A "-dash" default=-1 the-name"#,
            &expect![[r#"
                name: the-name
                description: "--bash"
                bash: "-x {A}"

                parameters:
                  A:
                    type: string
                    description: "-dash"
                    default: "-1"
            "#]],
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expect) in [
            (
                "x --parallel",
                "error: `--parallel` belongs to a step, and there is none before it\n  put it behind --step NAME \"COMMAND\"\n",
            ),
            (
                "x --step a b --parameter P d --parallel",
                "error: `--parallel` belongs to a step, but stands behind `--parameter P`\n  put it behind the --step it is about\n",
            ),
            (
                "x --expect-output a",
                "error: `--expect-output` belongs to a test, and there is none before it\n  put it behind --test NAME \"DESC\"\n",
            ),
            (
                "x --description --bash ls",
                "error: `--description` lacks its DESC: `--bash` follows\n  --description \"DESC\"\n  if `--bash` is the value: --description=--bash\n",
            ),
            ("x --step a --tag b", "error: `--step` lacks its COMMAND: `--tag` follows\n  --step NAME \"COMMAND\"\n"),
            ("x --bash", "error: `--bash` lacks its COMMAND\n  --bash \"COMMAND\"\n"),
            ("x --bahs ls", "error: unknown option `--bahs`\n  did you mean `--bash \"COMMAND\"`?\n"),
            (
                "x --param A d",
                "error: unknown option `--param`\n  did you mean `--parameter NAME \"DESC\" [key=value…]`?\n",
            ),
            ("x --zzzz", "error: unknown option `--zzzz`\n  cycod help tool add\n"),
            ("x -z", "error: unknown option `-z`\n  cycod help tool add\n"),
            ("x --bash a --bash b", "error: `--bash` is given twice\n  --bash \"COMMAND\"\n"),
            ("x --editor=vi", "error: `--editor` takes no value\n"),
            (
                "x --bash echo hi",
                "error: unexpected word `hi`: the tool is called `x` already\n  put quotes around a value that holds spaces\n",
            ),
            ("x --env-var A", "error: `--env-var` takes NAME=VALUE, not `A`\n  --env-var NAME=VALUE\n"),
            (
                "x --parameter A required=true",
                "error: parameter `A` has no description: `required=…` follows its name\n  --parameter A \"what it is for\" required=true\n",
            ),
            (
                "x --parameter A d requird=true",
                "error: `--parameter` `A`: unknown setting `requird`\n  did you mean `required=true`?\n",
            ),
            (
                "x --parameter A d minimum=1",
                "error: `--parameter` `A`: unknown setting `minimum`\n  did you mean `min=1`?\n",
            ),
            ("x --parameter A d min=1 min=2", "error: `--parameter` gives `min` of `A` twice\n"),
            (
                "x --parameter A d --parameter A e",
                "error: `--parameter` gives `A` twice\n  --parameter NAME \"DESC\" [key=value…]\n",
            ),
            ("x --step a b --step a c", "error: `--step` gives `a` twice\n  --step NAME \"COMMAND\"\n"),
        ] {
            let error = parse(words(line)).map(|_| ()).expect_err(line);
            let got = format!(
                "error: {}\n{}",
                error.message,
                error.hints.iter().map(|hint| format!("  {hint}\n")).collect::<String>()
            );
            assert_eq!(got, expect, "{line}");
            assert_eq!(error.exit, crate::command_error::exit::USAGE, "{line}");
        }
    }

    #[test]
    fn scopes() {
        for (line, expect) in [
            ("x", Ok(Scope::Local)),
            ("x -u", Ok(Scope::User)),
            ("x -u --scope user", Ok(Scope::User)),
            ("x --scope global", Ok(Scope::Global)),
            ("x -a", Err(())),
            ("x -gu", Err(())),
            ("x --scope moon", Err(())),
        ] {
            let request = parse(words(line)).expect("the words are known");
            assert_eq!(request.scope().map_err(|_| ()), expect, "{line}");
        }
    }

    /// Whatever the words are, they are turned away or make a document that reads back.
    #[test]
    fn any_words_in_any_order() {
        let words = [
            "x",
            "--step",
            "--parameter",
            "--test",
            "--parallel",
            "--expect-output",
            "--bash=-x",
            "--tag",
            "a=b",
            "enum=[1",
            "default=\u{7}|\n",
            "--",
            "-",
            "-u",
            "--=",
            "",
            "--timeout=1e999",
        ];
        for first in words {
            for second in words {
                for third in words {
                    for fourth in words {
                        if let Ok(request) = parse([first, second, third, fourth].map(OsString::from)) {
                            let text = request.draft.to_yaml("x");
                            let (root, problems) = cycod_syntax::yaml::parse(
                                &cycod_engine::diagnostic::SourceFile::new("x.yaml", text.as_str()),
                            );
                            assert!(
                                root.is_some() && problems.is_empty(),
                                "{first:?} {second:?} {third:?} {fourth:?}\n{text}{problems:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// An option whose text says what it does nothing with would be a stub.
    #[test]
    fn every_option_changes_the_request() {
        for option in OPTIONS {
            let opener = match option.place {
                Place::In(Group::Step) => "--step s c",
                Place::In(Group::Test) => "--test t d",
                _ => "",
            };
            let values = match option.takes {
                Takes::Nothing(_) => "",
                Takes::One("NAME=VALUE", _) => "A=b",
                Takes::One(..) => "user",
                Takes::Two(..) | Takes::Parameter => "a b",
            };
            let with = parse(words(&format!("{opener} --{} {values}", option.name)));
            let without = parse(words(opener));
            assert_ne!(
                format!("{:?}", with.expect(option.name)),
                format!("{:?}", without.expect(opener)),
                "--{}",
                option.name
            );
        }
    }
}
