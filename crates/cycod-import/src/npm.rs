//! Scripts of a `package.json`.
//!
//! Package managers put further arguments into the text of a shell. Those of today quote them well, older ones in `"…"`, so
//! the characters that act there are not accepted.

use std::collections::{HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use crate::{
    draft::{Accepts, Draft, Found, Parameter},
    pasted::WHY_INERT,
    source::{TaskSource, duplicate},
    tree::{self, Node},
};

/// Scripts that a package manager runs by itself.
const OWN: [&str; 14] = [
    "preinstall",
    "install",
    "postinstall",
    "preuninstall",
    "uninstall",
    "postuninstall",
    "prepare",
    "prepack",
    "postpack",
    "prepublish",
    "prepublishOnly",
    "publish",
    "postpublish",
    "dependencies",
];

/// Texts that stay data in quotes of every kind.
const QUOTABLE: &str = r#"^[^$`"\\\x00-\x1f]*$"#;

/// Reads the scripts of a package.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let (root, keys) = tree::json(source)?;
    let mut problems = Vec::new();
    let mut seen = HashMap::new();
    for key in keys.iter().filter(|key| key.above == "scripts") {
        if let Some(first) = seen.insert(key.name.as_str(), key.span) {
            problems.push(duplicate("script", &key.name, first, key.span));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let manager = manager(source, &root);
    let mut found = Found::default();
    let scripts = root.get("scripts").map(Node::entries).unwrap_or_default();
    let names: HashSet<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
    let described = Described::of_package(&root);
    for (name, script) in scripts {
        // A key that holds a remark.
        if name.starts_with("//") {
            continue;
        }
        let Some(command) = script.text() else {
            let what = format!("script `{name}`");
            found.losses.push(crate::TaskLoss { line: script.line, what, why: "its command is no text".to_owned() });
            continue;
        };
        let mut draft = Draft::of_runner(name, script.line, manager.program, source.below(""));
        draft.tags = vec![manager.program.to_owned()];
        draft.say(manager.before.iter().copied());
        draft.say([name.as_str()]);
        draft.say(manager.between.iter().copied());
        let more = Parameter::described("Further arguments of the script, each one word");
        let mut more = Parameter { accepts: Accepts::Words, ..more };
        if manager.program == "bun" {
            more.hold_inert(true);
        } else {
            more.pattern = Some(QUOTABLE.to_owned());
            more.is_vouched = true;
            if more.hold_behind([command]) {
                draft.lose(script.line, "other further arguments", format!("{WHY_INERT} the script would run them"));
            }
        }
        draft.pass("args", more);
        draft.description = described.of(name).unwrap_or_else(|| format!("Run `{}`", command.trim()));
        draft.withheld = withheld(name, &names);
        found.drafts.push(draft);
    }
    if let Some(scripts) = root.get("scripts").filter(|_| !found.drafts.is_empty()) {
        let what = match manager.program {
            "bun" => "further arguments of other characters than letters, digits, blanks and `_./:@%+=,-`",
            _ => "`$`, `` ` ``, `\"` and `\\` in further arguments",
        };
        let why = format!("some versions of {} would let a shell act on them", manager.program);
        found.losses.push(crate::TaskLoss { line: scripts.line, what: what.to_owned(), why });
    }
    Ok(found)
}

struct Manager {
    program: &'static str,
    /// Words before the script's name.
    before: &'static [&'static str],
    /// Words before its arguments.
    between: &'static [&'static str],
}

/// Who runs the scripts: what the package says, else whose lock file lies beside it.
fn manager(source: &TaskSource<'_>, root: &Node) -> Manager {
    let said = root.text_of("packageManager");
    let said = said.as_deref().map(|said| said.split('@').next().unwrap_or_default());
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let beside = locks.iter().find(|(lock, _)| source.beside.iter().any(|name| name == lock));
    match said.or(beside.map(|(_, program)| *program)) {
        Some("pnpm") => Manager { program: "pnpm", before: &["--silent", "run"], between: &[] },
        Some("yarn") => Manager { program: "yarn", before: &["run"], between: &[] },
        Some("bun") => Manager { program: "bun", before: &["run", "--silent"], between: &[] },
        _ => Manager { program: "npm", before: &["run", "--silent"], between: &["--"] },
    }
}

/// What a package says of its scripts, in the places that people use for it, the first before the others.
struct Described<'a> {
    places: Vec<HashMap<&'a str, &'a Node>>,
    scripts: HashMap<&'a str, &'a Node>,
}

impl<'a> Described<'a> {
    fn of_package(root: &'a Node) -> Self {
        let table = |node: Option<&'a Node>| {
            let entries = node.map(Node::entries).unwrap_or_default();
            entries.iter().rev().map(|(name, node)| (name.as_str(), node)).collect()
        };
        let places = [&["scripts-info"][..], &["ntl", "descriptions"], &["scriptsInfo"]];
        Self { places: places.map(|keys| table(root.at(keys))).into(), scripts: table(root.get("scripts")) }
    }

    fn of(&self, name: &str) -> Option<String> {
        let remark = |begin: &str| self.scripts.get(format!("{begin}{name}").as_str());
        let said = self.places.iter().map(|place| place.get(name)).chain([remark("//"), remark("// ")]);
        said.flatten().find_map(|node| node.scalar().filter(|text| !text.trim().is_empty()))
    }
}

fn withheld(name: &str, scripts: &HashSet<&str>) -> Option<String> {
    if OWN.contains(&name) {
        return Some("the package manager runs it by itself".to_owned());
    }
    let is_script = |wanted: &str| scripts.contains(wanted);
    let around = |prefix: &str| name.strip_prefix(prefix).filter(|of| is_script(of)).map(str::to_owned);
    let before = around("pre").map(|of| format!("it runs before `{of}`, together with it"));
    before.or_else(|| around("post").map(|of| format!("it runs behind `{of}`, together with it")))
}
