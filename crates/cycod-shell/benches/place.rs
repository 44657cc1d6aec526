//! How fast templates are tracked and values placed, beside two floors: copying the text, and looking at every byte once.

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use cycod_shell::{Kind, Mode, Piece, Shell, Value, Words, place};

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

fn main() {
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
