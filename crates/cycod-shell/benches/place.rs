//! How fast templates are tracked and values placed, beside two floors: copying the text, and looking at every byte once.

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use std::sync::LazyLock;

use cycod_shell::{
    Hole, Kind, Mode, Piece, Programs, Question, Reader, Segment, Shell, Trust, Value, Verdict, Words, judge, place,
};

static FREE: LazyLock<Verdict> = LazyLock::new(Verdict::free);

fn measure(name: &str, bytes: usize, mut work: impl FnMut()) {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(700) {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    println!("{name:<34} {:>9.0} MB/s", bytes as f64 / 1e6 / best.as_secs_f64());
}

/// Templates as people write them, from a line to a page; `{X}` is a value.
const TEMPLATES: [(&str, &str); 4] = [
    ("one command", "git commit -m \"Fix: {X}\""),
    (
        "two pipes and a loop",
        "for f in $(git ls-files -- \"{X}\" | sort -u | head -n 20); do echo \"$f: $(grep -c -e \"{Y}\" -- \"$f\")\"; done",
    ),
    (
        "functions and arrays",
        "fail() { printf 'error: %s\\n' \"$1\" >&2; exit 2; }\nargs=(--max-count=5)\n[ -z \"{X}\" ] || args+=(--author=\"{X}\")\n\
         git rev-parse --verify --quiet --end-of-options \"{Y}\" >/dev/null || fail \"no such revision: {Y}\"\ngit log \"${args[@]}\" --end-of-options \"{Y}\" -- {Z}\n",
    ),
    (
        "a page",
        "pattern=\"{X}\" engine={Y}\nif [ \"$engine\" = auto ]; then\n  engine=grep\n  command -v rg >/dev/null 2>&1 && engine=rg\nfi\n\
         set -- --line-number --with-filename --color=never --context=2\nif [ \"$engine\" = rg ]; then\n  for glob in {Z}; do set -- \"$@\" --glob=\"$glob\"; done\n\
         found=$(rg --no-heading --sort=path \"$@\" -e \"$pattern\" -- {Z})\nelse\n  for glob in {Z}; do\n    case $glob in\n      !*) set -- \"$@\" --exclude=\"${glob#!}\" ;;\n      *) set -- \"$@\" --include=\"$glob\" ;;\n    esac\n  done\n\
         found=$(grep --recursive \"$@\" -e \"$pattern\" -- {Z})\nfi\nstatus=$?\n[ \"$status\" -gt 1 ] && exit 2\nprintf '%s\\n' \"$found\" | awk 'NR <= 500'\n",
    ),
];

/// How long it takes to say what is proven about a command, which is done once for each tool that is loaded.
fn judging(only: &str) {
    let programs = Programs::default();
    for (name, template) in TEMPLATES.iter().filter(|(name, _)| name.contains(only)) {
        let mut segments = Vec::new();
        for (index, part) in template.split(['{', '}']).enumerate() {
            if index % 2 == 1 && matches!(part, "X" | "Y" | "Z") {
                segments.push(Segment::Hole(hole(part)));
            } else {
                let text = if index % 2 == 1 { format!("{{{part}}}") } else { part.to_owned() };
                segments.push(Segment::Text(Box::leak(text.into_boxed_str())));
            }
        }
        let question = Question {
            reader: Reader::Shell(Shell::Bash),
            command: &segments,
            environment: &[],
            input: &[],
            programs: &programs,
        };
        let mut best = Duration::MAX;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(300) {
            let start = Instant::now();
            black_box(judge(black_box(&question)));
            best = best.min(start.elapsed());
        }
        println!("{:<34} {:>9.1} µs", format!("judge, {name}"), best.as_secs_f64() * 1e6);
    }
}

fn hole(name: &str) -> Hole<'_> {
    Hole {
        name,
        shown: format!("{{{name}}}").into(),
        kind: Kind::Text,
        mode: Mode::Bare,
        texts: Vec::new(),
        vanishes: true,
        is_list: name == "Z",
        format: Vec::new(),
        options: false,
        is_json_string: false,
        trust: Trust::None,
    }
}

fn main() {
    // `cargo bench -p cycod-shell -- page` measures what is called so among the judgements.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    judging(only.as_deref().unwrap_or(""));
    if only.is_some() {
        return;
    }
    let script = "if [ -f \"$HOME/.config\" ]; then\n  for file in *.txt; do grep -n 'pattern with words' \"$file\" | sort -u >> \"$OUT\"; done\nfi # done\n\
                  curl -s -X POST \"https://api.example.com/v1/${ENDPOINT:-items}\" -H 'Content-Type: application/json' -d @- <<EOF\n{\"a\": \"$(date)\"}\nEOF\n";
    let text = script.repeat(4000);
    let words = "some ordinary words of a long command line without quotes ".repeat(16000);
    let value = |text: &'static str| {
        Piece::Value(Value {
            name: "V",
            words: Words::One(text.into()),
            mode: Mode::Word,
            kind: Kind::Text,
            sensitive: false,
            verdict: &FREE,
        })
    };
    measure("copy", text.len(), || drop(black_box(black_box(&text).clone())));
    measure("one look at every byte", text.len(), || {
        let mut quotes = 0usize;
        for byte in black_box(&text).bytes() {
            quotes += usize::from(matches!(byte, b'\'' | b'"' | b'\\' | b' ' | b'\n'));
        }
        black_box(quotes);
    });
    for (name, shell) in [("bash", Shell::Bash), ("sh", Shell::Sh), ("zsh", Shell::Zsh)] {
        let pieces = [Piece::Text(&text), Piece::Text("echo "), value("it's $x"), Piece::Text("\n")];
        measure(&format!("place, script, {name}"), text.len(), || drop(black_box(place(shell, black_box(&pieces)))));
    }
    let pieces = [Piece::Text(&words), value("it's $x")];
    measure("place, words, bash", words.len(), || drop(black_box(place(Shell::Bash, black_box(&pieces)))));
    let mut many = Vec::new();
    for _ in 0..4000 {
        many.push(Piece::Text(script));
        many.push(Piece::Text("echo \""));
        many.push(value("a plain value"));
        many.push(Piece::Text("\"\n"));
    }
    measure("place, a value every 330 bytes", text.len(), || drop(black_box(place(Shell::Bash, black_box(&many)))));
}
