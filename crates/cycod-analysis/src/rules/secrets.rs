//! Finds secrets in the text of files, whatever their language.

use std::{collections::HashSet, sync::LazyLock};

use regex::{Captures, Regex, RegexSet};

use super::{AnalysisRule, LONGEST_LINE, Subject, table};

/// How many secrets of one file are told.
const MOST: usize = 100;

/// The length from which the end of a secret gives nothing away.
const LONG: usize = 20;

/// What a secret looks like.
struct Shape {
    what: &'static str,
    rule: &'static AnalysisRule,
    /// Its group `s` is the secret; without one all of it is.
    pattern: &'static str,
    /// Whether what looks like it is one.
    is_real: fn(&Captures<'_>) -> bool,
}

const SHAPES: &[Shape] = &[
    Shape::key("access key of AWS", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Shape {
        what: "secret access key of AWS",
        rule: &table::SECRET_KEY,
        pattern: r#"(?i)\baws.{0,20}secret.{0,24}['"=:\s](?P<s>[A-Za-z0-9/+]{40})(?:['"\s]|$)"#,
        is_real: looks_random,
    },
    Shape::key("token of GitHub", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    Shape::key("token of GitLab", r"\bgl(?:pat|dt|rt|ptt|soat|ft|cbt)-[A-Za-z0-9_-]{20,}"),
    Shape::key("token of Slack", r"\bxox[abeoprs]-(?:[0-9A-Za-z]+-){1,4}[0-9A-Za-z]{16,}\b"),
    Shape::key(
        "webhook of Slack",
        r"https://hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]{6,12}/[AB][A-Z0-9]{6,12}/[A-Za-z0-9]{20,30}",
    ),
    Shape::key("key of Stripe", r"\b[rs]k_live_[A-Za-z0-9]{20,}\b"),
    Shape::key("key of a Google API", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    Shape::key("client secret of Google", r"\bGOCSPX-[A-Za-z0-9_-]{28}\b"),
    Shape::key("key of Anthropic", r"\bsk-ant-(?:api|admin|oat)[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    Shape::key(
        "key of OpenAI",
        r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b)",
    ),
    Shape::key("token of Hugging Face", r"\bhf_[A-Za-z]{34}\b"),
    Shape::key("token of npm", r"\bnpm_[A-Za-z0-9]{36}\b"),
    Shape::key("token of PyPI", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    Shape::key("key of SendGrid", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    Shape::key("token of DigitalOcean", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Shape::key("token of Shopify", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    Shape::key("token of Telegram", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    Shape::key("key of age", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    Shape {
        what: "private key",
        rule: &table::SECRET_PRIVATE_KEY,
        // Followed by what it is made of: the line alone is in every program that reads keys.
        pattern: r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\r|\\n|[A-Za-z-]+: [^\n]*\n)*(?P<s>[A-Za-z0-9+/=]{32,})",
        is_real: |_| true,
    },
    Shape {
        what: "password in an address",
        rule: &table::SECRET_PASSWORD_IN_URL,
        pattern: r#"[a-z0-9]://(?P<user>[^\s/:@'"`<>{}$]{0,64}):(?P<s>[^\s/@'"`]{3,128})@(?P<host>[A-Za-z0-9._-]+|\[[0-9a-f:]+\])"#,
        is_real: is_password,
    },
    Shape {
        what: "signed token",
        rule: &table::SECRET_TOKEN,
        pattern: r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
        is_real: |_| true,
    },
    Shape {
        what: "secret value",
        rule: &table::SECRET_VALUE,
        pattern: r#"(?i)(?:api_?-?key|secret|token|passw(?:or)?d|passphrase|credentials?|private_?-?key|access_?-?key|auth_?-?key)(?:s|_?key|_?value|_?id)?(?:_[A-Za-z0-9_]{0,20})?[0-9]{0,3}['"]?\]?\s{0,4}(?:=>|:=|=|:(?:\s*(?:&?str|string|String)\s*=)?)\s{0,4}[bru]?['"](?P<s>[^'"\s\\]{16,200})['"]"#,
        is_real: looks_random,
    },
];

impl Shape {
    const fn key(what: &'static str, pattern: &'static str) -> Self {
        Self { what, rule: &table::SECRET_KEY, pattern, is_real: is_no_example }
    }
}

static COMPILED: LazyLock<(RegexSet, Vec<Regex>)> = LazyLock::new(|| {
    // Edges of words of every script are slow to find, and no secret has letters of others.
    let patterns: Vec<String> = SHAPES.iter().map(|shape| shape.pattern.replace(r"\b", r"(?-u:\b)")).collect();
    let each = patterns.iter().map(|pattern| Regex::new(pattern).expect("a pattern of ours")).collect();
    (RegexSet::new(&patterns).expect("patterns of ours"), each)
});

/// Words that stand where a secret is to be put.
const PLACEHOLDERS: [&str; 19] = [
    "example",
    "sample",
    "dummy",
    "fake",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "your",
    "xxxx",
    "****",
    "....",
    "redacted",
    "insert",
    "replace",
    "test",
    "mock",
    "todo",
    "lorem",
];

/// Looks for secrets.
pub(crate) fn secrets(subject: &mut Subject<'_>) {
    let (set, patterns) = &*COMPILED;
    let source = subject.source;
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for index in set.matches(source) {
        let shape = &SHAPES[index];
        for captures in patterns[index].captures_iter(source).filter(|captures| (shape.is_real)(captures)).take(MOST) {
            let Some(secret) = captures.name("s").or_else(|| captures.get(0)) else { continue };
            // What a service's shape has recognised is not told again as just some secret value.
            if seen.insert(secret.start())
                && found.iter().all(|(known, ..): &(std::ops::Range<usize>, _, _)| !known.contains(&secret.start()))
            {
                found.push((secret.range(), shape, secret.as_str()));
            }
        }
    }
    found.sort_by_key(|(range, ..)| range.start);
    let (mut line, mut line_start, mut read) = (1, 0, 0);
    for (range, shape, secret) in found {
        for (at, _) in source[read..range.start].match_indices('\n') {
            line += 1;
            line_start = read + at + 1;
        }
        read = range.start;
        let before = &source[line_start..range.start];
        let column = 1 + if before.len() <= LONGEST_LINE { before.chars().count() } else { before.len() };
        subject.add_at(shape.rule, line, column, format!("{}: {}", shape.what, masked(secret)));
        subject.secrets.push(secret.to_owned());
    }
}

/// Says of a secret what helps to find it and nothing that helps to use it.
fn masked(secret: &str) -> String {
    let count = secret.chars().count();
    if count < LONG {
        return format!("{count} characters");
    }
    let end: String = secret.chars().skip(count - 4).collect();
    format!("{count} characters that end in `{end}`")
}

fn secret<'c>(captures: &'c Captures<'_>) -> &'c str {
    captures.name("s").or_else(|| captures.get(0)).map_or("", |found| found.as_str())
}

/// Whether it is not one of those that documentation shows.
fn is_no_example(captures: &Captures<'_>) -> bool {
    let secret = secret(captures);
    let lower = secret.to_ascii_lowercase();
    !["example", "xxxx", "0000000", "1234567890abcdef"].iter().any(|word| lower.contains(word)) && variety(secret) > 2.5
}

/// Whether it is not a word that stands for one.
fn is_placeholder(secret: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || secret.contains(['{', '}', '<', '>', '$', '%', '(', ')', ' '])
}

/// Whether it looks like nobody thought it up: letters and digits of great variety, and neither words nor a path.
fn looks_random(captures: &Captures<'_>) -> bool {
    let secret = secret(captures);
    let has = |test: fn(&char) -> bool| secret.chars().any(|c| test(&c));
    let is_mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let is_named = secret.contains("://") || secret.starts_with(['/', '.', '#', '@']) || secret.contains("::");
    // Words have few digits; `sha256:…` and `user_2_token` have few in a row.
    let digits = secret.chars().filter(char::is_ascii_digit).count();
    is_mixed && !is_named && digits >= 3 && !is_placeholder(secret) && variety(secret) >= 3.5
}

fn is_password(captures: &Captures<'_>) -> bool {
    let (password, host) = (secret(captures), captures.name("host").map_or("", |host| host.as_str()));
    let user = captures.name("user").map_or("", |user| user.as_str());
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "host" | "hostname" | "[::1]")
        || host.contains("example")
        || host.ends_with(".test")
        || host.ends_with(".invalid");
    let lower = password.to_ascii_lowercase();
    let is_word =
        ["password", "passwd", "pass", "secret", "pwd", "postgres", "root", "admin", "guest"].contains(&&*lower);
    !is_here && !is_word && password != user && !is_placeholder(password)
}

/// How many bits a character of a text carries (Shannon).
fn variety(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}
