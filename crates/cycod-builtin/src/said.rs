//! What programs said, put together when they have ended.

use cycod_run::Executed;

use crate::operations::Answer;

/// The answer of a program that has ended: what it printed, then what else it said, then how it ended if that was badly.
pub(crate) fn answer(executed: Executed, limit: Option<u64>) -> Answer {
    let Executed { exit_code, mut stdout, stderr, timed_out, truncated } = executed;
    let is_error = exit_code != 0;
    if !stderr.is_empty() {
        if !stdout.is_empty() {
            end_line(&mut stdout);
            stdout.extend_from_slice(b"--- stderr ---\n");
        }
        stdout.extend_from_slice(&stderr);
    }
    if truncated {
        end_line(&mut stdout);
        stdout.extend_from_slice(b"--- there was more than is kept ---\n");
    }
    if is_error {
        end_line(&mut stdout);
        let end = match limit {
            Some(limit) if timed_out => format!("ended after {limit} ms: raise `timeout` if it needs longer\n"),
            _ if timed_out => "ended because its time was over\n".to_owned(),
            _ => format!("exit code {exit_code}\n"),
        };
        stdout.extend_from_slice(end.as_bytes());
    }
    Answer { output: stdout, structured: None, is_error }
}

fn end_line(text: &mut Vec<u8>) {
    if text.last().is_some_and(|&last| last != b'\n') {
        text.push(b'\n');
    }
}
