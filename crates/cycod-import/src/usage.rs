//! The little language in which `mise` tasks say what they take: `arg` and `flag` lines, in KDL.
//!
//! Read here in the part that tasks use. What is beyond it is reported, and nothing nests deeper than a flag's own
//! arguments, so no text can make the reader go deep.

/// What a task takes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) inputs: Vec<Input>,
    /// Lines that are not carried over, with the number of the line from 0.
    pub(crate) others: Vec<(usize, String)>,
}

/// One argument or flag.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Input {
    /// Lines before it.
    pub(crate) line: usize,
    pub(crate) is_flag: bool,
    pub(crate) name: String,
    /// Options as they are written: `-f`, `--force`.
    pub(crate) options: Vec<String>,
    /// Whether a flag has a value.
    pub(crate) has_value: bool,
    pub(crate) is_required: bool,
    pub(crate) is_many: bool,
    pub(crate) at_least: Option<u64>,
    pub(crate) at_most: Option<u64>,
    pub(crate) help: String,
    pub(crate) default: Option<String>,
    pub(crate) choices: Vec<String>,
    pub(crate) is_counted: bool,
    pub(crate) negate: Option<String>,
    pub(crate) variable: Option<String>,
}

/// A line of KDL.
#[derive(Clone, Debug, Default)]
struct Node {
    line: usize,
    name: String,
    values: Vec<String>,
    properties: Vec<(String, String)>,
    children: Vec<Node>,
}

impl Node {
    /// A property, or the value of a child of the same name.
    fn said(&self, name: &str) -> Option<&str> {
        let property = self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        property.or_else(|| self.children.iter().find(|child| child.name == name)?.values.first().map(String::as_str))
    }

    fn is(&self, name: &str) -> bool {
        matches!(self.said(name), Some("#true" | "true"))
    }

    fn choices(&self) -> Vec<String> {
        let own = self.children.iter().filter(|child| child.name == "choices").flat_map(|child| child.values.clone());
        let below = self.children.iter().filter(|child| child.name == "arg").flat_map(Node::choices);
        own.chain(below).collect()
    }
}

/// Reads a specification; `None` where it is not understood.
pub(crate) fn read(text: &str) -> Option<Usage> {
    let mut usage = Usage::default();
    for node in nodes(text)? {
        match node.name.as_str() {
            "arg" => usage.inputs.push(argument(&node)?),
            "flag" => usage.inputs.push(flag(&node)?),
            // How a shell completes a value is nobody's business here.
            "complete" => {}
            other => usage.others.push((node.line, format!("`{other}`"))),
        }
    }
    Some(usage)
}

fn argument(node: &Node) -> Option<Input> {
    let written = node.values.first()?;
    let is_many = written.ends_with("...") || written.ends_with('…') || node.is("var");
    let written = written.trim_end_matches(['.', '…']);
    let is_optional = written.starts_with('[');
    let name = written.trim_matches(['<', '>', '[', ']']).trim_end_matches(['.', '…']).to_owned();
    let mut input = shared(node);
    // An older way has the help behind the name.
    if input.help.is_empty() {
        input.help = node.values.get(1).cloned().unwrap_or_default();
    }
    input.is_required = !is_optional && input.default.is_none() && input.variable.is_none();
    (!name.is_empty()).then_some(Input { name, is_many, ..input })
}

fn flag(node: &Node) -> Option<Input> {
    let written = node.values.first()?;
    let words: Vec<&str> = written.split_whitespace().collect();
    let options: Vec<String> =
        words.iter().filter(|word| word.starts_with('-')).map(|word| (*word).to_owned()).collect();
    let value = words.iter().find(|word| word.starts_with(['<', '[']));
    let value = value.map(|value| (*value).to_owned());
    let below = node.children.iter().find(|child| child.name == "arg");
    let long = options.iter().find(|option| option.starts_with("--")).or(options.first())?;
    let name = long.trim_start_matches('-').to_owned();
    let mut input = shared(node);
    if input.help.is_empty() {
        input.help = node.values.get(1).cloned().unwrap_or_default();
    }
    let is_many =
        node.is("var") || value.as_deref().is_some_and(|value| value.ends_with("...") || value.ends_with('…'));
    Some(Input {
        name,
        is_flag: true,
        has_value: value.is_some() || below.is_some(),
        is_many,
        is_required: node.is("required"),
        is_counted: node.is("count"),
        negate: node.said("negate").map(str::to_owned),
        options,
        ..input
    })
}

fn shared(node: &Node) -> Input {
    let number = |name: &str| node.said(name).and_then(|value| value.parse().ok());
    Input {
        line: node.line,
        help: node.said("help").or_else(|| node.said("long_help")).unwrap_or_default().to_owned(),
        default: node.said("default").map(|text| text.trim_start_matches('#').to_owned()),
        choices: node.choices(),
        variable: node.said("env").map(str::to_owned),
        at_least: number("var_min"),
        at_most: number("var_max"),
        ..Input::default()
    }
}

