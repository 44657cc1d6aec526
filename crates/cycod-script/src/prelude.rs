use std::{ffi::OsString, path::Path};

use cycod_definition::Runtime;

use crate::codec::Codec;

/// Runs a command with its channel over the standard streams: what it reads as input arrives at descriptor 4, what it
/// writes to descriptor 3 leaves as output. Its own input is empty, and all that it prints goes to the error stream.
const OVER_STANDARD_STREAMS: &str = r#"exec "$@" 3>&1 4<&0 1>&2 </dev/null"#;

/// What an interpreter is started with to become a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prelude {
    /// The program, looked up in the search path.
    pub program: &'static str,
    /// Its arguments before the file.
    pub options: &'static [&'static str],
    /// What a file that holds `text` is to be called.
    pub file_name: &'static str,
    /// The program text that serves calls.
    pub text: &'static str,
    /// How it is talked to.
    pub codec: Codec,
    /// Whether it keeps files for itself in the temporary directory, which it removes only when it ends in order.
    pub keeps_files: bool,
}

/// Returns what makes a worker of an interpreter; `None` for the script engine, which is this program.
pub fn prelude(runtime: Runtime) -> Option<Prelude> {
    let program = runtime.program()?;
    Some(match runtime {
        Runtime::Engine => return None,
        // Neither the workspace's `.Rprofile` nor its `.Renviron` is read: they are code that nobody trusted. The user's own
        // library is found all the same, because R's own `Renviron` names it.
        Runtime::R => Prelude {
            program,
            options: &["--vanilla"],
            file_name: "worker.R",
            text: concat!(
                // R reads a script as if it were typed: it looks at an expression again with each of its lines, and what is
                // not read yet is the input of handlers. So the first line reads all others, as one text.
                "eval(parse(text = readLines(stdin(), warn = FALSE), keep.source = FALSE))\n",
                include_str!("preludes/stand-ins.R"),
                include_str!("preludes/worker.R")
            ),
            codec: Codec::R,
            keeps_files: true,
        },
        // Not `-I`: the user's packages and virtual environments are wanted.
        Runtime::Python => Prelude {
            program,
            options: &["-u"],
            file_name: "worker.py",
            text: include_str!("preludes/worker.py"),
            codec: Codec::Json,
            keeps_files: false,
        },
        Runtime::Node => Prelude {
            program,
            options: &["--no-warnings", "--experimental-vm-modules", "--experimental-import-meta-resolve"],
            file_name: "worker.mjs",
            text: include_str!("preludes/worker.mjs"),
            codec: Codec::Json,
            keeps_files: false,
        },
    })
}

impl Prelude {
    /// Returns the arguments that make a worker of the interpreter: with its channel at the descriptors 3 and 4, it serves calls.
    pub fn arguments(&self, file: &Path) -> Vec<OsString> {
        self.options.iter().map(Into::into).chain([file.into()]).collect()
    }

    /// Returns the arguments for `sh` that start `program`, a path, on `file` with its channel over the standard streams.
    pub fn shell_arguments(&self, program: &Path, file: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["-c", OVER_STANDARD_STREAMS, "sh"].map(Into::into).into();
        words.push(program.into());
        words.extend(self.arguments(file));
        words
    }
}
