//! Skills: instructions for a model, with scripts beside them.

use cycod_diagnostic::Diagnostic;

use crate::{
    TaskLoss,
    draft::{Body, Draft, Found, PATIENCE, Word},
    front_matter,
    source::{TaskDirectory, TaskSource, syntax},
};

/// What a skill says of itself, without what becomes of it as a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillHead<'a> {
    /// What it is called.
    pub name: Option<String>,
    /// When a model should use it.
    pub description: Option<String>,
    /// What it belongs to, as `category` or below `metadata`.
    pub category: Option<String>,
    /// `tags` and `keywords`, also below `metadata`.
    pub tags: Vec<String>,
    /// The instructions.
    pub body: &'a str,
}

/// Reads what a skill says of itself.
///
/// # Errors
/// What is wrong with its front matter.
pub fn skill_head<'a>(path: &'a str, text: &'a str) -> Result<SkillHead<'a>, Vec<Diagnostic>> {
    let document = front_matter::read(&TaskSource::new(path, text, TaskDirectory::Workspace("")))?;
    let head = &document.head;
    let below = |key: &str| head.at(&["metadata", key]);
    let category = head.text_of("category").or_else(|| below("category")?.scalar());
    let lists = ["tags", "keywords"].iter().flat_map(|key| [head.get(key), below(key)]).flatten();
    Ok(SkillHead {
        name: head.text_of("name"),
        description: head.text_of("description"),
        category,
        tags: lists.flat_map(|list| list.texts()).collect(),
        body: document.body,
    })
}

/// Who runs a script, by the ending of its name.
const INTERPRETERS: [(&str, &str); 8] = [
    ("py", "python3"),
    ("sh", "bash"),
    ("bash", "bash"),
    ("js", "node"),
    ("mjs", "node"),
    ("rb", "ruby"),
    ("pl", "perl"),
    ("R", "Rscript"),
];

/// Reads a skill.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let document = front_matter::read(source)?;
    let head = &document.head;
    let Some(name) = head.text_of("name") else {
        return Err(vec![syntax(Default::default(), "the skill has no `name`")]);
    };
    let mut found = Found::default();
    let mut losses: Vec<TaskLoss> = Vec::new();
    for (key, why) in [
        ("allowed-tools", "the policy decides which tools a model may use"),
        ("disable-model-invocation", "the policy decides who may run a tool"),
        ("model", "a tool has no model of its own"),
        ("hooks", "nothing runs by itself"),
    ] {
        if let Some(node) = head.get(key) {
            losses.push(TaskLoss { line: node.line, what: format!("`{key}`"), why: why.to_owned() });
        }
    }
    let instructions = Draft {
        task: name.clone(),
        line: 1,
        description: format!("How to: {}", head.text_of("description").unwrap_or_else(|| name.clone())),
        body: Body::Run(vec![
            Word::Text("cat".to_owned()),
            Word::Text("--".to_owned()),
            Word::Template(source.below(source.file_name())),
        ]),
        group: Some(name.clone()),
        tags: vec!["skill".to_owned()],
        is_read_only: true,
        losses,
        ..Draft::default()
    };
    found.drafts.push(instructions);
    let mut scripts: Vec<&str> =
        source.beside.iter().map(String::as_str).filter(|path| path.starts_with("scripts/")).collect();
    scripts.sort_unstable();
    for path in scripts {
        let file = path.rsplit('/').next().unwrap_or(path);
        let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
        let line = mention(document.body, document.body_line, file);
        let at = line.as_ref().map_or(1, |(line, _)| *line);
        if stem.is_empty() || stem.starts_with("__") || path.contains("__pycache__") {
            continue;
        }
        let Some((_, interpreter)) = INTERPRETERS.iter().find(|(known, _)| *known == ending) else {
            let why = "no known program runs a file of this name".to_owned();
            found.losses.push(TaskLoss { line: at, what: format!("`{path}`"), why });
            continue;
        };
        let mut draft = Draft {
            task: path.to_owned(),
            wanted: Some(format!("{name}-{stem}")),
            line: at,
            description: line.map_or_else(|| format!("The script {file} of the skill `{name}`"), |(_, said)| said),
            group: Some(name.clone()),
            body: Body::Run(vec![Word::Text((*interpreter).to_owned()), Word::Template(source.below(path))]),
            requires: vec![(*interpreter).to_owned()],
            tags: vec!["skill".to_owned()],
            timeout: Some(PATIENCE),
            ..Draft::default()
        };
        draft.pass_more("Its arguments, each one word; the skill's instructions say which");
        draft.lose(at, "the arguments one by one", "a skill says them in prose: see its instructions");
        found.drafts.push(draft);
    }
    let others: Vec<&str> = source
        .beside
        .iter()
        .map(String::as_str)
        .filter(|path| path.contains('/') && !path.starts_with("scripts/"))
        .collect();
    if !others.is_empty() {
        let why = "the instructions refer to them where they lie".to_owned();
        let files = if others.len() == 1 { "1 other file".to_owned() } else { format!("{} other files", others.len()) };
        found.losses.push(TaskLoss { line: 1, what: files, why });
    }
    Ok(found)
}

/// The first line of the instructions that speaks of a script, without its marks.
fn mention(body: &str, first: usize, file: &str) -> Option<(usize, String)> {
    let (index, line) = body.lines().enumerate().find(|(_, line)| line.contains(file))?;
    let said = line.trim().trim_start_matches(['-', '*', '#', '>', ' ', '|']).trim();
    // A line of a command says nothing that its name does not.
    let is_prose = said.split_whitespace().count() > 3 && !said.starts_with(['$', '`']) || said.contains(": ");
    Some((first + index, if is_prose { said.to_owned() } else { format!("Run `{}`", said.trim_matches('`')) }))
}
