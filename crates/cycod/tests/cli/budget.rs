//! How many system calls we make for one tool: a count does not depend on how busy the machine is, and what creeps in shows.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _, pipe},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::support::Place;

/// What each way of calling a tool may cost, as `NAME NUMBER`.
const BUDGET: &str = include_str!("../budget.txt");

/// What a client says first over MCP.
const HANDSHAKE: [&str; 2] = [
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
        \"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
];

fn budget(name: &str) -> usize {
    let line = BUDGET.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("budget.txt has no `{name}`"))
}

fn place() -> Place {
    let place = Place::with_tool(
        "echo",
        "description: Say a word\nbash: echo {WORD}\nparameters: {WORD: {type: string, description: what}}\ntags: [read]\n",
    );
    fs::create_dir(place.project().join(".git")).expect("a directory");
    place
}

/// The standard input and output of a program: its ends, and ours.
struct Streams {
    theirs: [OwnedFd; 2],
    input: File,
    output: File,
}

impl Streams {
    /// As most clients connect them.
    fn pipes() -> Self {
        let ((stdin, input), (output, stdout)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        Self::of([stdin.into(), stdout.into()], input.into(), output.into())
    }

    /// As programs of Node.js connect them.
    fn sockets() -> Self {
        let pair = || UnixStream::pair().expect("sockets");
        let ((stdin, input), (stdout, output)) = (pair(), pair());
        Self::of([stdin.into(), stdout.into()], input.into(), output.into())
    }

    fn of(theirs: [OwnedFd; 2], input: OwnedFd, output: OwnedFd) -> Self {
        Self { theirs, input: input.into(), output: output.into() }
    }
}

/// Runs a command under `strace`, and returns the calls that our own processes made: not the programs that they started. Each
/// line is written when the answer to the one before has come and what follows that answer is done; at an empty one, the files
/// that were written so far settle.
#[expect(clippy::disallowed_methods, reason = "the tests start the program under test")]
fn calls(place: &Place, arguments: &[&str], streams: Streams, lines: &[String]) -> Vec<&'static str> {
    let ours = place.command(arguments);
    // Not in the place, which a server watches.
    let beside = tempfile::tempdir().expect("a directory");
    let trace = beside.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(&trace).arg(ours.get_program()).args(ours.get_args()).env_clear();
    strace.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", "/usr/bin:/bin");
    strace.current_dir(ours.get_current_dir().expect("a directory"));
    let Streams { theirs: [stdin, stdout], mut input, output } = streams;
    let mut running = strace.stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().expect("strace");
    // It has our copies of the program's ends.
    drop(strace);
    let mut answers = BufReader::new(output).lines();
    for line in lines {
        if line.is_empty() {
            thread::sleep(cycod_file::SETTLING + Duration::from_millis(200));
        }
        input.write_all(line.as_bytes()).expect("it reads");
        if line.contains("\"id\"") {
            answers.next().expect("an answer").expect("a line");
            quiet(&trace);
        }
    }
    drop(input);
    answers.for_each(drop);
    let status = running.wait().expect("it ends");
    assert!(status.success(), "{status}");
    let trace = fs::read_to_string(trace).expect("a trace");
    let call = |line: &'static str| line.split_once(' ').map(|(pid, call)| (pid, call.trim_start()));
    let all: Vec<(&str, &str)> = trace.leak().lines().filter_map(call).collect();
    let (main, _) = all[0];
    let programs: BTreeSet<&str> =
        all.iter().filter(|(pid, call)| *pid != main && call.starts_with("execve(")).map(|(pid, _)| *pid).collect();
    // The standard library of a debug build checks each descriptor that it closes.
    let counts = |call: &str| !call.starts_with('<') && !call.starts_with("+++") && !call.contains("F_GETFD");
    all.iter().filter(|(pid, call)| !programs.contains(pid) && counts(call)).map(|(_, call)| *call).collect()
}

