//! What a worker offers, and what is asked of it: labels, some of which name a program with its version.

/// How the label of a program begins.
const TOOL: &str = "tool:";

/// How much of a version counts.
const MOST_PARTS: usize = 4;

/// What [`is_worker_label`] asks for, in words.
pub const WORKER_LABEL: &str = "a label has at most 64 letters, digits and `.`, `_`, `-`, `:`, `+`; one such as \
                                `tool:git>=2.40` asks for a version";

/// Whether a text can be asked of a worker, as in `gpu`, `os:linux` or `tool:git>=2.40`.
pub fn is_worker_label(text: &str) -> bool {
    is_plain_label(wanted_version(text).map_or(text, |(program, _)| program)) && text.len() <= 64
}

/// Whether a text can be what a worker offers, as in `gpu` or `tool:git=2.43.0`.
pub fn is_offered_label(text: &str) -> bool {
    is_plain_label(offered_version(text).map_or(text, |(program, _)| program)) && text.len() <= 64
}

/// Whether a text is a label that names no version.
pub fn is_plain_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '+');
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

/// The label of a program that a worker offers, if it can have one.
pub fn program_label(program: &str, version: Option<&str>) -> Option<String> {
    let label = match version {
        Some(version) => format!("{TOOL}{program}={version}"),
        None => format!("{TOOL}{program}"),
    };
    (!program.contains(':') && is_offered_label(&label)).then_some(label)
}

/// The first version in what a program says of itself, as in `git version 2.43.0`.
pub fn version_in(said: &str) -> Option<String> {
    let line = said.lines().find(|line| !line.trim().is_empty())?;
    let numbers = line.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
    let numbers: Vec<&str> = numbers.filter(|word| !word.is_empty()).collect();
    let version = numbers.iter().find(|word| word.contains('.')).or(numbers.first())?;
    let parts: Vec<&str> = version.split('.').take(MOST_PARTS).collect();
    let version = parts.join(".");
    parts_of(&version).map(|_| version)
}

/// The labels that a worker lacks.
pub fn missing_labels<'w>(wanted: &'w [String], offered: &[String]) -> Vec<&'w str> {
    wanted.iter().filter(|label| !offers(offered, label)).map(String::as_str).collect()
}

/// Whether a worker that offers these labels offers a wanted one.
pub fn offers(offered: &[String], wanted: &str) -> bool {
    let versions = |program: &str| {
        let program = program.to_owned();
        let version =
            move |label: &String| offered_version(label).filter(|(own, _)| *own == program).map(|(_, version)| version);
        offered.iter().filter_map(version)
    };
    match wanted_version(wanted) {
        Some((program, least)) => versions(program).any(|own| own >= least),
        None => offered.iter().any(|label| label == wanted) || versions(wanted).next().is_some(),
    }
}

/// What a worker offers of the program that a label asks for in another version, for people: `git 2.34.1`, or `git` without a
/// version that it knows.
pub fn other_version(offered: &[String], wanted: &str) -> Option<String> {
    let (program, _) = wanted_version(wanted)?;
    offered.iter().find_map(|label| {
        let version = label.strip_prefix(program)?;
        let name = program.strip_prefix(TOOL)?;
        match version.strip_prefix('=') {
            Some(version) => Some(format!("{name} {version}")),
            None if version.is_empty() => Some(format!("{name} without a version")),
            None => None,
        }
    })
}

/// The program that a label asks for, with the least version.
fn wanted_version(label: &str) -> Option<(&str, [u64; MOST_PARTS])> {
    let (program, version) = label.split_once(">=")?;
    named(program, version)
}

/// The program that a label offers, with its version.
fn offered_version(label: &str) -> Option<(&str, [u64; MOST_PARTS])> {
    let (program, version) = label.split_once('=')?;
    named(program, version)
}

fn named<'l>(program: &'l str, version: &str) -> Option<(&'l str, [u64; MOST_PARTS])> {
    let is_program = program.strip_prefix(TOOL).is_some_and(|name| is_plain_label(name) && !name.contains(':'));
    is_program.then(|| parts_of(version)).flatten().map(|version| (program, version))
}

