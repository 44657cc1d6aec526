//! The program's figures, each beside its floor in the same run: `cargo bench -p cycod --bench figures`.
//!
//! Times of different runs and machines say nothing about each other; the ratios do. A figure that misses its
//! aim is marked, and nothing fails: what fails a build belongs in a test.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench starts programs and prints what it measured"
)]

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use cycod_engine::{Engine, Ignore, Nobody, Surface, host};
use cycod_shell::{Kind, Mode, Piece, Shell, Value, Verdict, Words, place};
use cycod_syntax::template::{KnownNames, TemplatePart, parse};

/// The program under measurement, built with the bench profile: a copy, as an installed one is. The system keeps the file that the
/// linker wrote in single pages, which take longer to map than those of a file that was copied.
static CYCOD: OnceLock<PathBuf> = OnceLock::new();

fn main() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path();
    let program = CYCOD.get_or_init(|| root.join("cycod"));
    fs::copy(env!("CARGO_BIN_EXE_cycod"), program).expect("a copy of the program");
    // The aims are times of a machine on which `bash -c` takes 1.05 ms; this one may be slower or busy.
    let pace = median((0..200).map(|_| timed(bash()))).as_secs_f64() / 0.001_05;
    println!("this machine takes {pace:.2} of the reference's time; aims in time are stretched by that");
    println!("{:<44} {:>12} {:>12} {:>8}  aim", "figure", "measured", "floor", "ratio");
    let aim = |milliseconds: f64| Duration::from_secs_f64(milliseconds * pace / 1e3);
    version(root, aim(0.35));
    one_tool(root);
    five_thousand_tools(root, aim);
    many_steps(root, aim(15.0));
    a_gigabyte(root);
    templates();
}

/// `cycod --version` beside a static Rust program that does nothing.
fn version(root: &Path, more: Duration) {
    let source = root.join("empty.rs");
    fs::write(&source, "fn main() {}\n").expect("a source file");
    let empty = root.join("empty");
    let options = ["-O", "-C", "target-feature=+crt-static", "-o"];
    let built = Command::new("rustc").args(options).arg(&empty).arg(&source).status().expect("rustc");
    assert!(built.success());
    let [ours, floor] = paired(300, [&|| command(root, &["--version"]), &|| Command::new(&empty)]);
    row("cycod --version", ours, floor, "within 0.35 ms of the floor", ours < floor + more);
    faults("  its page faults", command(root, &["--version"]), Command::new(&empty));
}

/// A run of one tool from a cold process, beside the shell alone.
fn one_tool(root: &Path) {
    let project = project(root, "one", 1);
    let run = || command(&project, &["tool", "run", "tool-0", "WHO=you"]);
    // The first runs make what the others find.
    (0..3).for_each(|_| quiet(run()));
    let [ours, floor] = paired(300, [&run, &bash]);
    row("tool run, 1 tool (floor: bash -c)", ours, floor, "2.3 x", ours < floor.mul_f64(2.3));
    faults("  its page faults", run(), bash());
    // As the tests of imports have it: `scripts/runners.sh`.
    let just = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/runners/bin/just");
    if !just.exists() {
        println!("{:<44} {:>12}", "tool run, 1 tool (peer: just)", "no just here");
        return;
    }
    write(&project.join("justfile"), "set quiet\ngreet WHO:\n  echo \"Hello, {{WHO}}\"\n");
    let peer = || {
        let mut command = Command::new(&just);
        command.args(["--shell", "bash", "--shell-arg", "-c", "greet", "you"]).current_dir(&project);
        command
    };
    let [ours, peer] = paired(300, [&run, &peer]);
    row("tool run, 1 tool (peer: just)", ours, peer, "ahead of it", ours < peer);
}

fn five_thousand_tools(root: &Path, aim: impl Fn(f64) -> Duration) {
    let project = project(root, "many", 5000);
    let list = || command(&project, &["tool", "list", "--format", "simple"]);
    let cold = timed(list());
    let reading = read_all(&project);
    row("tool list, 5,000 new files (floor: read)", cold, reading, "0.5 s", cold < aim(500.0));
    // The index trusts nothing that is as young as itself; a second look settles it.
    thread::sleep(Duration::from_millis(1100));
    quiet(list());
    let [warm, floor] = paired(
        30,
        [&list, &|| {
            let mut ls = Command::new("ls");
            ls.arg("-l").arg(project.join(".cycod/tools"));
            ls
        }],
    );
    row("tool list, 5,000 files, warm (floor: ls -l)", warm, floor, "30 ms", warm < aim(30.0));
    let [ours, floor] = paired(100, [&|| command(&project, &["tool", "run", "tool-4321", "WHO=you"]), &bash]);
    row("tool run, 5,000 tools (floor: bash -c)", ours, floor, "4 x", ours < floor * 4);
}