/// The nodes of a document, at most three deep.
fn nodes(text: &str) -> Option<Vec<Node>> {
    let mut open: Vec<Vec<Node>> = vec![Vec::new()];
    let mut current: Option<Node> = None;
    let mut line = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let finish = |current: &mut Option<Node>, open: &mut Vec<Vec<Node>>| {
            if let (Some(node), Some(level)) = (current.take(), open.last_mut()) {
                level.push(node);
            }
        };
        if let Some(behind) = rest.strip_prefix("//") {
            rest = &behind[behind.find('\n').unwrap_or(behind.len())..];
        } else if let Some(behind) = rest.strip_prefix("/*") {
            let end = behind.find("*/")?;
            line += behind[..end].matches('\n').count();
            rest = &behind[end + 2..];
        } else if rest.starts_with("\\\n") {
            line += 1;
            rest = &rest[2..];
        } else if matches!(first, '\n' | ';') {
            finish(&mut current, &mut open);
            line += usize::from(first == '\n');
            rest = &rest[1..];
        } else if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if first == '{' {
            let node = current.take()?;
            if open.len() > 3 {
                return None;
            }
            open.last_mut()?.push(node);
            open.push(Vec::new());
            rest = &rest[1..];
        } else if first == '}' {
            finish(&mut current, &mut open);
            let children = open.pop()?;
            open.last_mut()?.last_mut()?.children = children;
            rest = &rest[1..];
        } else {
            let (word, behind) = word(rest)?;
            line += rest[..rest.len() - behind.len()].matches('\n').count();
            match (&mut current, behind.strip_prefix('=')) {
                (Some(node), Some(value)) => {
                    let (value, behind) = self::word(value)?;
                    node.properties.push((word, value));
                    rest = behind;
                    continue;
                }
                (Some(node), None) => node.values.push(word),
                (none, _) => *none = Some(Node { line, name: word, ..Node::default() }),
            }
            rest = behind;
        }
    }
    if let Some(node) = current {
        open.last_mut()?.push(node);
    }
    (open.len() == 1).then(|| open.pop()).flatten()
}

/// Reads a string or a bare word; returns what is behind it.
fn word(text: &str) -> Option<(String, &str)> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let raw = text.strip_prefix('r').filter(|rest| rest.starts_with(['"', '#'])).or(Some(text));
    let raw = raw.filter(|raw| raw.len() < text.len() || hashes > 0 && text[hashes..].starts_with('"'));
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((body[..end].to_owned(), &body[end + 1 + hashes..]));
    }
    if let Some(body) = text.strip_prefix("\"\"\"") {
        let end = body.find("\"\"\"")?;
        let lines: Vec<&str> = body[..end].lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return Some((lines.join("\n"), &body[end + 3..]));
    }
    if let Some(body) = text.strip_prefix('"') {
        let mut said = String::new();
        let mut characters = body.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => return Some((said, &body[at + 1..])),
                '\\' => match characters.next()?.1 {
                    'n' => said.push('\n'),
                    't' => said.push('\t'),
                    escaped => said.push(escaped),
                },
                _ => said.push(character),
            }
        }
        return None;
    }
    let is_end =
        |character: char| character.is_whitespace() || matches!(character, '=' | ';' | '{' | '}' | '"' | '(' | ')');
    let end = text.find(is_end).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tasks_write_is_understood() {
        let text = "// inputs\narg \"<environment>\" help=\"Where\" {\n  choices \"dev\" \"prod\"\n}\narg \"[files]\" var=#true\nflag \"-v --verbose\" help=#\"a \"b\"\"#\nflag \"--region <region>\" default=\"us\" env=\"R\"\nflag \"--force\" default=#true; complete \"x\" run=\"y\"\nuse \"common\"\n";
        let usage = read(text).expect("it is understood");
        assert_eq!(usage.others, [(8, "`use`".to_owned())]);
        let shown: Vec<String> = usage
            .inputs
            .iter()
            .map(|input| {
                format!(
                    "{} {} {:?} {} {:?} {:?}",
                    input.line, input.name, input.options, input.is_required, input.default, input.choices
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1 environment [] true None [\"dev\", \"prod\"]",
                "4 files [] false None []",
                "5 verbose [\"-v\", \"--verbose\"] false None []",
                "6 region [\"--region\"] false Some(\"us\") []",
                "7 force [\"--force\"] false Some(\"true\") []",
            ]
        );
        assert_eq!(usage.inputs[2].help, "a \"b\"");
        assert!(usage.inputs[1].is_many);
    }

    #[test]
    fn what_is_broken_is_not() {
        for text in ["arg", "arg \"<x", "}", "{", "arg \"<x>\" {", "flag \"x\"", "/*", &"a{".repeat(1000)] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