/// Waits until a program makes no system calls: what it does after an answer then counts for that answer, not for the next one.
fn quiet(trace: &Path) {
    let length = || fs::metadata(trace).expect("a trace").len();
    let mut before = length();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(30));
        let now = length();
        if now == before {
            return;
        }
        before = now;
    }
}

/// The number of calls, less those that depend on who started us: each process above us is opened, read and closed.
fn spent(calls: &[&str]) -> usize {
    let is_ancestor = |call: &&&str| call.starts_with("openat(AT_FDCWD, \"/proc/") && call.contains("/stat\"");
    calls.len() - 3 * calls.iter().filter(is_ancestor).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_of_one_tool_keeps_its_budget() {
    let place = place();
    let run = ["tool", "run", "echo", "WORD=hi"];
    // The first one makes what the others find.
    (0..2).for_each(|_| assert_eq!(place.run(&run).code(), 0));
    // A run that takes longer than usual writes a journal, and costs more.
    let least = (0..5).map(|_| spent(&calls(&place, &run, Streams::pipes(), &[]))).min();
    let (spent, most) = (least.expect("a run"), budget("tool-run"));
    assert!(spent <= most, "{spent} system calls where {most} are allowed");
    assert!(spent + 60 > most, "the budget can be lowered: {spent} system calls where {most} are allowed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_over_mcp_keeps_its_budget() {
    call_over(Streams::pipes());
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_over_sockets_keeps_the_same_budget() {
    call_over(Streams::sockets());
}

#[cfg(target_os = "linux")]
fn call_over(streams: Streams) {
    let place = place();
    let conversation = |calls: usize| {
        let call = |id: usize| {
            let call = "\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"WORD\":\"hi\"}}";
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{call}}}\n")
        };
        let beginning = HANDSHAKE.map(str::to_owned);
        let first = beginning.into_iter().chain([call(1), String::new(), call(2), String::new()]);
        first.chain((3..=calls).map(call)).collect::<Vec<_>>()
    };
    let calls = calls(&place, &["mcp", "serve"], streams, &conversation(60));
    let is_answer = |(_, call): &(usize, &&str)| {
        (call.starts_with("write(") || call.starts_with("sendto(")) && call.contains("jsonrpc")
    };
    let answers: Vec<usize> = calls.iter().enumerate().filter(is_answer).map(|(at, _)| at).collect();
    // The first calls find nothing prepared, and files that have just been written. One that takes long has a journal as well.
    let spans = answers[10..].windows(2).map(|pair| &calls[pair[0]..pair[1]]);
    let (slow, quick): (Vec<_>, Vec<_>) = spans.partition(|span| span.iter().any(|call| call.contains("/journals/")));
    let mut each: Vec<usize> = if quick.is_empty() { &slow } else { &quick }.iter().map(|span| span.len()).collect();
    each.sort_unstable();
    let (spent, most) = (each[each.len() / 2], budget("mcp-call"));
    assert!(spent <= most, "{spent} system calls where {most} are allowed: {each:?}");
    assert!(spent + 60 > most, "the budget can be lowered: {spent} system calls where {most} are allowed: {each:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_tools_reads_what_is_trusted_once() {
    let opened_for = |tools: usize| {
        let place = place();
        let text = fs::read_to_string(place.project().join(".cycod/tools/echo.yaml")).expect("the tool");
        for index in 1..tools {
            fs::write(place.project().join(format!(".cycod/tools/echo-{index}.yaml")), &text).expect("a tool");
        }
        let [initialize, initialized] = HANDSHAKE;
        let lines = [initialize, initialized, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"];
        let calls = calls(&place, &["mcp", "serve"], Streams::pipes(), &lines.map(str::to_owned));
        calls.iter().filter(|call| call.contains("/trust.json\"")).count()
    };
    let (few, many) = (opened_for(2), opened_for(60));
    assert!(many < few + 30, "{few} times for two tools, {many} for sixty");
}