/// The numbers of a version. One that is left out counts as 0.
fn parts_of(version: &str) -> Option<[u64; MOST_PARTS]> {
    let mut parts = [0; MOST_PARTS];
    let mut given = version.split('.');
    for (part, text) in parts.iter_mut().zip(given.by_ref()) {
        let is_number = !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
        *part = is_number.then(|| text.parse().ok()).flatten()?;
    }
    given.next().is_none().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        let has = |label: &str, wanted: &str| offers(&["gpu".to_owned(), label.to_owned()], wanted);
        for (version, wanted, fits) in [
            ("2.43.0", "2.40", true),
            ("2.40", "2.40.0", true),
            ("2.9", "2.10", false),
            ("2.10", "2.9", true),
            ("10", "9.9.9", true),
            ("2.39.9.9", "2.40", false),
            ("2.40.0.1", "2.40.0.2", false),
        ] {
            assert_eq!(has(&format!("tool:git={version}"), &format!("tool:git>={wanted}")), fits, "{version} {wanted}");
        }
        assert!(has("tool:git=2.43.0", "tool:git") && has("tool:git", "tool:git") && has("x", "gpu"));
        // Without a version, none is enough; and another program is another one.
        assert!(
            !has("tool:git", "tool:git>=0") && !has("tool:gita=3", "tool:git>=2") && !has("tool:git=3", "tool:gita")
        );
        assert_eq!(
            missing_labels(&["gpu".to_owned(), "tool:git>=3".to_owned()], &["tool:git=2".to_owned()]),
            ["gpu", "tool:git>=3"]
        );
        let other = |label: &str| other_version(&["gpu".to_owned(), label.to_owned()], "tool:git>=3");
        assert_eq!(other("tool:git=2.4").as_deref(), Some("git 2.4"));
        assert_eq!(other("tool:git").as_deref(), Some("git without a version"));
        assert_eq!((other("tool:gita=2.4"), other("x")), (None, None));
    }

    #[test]
    fn a_label_is_written_in_one_way() {
        for good in ["gpu", "os:linux", "tool:git", "tool:git>=2.40", "tool:g++>=12", "tool:git>=1.2.3.4"] {
            assert!(is_worker_label(good), "{good}");
        }
        for bad in [
            "",
            "a b",
            "git>=2",
            "tool:>=2",
            "tool:git>=",
            "tool:git>2",
            "tool:git=2",
            "tool:git>=2.x",
            "tool:git>=1.2.3.4.5",
            "tool:git>=2 ",
            "tool:a:b>=2",
            "tool:git>=2>=3",
            "tool:git>=99999999999999999999",
            "tool:../git>=2",
        ] {
            assert!(!is_worker_label(bad), "{bad}");
        }
        for (label, can) in
            [("tool:git=2.4", true), ("tool:git>=2.4", false), ("gpu", true), ("gpu=2", false), ("tool:git=x", false)]
        {
            assert_eq!(is_offered_label(label), can, "{label}");
        }
        assert_eq!(program_label("git", Some("2.43.0")).as_deref(), Some("tool:git=2.43.0"));
        assert_eq!(program_label("git", None).as_deref(), Some("tool:git"));
        assert_eq!(
            (program_label("a b", None), program_label("a:b", None), program_label("git", Some("x"))),
            (None, None, None)
        );
    }

    #[test]
    fn a_version_is_read_out_of_what_a_program_says() {
        for (said, version) in [
            ("git version 2.43.0", Some("2.43.0")),
            ("Docker version 24.0.7, build afdd53b", Some("24.0.7")),
            ("v20.11.1\n", Some("20.11.1")),
            ("go version go1.22.1 linux/amd64", Some("1.22.1")),
            ("jq-1.7.1", Some("1.7.1")),
            ("less 590 (GNU regular expressions)", Some("590")),
            ("\nPython 3.12.3", Some("3.12.3")),
            ("tool 1.2.3.4.5.", Some("1.2.3.4")),
            ("GNU bash, version 5.2.21(1)-release (x86_64-pc-linux-gnu)", Some("5.2.21")),
            ("no version", None),
            ("", None),
            ("1..2", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
    }
}