/// A hundred steps, eight beside each other, beside the same programs started by eight threads.
fn many_steps(root: &Path, more: Duration) {
    let mut tool = String::from("description: d\ntags: [read]\nsteps:\n");
    for index in 0..100 {
        let wait = if index < 8 { String::new() } else { format!(", wait-for: [s{}]", index - 8) };
        writeln!(tool, "  - {{name: s{index}, parallel: true, run: /bin/true{wait}}}").expect("to a string");
    }
    let project = root.join("steps");
    write(&project.join(".cycod/tools/t.yaml"), &tool);
    let mut here = host::current().expect("a working directory");
    here.environment.insert("CYCOD_TRUSTED_DIRECTORIES".into(), project.clone().into());
    here.working_directory = project;
    let engine = Engine::open(here);
    let tool = engine.tool("t").expect("the tool loads");
    let ours = median((0..20).map(|_| {
        let plan = engine.plan(&tool, Vec::new(), None).expect("it can be planned");
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let control = engine.control().expect("descriptors");
        let began = Instant::now();
        assert!(engine.run(approved, &control, &mut Ignore).success);
        began.elapsed()
    }));
    let floor = median((0..20).map(|_| {
        let began = Instant::now();
        thread::scope(|scope| {
            for lane in 0..8 {
                scope.spawn(move || {
                    for _ in (lane..100).step_by(8) {
                        let piped = Command::new("/bin/true")
                            .stdin(Stdio::null())
                            .stdout(Stdio::piped())
                            .stderr(Stdio::piped())
                            .output();
                        assert!(piped.expect("it starts").status.success());
                    }
                });
            }
        });
        began.elapsed()
    }));
    row("100 steps, 8 wide (floor: 100 spawns)", ours, floor, "150 us a step above the floor", ours < floor + more);
}

/// A gigabyte through a step, beside `cat`.
fn a_gigabyte(root: &Path) {
    let project = root.join("stream");
    let bytes: u64 = 1 << 30;
    write(
        &project.join(".cycod/tools/t.yaml"),
        &format!(
            "description: d\nsteps:\n  - name: a\n    run: head -c {bytes} /dev/zero\n    output: {{mode: stream, buffer-limit: 1MB}}\n"
        ),
    );
    let mut cat = Command::new("sh");
    cat.args(["-c", &format!("head -c {bytes} /dev/zero | cat")]);
    let (floor, _) = to_nowhere(cat);
    let (ours, peak) = to_nowhere(command(&project, &["tool", "run", "t"]));
    row("1 GB through a step (floor: | cat)", ours, floor, "twice the floor", ours < floor * 2);
    println!("{:<44} {:>9} MB {:>12} {:>8}  64 MB{}", "  peak memory", peak >> 10, "", "", mark(peak < 64 << 10));
}

/// Parsing a template and placing its values, in bytes of template text, beside a loop that looks at each byte.
fn templates() {
    let lines = [
        "# Lists what refers to the name, and how often each file does, without the tests.\n",
        "if [ -d src ]; then\n  grep -rn --include='*.rs' --exclude-dir=tests -e \"use {NAME}\" src | sort -u > out.txt\nfi\n",
        "cut -d: -f1 out.txt | sort | uniq -c | sort -rn | head -n 20\n",
    ];
    let text = lines.concat().repeat(20_000);
    let names = KnownNames { parameters: vec!["NAME".to_owned()], ..KnownNames::default() };
    let origin = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    let floor = fastest(|| {
        assert!(std::hint::black_box(text.as_bytes()).iter().filter(|byte| **byte == b'{').count() > 0);
    });
    let parsing = fastest(|| assert!(parse(&text, origin, &names).1.is_empty()));
    let (template, _) = parse(&text, origin, &names);
    let verdict = Verdict::free();
    let value = || Value {
        name: "NAME",
        words: Words::One("it's".into()),
        mode: Mode::Word,
        kind: Kind::Text,
        sensitive: false,
        verdict: &verdict,
    };
    let pieces: Vec<Piece<'_>> = template
        .segments
        .iter()
        .map(|segment| match segment {
            TemplatePart::Text(text) => Piece::Text(text),
            TemplatePart::Hole(_) => Piece::Value(value()),
        })
        .collect();
    let placing = fastest(|| assert!(place(Shell::Bash, &pieces).is_ok()));
    let speed = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
    for (figure, time) in
        [("template parsing, a value each 240 bytes", parsing), ("placing for bash, a value each 240 bytes", placing)]
    {
        let ratio = time.as_secs_f64() / floor.as_secs_f64();
        let (ours, floor) = (speed(time), speed(floor));
        println!("{figure:<44} {ours:>7.0} MB/s {floor:>7.0} MB/s {ratio:>7.2}x  100 MB/s{}", mark(ours >= 100.0));
    }
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let timed = (0..15).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    timed.min().unwrap_or_default()
}

