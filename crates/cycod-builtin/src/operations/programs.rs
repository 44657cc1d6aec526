use std::time::Duration;

use cycod_run::{Execute, LineFollower};
use serde_json::json;

use super::Answer;
use crate::{arguments::Arguments, failure::Failure, git::Git, said::answer, say};

/// The longest command line; the system allows a little more for one argument.
const LONGEST: usize = 120 << 10;

pub(crate) fn bash_execution(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let command = arguments.needed("command", "bash_execution")?;
    if command.len() > LONGEST {
        let (size, most) = (say::size(command.len() as u64), say::size(LONGEST as u64));
        return Err(Failure::new(format!(
            "`command` has {size}, and a command line at most {most}: write it to a file and run that"
        )));
    }
    let limit = arguments.number("timeout");
    let (program, words) = match arguments.has("args") {
        true => (command, arguments.texts("args")),
        false => ("bash", ["--noprofile", "--norc", "-c", command].map(str::to_owned).to_vec()),
    };
    let execute = Execute {
        program: program.to_owned(),
        arguments: words,
        timeout: limit.map(Duration::from_millis),
        ..Execute::default()
    };
    let mut lines = LineFollower::new(follow);
    let executed = arguments.platform().execute(&execute, &mut |stream, bytes| lines.take(stream, bytes))?;
    arguments.until().check_stop()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let structured = json!({
        "exit_code": executed.exit_code,
        "stdout": text(&executed.stdout),
        "stderr": text(&executed.stderr),
        "timed_out": executed.timed_out,
        "truncated": executed.truncated,
    });
    Ok(Answer { structured: Some(structured), ..answer(executed, limit) })
}

pub(crate) fn git(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let operation = arguments.needed("operation", "git")?;
    let git = Git::here(arguments)?;
    let executed = git.run(operation, &arguments.texts("args"), &mut LineFollower::new(follow))?;
    arguments.until().check_stop()?;
    Ok(answer(executed, None))
}
