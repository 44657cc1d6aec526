//! Real programs with hostile values: where a value may be placed, nothing acts.

use cycod_shell::Shell;

use super::{
    lab::{self, Judged, Lab},
    scripts::{self, Choices, Program, Script},
};

/// Programs that act on nothing but what they are given, and end.
const ACTORS: &str = "\
    awk base64 basename bash bc busybox cat chmod cmp column comm cp cpio csplit curl cut date dc diff \
    dirname du echo ed egrep env expand expr fgrep file find fmt fold gawk git grep gzip head jq join \
    less ln ls lua5.4 m4 make mawk md5sum mkdir mktemp mv nice nl nohup od openssl parallel paste patch \
    perl php pr printf readlink realpath rev rg rsync ruby scp script sed seq setsid sh sha256sum shuf \
    sort split sqlite3 ssh stat stdbuf strings tac tail tar tclsh tee test timeout touch tr tsort uniq \
    unzip wc wget xargs xxd xz zip zsh";

/// Values that act when something reads them as more than text. Each would make the file `PWNED`.
const PAYLOADS: [&str; 68] = [
    "; touch PWNED;",
    "$(touch PWNED)",
    "`touch PWNED`",
    "| touch PWNED",
    "& touch PWNED &",
    "\ntouch PWNED\n",
    "'; touch PWNED; '",
    "\"; touch PWNED; \"",
    "> PWNED",
    "x > PWNED",
    "a[$(touch PWNED)]",
    "a[$(touch PWNED)]=1",
    "x -exec touch PWNED ;",
    ". -maxdepth 0 -exec touch PWNED ;",
    "--output=PWNED",
    "-oPWNED",
    "-o PWNED",
    "--exec=touch PWNED",
    "-exec",
    "--checkpoint-action=exec=touch PWNED",
    "--to-command=touch PWNED",
    "--use-compress-program=touch PWNED",
    "-I touch PWNED",
    "--pre=touch",
    "--open-files-in-pager=touch PWNED;",
    "-oProxyCommand=touch PWNED",
    "--eval=$(shell touch PWNED)",
    "$(shell touch PWNED)",
    "+!touch PWNED",
    "+:!touch PWNED",
    "-c:!touch PWNED",
    "-e system('touch PWNED')",
    "system('touch PWNED')",
    "BEGIN { system(\"touch PWNED\") }",
    "1e touch PWNED",
    "w PWNED",
    "!touch PWNED",
    "|touch PWNED",
    "ext::sh -c touch% PWNED",
    ".shell touch PWNED",
    "import os; os.system('touch PWNED')",
    "require('fs').writeFileSync('PWNED','')",
    "-writefile PWNED",
    "sh -c 'touch PWNED'",
    "*",
    "~/PWNED",
    "a,sh,-c,touch${IFS}PWNED",
    ",sh,-c,touch${IFS}PWNED",
    "x,-exec,sh,-c,touch${IFS}PWNED,;",
    ",-oPWNED",
    "x--output=PWNED",
    "\\055oPWNED",
    "\\0055-output=PWNED",
    "\\x2doPWNED",
    "x\\n-oPWNED",
    "\\073touch PWNED",
    "x/-oPWNED",
    "x,-oPWNED",
    "  -oPWNED",
    "\\-oPWNED",
    "x -oPWNED",
    "a\n-oPWNED",
    "DENWPo-",
    "a,oPWNED",
    "/oPWNED",
    "xx-oPWNED",
    "a/x,-oPWNED",
    "x'\" -oPWNED",
];

/// Scripts that are refused, and values that would act in them.
const SONGS: [(&str, &str); 5] = [
    ("sh -c \"{X}\"", "touch PWNED"),
    ("find . -maxdepth 0 \"{X}\" touch PWNED ';'", "-exec"),
    ("echo \"{X}\" > f; cat f | sh", "touch PWNED"),
    ("env v=\"{X}\" sh -c 'eval \"$v\"'", "touch PWNED"),
    ("n=\"{X}\"; echo $((n + 1))", "a[$(touch PWNED)]"),
];

/// Values of the catalogue of attacks that would make that file, too.
fn of_catalogue() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../attacks/catalogue.txt").lines();
    let values = lines.filter_map(|line| line.strip_prefix("    value "));
    values.filter(|value| value.contains("PWNED") && *value != "PWNED" && !value.contains('\\'))
}

/// What there is to be tried.
pub(crate) struct Canary {
    programs: Vec<Program>,
    values: Vec<&'static str>,
}

/// What was seen of one script.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Values could be placed, by what was judged without them.
    pub(crate) is_placeable: bool,
    /// How many values were placed and run.
    pub(crate) runs: usize,
}

impl Canary {
    pub(crate) fn new() -> Self {
        let is_actor = |program: &Program| {
            ACTORS.split(' ').any(|name| name == program.name()) && lab::found(program.name()).is_some()
        };
        let programs = scripts::programs().into_iter().filter(is_actor).collect();
        Self { programs, values: PAYLOADS.into_iter().chain(of_catalogue()).collect() }
    }

    /// That hostile values do act here, where they are only quoted.
    pub(crate) fn sings(lab: &Lab) {
        for (text, value) in SONGS {
            let script = Script::of(text);
            assert!(Judged::new(&script).placed(value).is_none(), "{text} takes {value:?}");
            let quoted = format!("X={}\n{}", scripts::quoted(value), text.replace("{X}", "${X}"));
            assert!(lab.run(Shell::Bash, &quoted).join("PWNED").is_file(), "{value:?} does not act in {text}");
        }
    }

    /// Tries the script that these bytes make. The error shows the one that acted.
    pub(crate) fn check(&self, lab: &Lab, bytes: &[u8]) -> Result<Seen, String> {
        let mut choices = Choices::new(bytes);
        let chosen: Vec<&str> = (0..3).map(|_| self.values[choices.below(self.values.len())]).collect();
        let programs: Vec<&Program> = self.programs.iter().collect();
        let script = scripts::script(&mut choices, &programs);
        let judged = Judged::new(&script);
        // A directory is made by who is told its name: `git init` of the last part of a path.
        let acts = |text: &str| lab.run(script.shell, text).join("PWNED").is_file();
        let mut seen = Seen { is_placeable: judged.is_placeable(), ..Seen::default() };
        for value in chosen.into_iter().filter(|_| seen.is_placeable) {
            // One word of several may name the file.
            if script.splits && value.contains(char::is_whitespace) {
                continue;
            }
            let Some(text) = judged.placed(value) else { continue };
            seen.runs += 1;
            if acts(&text) {
                return Err(format!("{:?} with {value:?}\n{}\n--- placed\n{text}", script.shell, script.text));
            }
        }
        Ok(seen)
    }
}
