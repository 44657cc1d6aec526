//! How fast secrets are looked for, by kind of text: `cargo bench -p cycod-mask`, or with a file of your own behind `--`.

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::{hint::black_box, time::Instant};

use cycod_mask::Masks;

/// Five secrets of usual kinds.
const SECRETS: [&str; 5] = [
    "sk-proj-Zx9TqLm4Rw7VbNc2Yd8Kf5Hj3Gs6Pa1Ue0Oi_XtQzWvBnMlKjHgFdSaPoIuYtReWq-1234567890AbCdEfGhIjKlMnOpQrStUvWx",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "correct horse battery staple",
    "p@ss/w0rd%41\"x",
    "20481024",
];

fn log() -> String {
    let line = |index: usize| {
        format!(
            "2026-11-23T14:{:02}:{:02}.{:03}Z INFO  server::requests: GET /api/v1/items/{index} took {} ms, {} bytes for 10.0.{}.{}\n",
            index / 60 % 60,
            index % 60,
            index * 7 % 1000,
            index * 13 % 977,
            index * 31 % 65_521,
            index % 256,
            index * 3 % 256,
        )
    };
    (0..80_000).map(line).collect()
}

fn prose() -> String {
    let words = [
        "the", "page", "answers", "what", "happens", "to", "a", "value", "while", "nobody", "looks", "for", "it,",
        "and",
    ];
    (0..1_200_000)
        .map(|index: usize| [words[index * index % words.len()], if index % 13 == 12 { "\n" } else { " " }].concat())
        .collect()
}

fn json() -> String {
    let row = |index: usize| {
        format!(
            r#"{{"id": {index}, "name": "item \"{index}\"", "path": "C:\\data\\{index}.txt", "text": "first line\nsecond line\n", "tags": ["one", "two"], "url": "https://h/?a={index}&b=%20x"}},"#
        )
    };
    (0..50_000).map(row).collect()
}

fn code() -> String {
    include_str!("../src/scan.rs").repeat(600)
}

fn base64() -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state: u32 = 1;
    (0..8_000_000_usize)
        .map(|index| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if index % 77 == 76 { '\n' } else { char::from(alphabet[(state >> 26) as usize]) }
        })
        .collect()
}

fn main() {
    let masks = Masks::new(SECRETS);
    let own: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let own = own.iter().map(|path| (path.as_str(), std::fs::read_to_string(path).expect("a file of text")));
    let hostile = SECRETS.map(|secret| &secret[..secret.len() - 1]).concat().repeat(20_000);
    let texts = [
        ("log", log()),
        ("prose", prose()),
        ("json", json()),
        ("code", code()),
        ("base64", base64()),
        ("hexadecimal", "68 75 6e 74 00 ff 12 9c ".repeat(300_000)),
        ("beginnings of secrets", hostile),
    ];
    for (name, text) in texts.into_iter().chain(own) {
        let best = (0..3)
            .map(|_| {
                let began = Instant::now();
                let mut stream = masks.stream();
                for piece in text.as_bytes().chunks(16 << 10) {
                    black_box(stream.push(piece));
                }
                black_box(stream.finish());
                began.elapsed()
            })
            .min()
            .expect("three");
        let whole = Instant::now();
        black_box(masks.apply(&text));
        let whole = whole.elapsed();
        let rate = |time: std::time::Duration| text.len() as f64 / time.as_secs_f64() / 1e6;
        println!("{name:<24} {:>7.0} MB/s as a stream {:>7.0} MB/s whole", rate(best), rate(whole));
    }
    let began = Instant::now();
    black_box(Masks::new(SECRETS));
    println!("made in {:?}", began.elapsed());
}
