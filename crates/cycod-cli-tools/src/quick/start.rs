//! How a script is started: its first line says it, or else the ending of its name.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_definition::Platform as System;
use cycod_run::{Execute, ToolPlatform};

/// How many bytes of a script are looked at.
const HEAD: u64 = 512;

/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// The first version of Node.js that runs TypeScript.
const NODE_WITH_TYPES: (u32, u32) = (22, 6);

/// The endings of scripts with what runs them; the script's path comes after it.
const ENDINGS: [(&[&str], &[&str]); 14] = [
    (&["py", "pyw"], &["python3"]),
    (&["js", "mjs", "cjs"], &["node"]),
    (&["ts", "mts", "cts"], &["node", "--experimental-strip-types", "--disable-warning=ExperimentalWarning"]),
    (&["sh"], &["sh"]),
    (&["bash"], &["bash"]),
    (&["zsh"], &["zsh"]),
    (&["rb"], &["ruby"]),
    (&["pl"], &["perl"]),
    (&["r", "R"], &["Rscript"]),
    (&["ps1"], &["pwsh", "-NoProfile", "-File"]),
    (&["lua"], &["lua"]),
    (&["php"], &["php"]),
    (&["jl"], &["julia"]),
    (&["go"], &["go", "run"]),
];

/// A program with the arguments that come before those of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// Where it works; where the tool works when nothing is said.
    pub(super) directory: Option<PathBuf>,
    pub(super) environment: Vec<(String, String)>,
}

impl Start {
    /// A program with arguments.
    pub(super) fn of(program: impl Into<String>, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { program: program.into(), arguments, ..Self::default() }
    }

    /// How the script in a file is started, whose path is free of links, or why nobody can tell.
    pub(super) fn script(platform: &ToolPlatform<'_>, path: &Path) -> Result<Self, String> {
        let file = platform.open(path).map_err(|error| format!("it cannot be read: {error}"))?;
        let metadata = file.metadata().map_err(|error| format!("it cannot be accessed: {error}"))?;
        if !metadata.is_file() {
            return Err("it is a pipe, a socket or a device, not a script".to_owned());
        }
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head).map_err(|error| format!("it cannot be read: {error}"))?;
        let system = platform.host().platform;
        let shown = path.to_str().ok_or_else(|| "its path is not valid Unicode".to_owned())?;
        if is_program(&head, path, system) {
            return if is_executable(&metadata) {
                Ok(Self::of(shown, &[]))
            } else {
                Err("it is a program that is not executable: fix it with `chmod +x`".to_owned())
            };
        }
        let mut start = match first_line(&head, system)? {
            Some(start) => start,
            None => by_ending(platform, path)?,
        };
        start.arguments.push(shown.to_owned());
        Ok(start)
    }
}

/// The name of Python's interpreter on a system.
pub(super) fn python(system: System) -> &'static str {
    if system == System::Windows { "python" } else { "python3" }
}

/// Whether a script's name ends as one that can be run does, without looking into it.
pub(super) fn is_known_ending(path: &Path) -> bool {
    ending(path).is_some()
}

fn ending(path: &Path) -> Option<&'static [&'static str]> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, starts)| *starts)
}

fn by_ending(platform: &ToolPlatform<'_>, path: &Path) -> Result<Start, String> {
    let Some(words) = ending(path) else {
        let endings: Vec<String> =
            ENDINGS.iter().flat_map(|(endings, _)| *endings).map(|ending| format!(".{ending}")).collect();
        return Err(format!(
            "it does not define what runs it: begin it with a line such as `#!/usr/bin/env python3`, or let its name end in one \
             of {}",
            endings.join(" ")
        ));
    };
    match words[0] {
        "python3" => Ok(Start::of(python(platform.host().platform), &[])),
        "node" if words.len() > 1 => {
            node_runs_types(platform)?;
            Ok(Start::of("node", &words[1..]))
        }
        program => Ok(Start::of(program, &words[1..])),
    }
}

/// Refuses TypeScript where Node.js is too old for it.
fn node_runs_types(platform: &ToolPlatform<'_>) -> Result<(), String> {
    let execute = Execute {
        program: "node".to_owned(),
        arguments: vec!["--version".to_owned()],
        timeout: Some(VERSION_LIMIT),
        ..Execute::default()
    };
    let executed = platform.execute(&execute, &mut |_, _| {}).map_err(|refusal| refusal.why)?;
    let said = String::from_utf8_lossy(&executed.stdout).trim().to_owned();
    if node_version(&said).is_some_and(|version| version >= NODE_WITH_TYPES) {
        return Ok(());
    }
    let (major, minor) = NODE_WITH_TYPES;
    Err(format!(
        "TypeScript needs Node.js {major}.{minor} or newer, and this is {said}: install a newer one, compile the script to \
         JavaScript, or begin it with a line that names what runs it, such as `#!/usr/bin/env -S npx tsx`"
    ))
}