/// Runs a program with its output going nowhere; returns the time and the most memory it held, in KiB.
fn to_nowhere(mut command: Command) -> (Duration, u64) {
    let began = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0));
        thread::sleep(Duration::from_millis(1));
    }
    (began.elapsed(), peak)
}

/// A project with tools of some sixty lines each, or of ten when there is one.
fn project(root: &Path, name: &str, tools: usize) -> PathBuf {
    let project = root.join(name);
    let options = if tools == 1 { 0 } else { 12 };
    for index in 0..tools {
        let mut text = format!(
            "name: tool-{index}\ndescription: Greet somebody, number {index}\nversion: 1.0.0\nbash: echo \"Hello, {{WHO}}\"\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n    required: true\n"
        );
        for option in 0..options {
            let lines = "    type: string\n    description: An option nobody uses\n";
            writeln!(text, "  OPTION_{option}:\n{lines}    default: \"{option}\"").expect("to a string");
        }
        text.push_str("metadata: {category: demo, search-keywords: [greet]}\ntags: [demo, read]\ntimeout: 10000\n");
        write(&project.join(format!(".cycod/tools/tool-{index}.yaml")), &text);
    }
    project
}

fn read_all(project: &Path) -> Duration {
    let began = Instant::now();
    let files = fs::read_dir(project.join(".cycod/tools")).expect("the directory");
    let bytes: usize = files.map(|file| fs::read(file.expect("an entry").path()).expect("a file").len()).sum();
    assert!(bytes > 0);
    began.elapsed()
}

fn bash() -> Command {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", "echo \"Hello, you\""]);
    command
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(CYCOD.get().expect("the program was copied"));
    command
        .args(arguments)
        .current_dir(directory)
        .env("CYCOD_HOME", directory.join("home"))
        .env("CYCOD_GLOBAL_DIR", directory.join("global"))
        .env("CYCOD_TRUSTED_DIRECTORIES", directory);
    command
}

/// Times two programs in turn, so that both see the same machine; returns the medians.
fn paired(rounds: usize, make: [&dyn Fn() -> Command; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds + 5 {
        for (make, times) in make.iter().zip(&mut times) {
            let time = timed(make());
            if round >= 5 {
                times.push(time);
            }
        }
    }
    times.map(median)
}

fn timed(command: Command) -> Duration {
    let began = Instant::now();
    quiet(command);
    began.elapsed()
}

/// How often the system had to map a piece of each program: what the order of the functions is for.
fn faults(figure: &str, ours: Command, floor: Command) {
    let [ours, floor] = [ours, floor].map(|mut command| {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let stat = PathBuf::from(format!("/proc/{}/stat", child.id()));
        // Until it is waited for, a program that has ended can be asked. The state is the first field behind the name.
        let faults = loop {
            let text = fs::read_to_string(&stat).expect("the state of the program");
            let fields: Vec<&str> = text.rsplit_once(") ").expect("a name").1.split(' ').collect();
            if fields[0] == "Z" {
                break fields[7].parse::<u64>().expect("a number");
            }
            thread::sleep(Duration::from_millis(1));
        };
        assert!(child.wait().expect("it can be waited for").success(), "{command:?}");
        faults
    });
    println!("{figure:<44} {ours:>12} {floor:>12}");
}

fn quiet(mut command: Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(status.success(), "{command:?}");
}

fn median(times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.into_iter().collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn row(figure: &str, measured: Duration, floor: Duration, aim: &str, holds: bool) {
    let ratio = measured.as_secs_f64() / floor.as_secs_f64();
    println!(
        "{figure:<44} {:>9.2} ms {:>9.2} ms {ratio:>7.2}x  {aim}{}",
        measured.as_secs_f64() * 1e3,
        floor.as_secs_f64() * 1e3,
        mark(holds)
    );
}

fn mark(holds: bool) -> &'static str {
    if holds { "" } else { "  MISSED" }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file has a parent")).expect("its directory");
    fs::write(path, text).expect("the file");
}