fn node_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix('v')?.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Whether the system itself can start a file that begins so.
fn is_program(head: &[u8], path: &Path, system: System) -> bool {
    match system {
        System::Windows => path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exe")),
        System::Macos => {
            let magics: [[u8; 4]; 3] = [[0xCF, 0xFA, 0xED, 0xFE], [0xCE, 0xFA, 0xED, 0xFE], [0xCA, 0xFE, 0xBA, 0xBE]];
            magics.iter().any(|magic| head.starts_with(magic))
        }
        System::Linux => head.starts_with(b"\x7fELF"),
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// What a first line such as `#!/usr/bin/env python3` asks for, also where the file may not be executed.
fn first_line(head: &[u8], system: System) -> Result<Option<Start>, String> {
    let Some(rest) = head.strip_prefix(b"#!") else { return Ok(None) };
    let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    if end == rest.len() && head.len() as u64 == HEAD {
        return Err(format!("its first line is longer than {HEAD} bytes"));
    }
    let line = std::str::from_utf8(&rest[..end]).map_err(|_| "its first line is not valid UTF-8".to_owned())?.trim();
    // As the system reads it: the program, and all that follows as one argument.
    let (program, argument) = match line.split_once([' ', '\t']) {
        Some((program, argument)) => (program, argument.trim_start()),
        None => (line, ""),
    };
    if program.is_empty() {
        return Err("its first line names no program after `#!`".to_owned());
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if name != "env" {
        let program = if system == System::Windows { name } else { program };
        return Ok(Some(Start::of(program, if argument.is_empty() { &[] } else { std::slice::from_ref(&argument) })));
    }
    let words: Vec<&str> = match argument.strip_prefix("-S") {
        Some(words) if words.contains(['"', '\'', '\\', '$']) => {
            return Err("its first line has quotes or variables after `env -S`, which are not read here".to_owned());
        }
        Some(words) => words.split_whitespace().collect(),
        None if argument.is_empty() => Vec::new(),
        None => vec![argument],
    };
    let plain = |word: &&str| !word.starts_with('-') && !word.contains('=');
    match words.split_first() {
        Some((program, arguments)) if plain(program) => Ok(Some(Start::of(*program, arguments))),
        _ => Err(format!("its first line asks for `{line}`, of which only `env PROGRAM` and `env -S` are read here")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn first_lines() {
        let check = |line: &str, expect: Expect| {
            let told = match first_line(line.as_bytes(), System::Linux) {
                Ok(Some(Start { program, arguments, .. })) => format!("{program} {arguments:?}"),
                Ok(None) => "nothing".to_owned(),
                Err(why) => why,
            };
            expect.assert_eq(&told);
        };
        check("print(1)\n", expect!["nothing"]);
        check("", expect!["nothing"]);
        check("#!/usr/bin/env python3\nprint(1)\n", expect!["python3 []"]);
        check("#!/usr/bin/env python3\r\n", expect!["python3 []"]);
        check("#! /bin/sh -eu -x\n", expect![[r#"/bin/sh ["-eu -x"]"#]]);
        check("#!/usr/bin/python3", expect!["/usr/bin/python3 []"]);
        check("#!/usr/bin/env -S deno run --allow-read\n", expect![[r#"deno ["run", "--allow-read"]"#]]);
        check(
            "#!/usr/bin/env -S 'a b'\n",
            expect!["its first line has quotes or variables after `env -S`, which are not read here"],
        );
        check(
            "#!/usr/bin/env A=1 sh\n",
            expect![
                "its first line asks for `/usr/bin/env A=1 sh`, of which only `env PROGRAM` and `env -S` are read here"
            ],
        );
        check("#!\n", expect!["its first line names no program after `#!`"]);
        check(&format!("#!{}", "x".repeat(HEAD as usize - 2)), expect!["its first line is longer than 512 bytes"]);
    }

    #[test]
    fn versions_of_node() {
        assert_eq!(node_version("v20.20.2"), Some((20, 20)));
        assert_eq!(node_version("v22.6.0-nightly"), Some((22, 6)));
        assert_eq!(node_version("node 22"), None);
    }
}
