//! Names and a description in the places that a template keeps for them.

use cycod_diagnostic::entity;

use super::name::Name;

/// What a template is filled with.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    name: Name,
    /// One line that holds nothing which a compiler, a parser or a reader could take for something else.
    description: String,
}

impl Filling {
    pub(super) fn new(name: Name, description: &str) -> Self {
        Self { name, description: one_line(description) }
    }

    /// Fills the places of a template, such as `@@snake@@`, in one pass: what a value holds is never looked at again.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("@@") {
            text.push_str(before);
            let (place, after) = after.split_once("@@").unwrap_or_else(|| unreachable!("templates are tested"));
            text.push_str(&self.value(place));
            rest = after;
        }
        text.push_str(rest);
        text
    }

    fn value(&self, place: &str) -> String {
        match place {
            "name" => self.name.given.clone(),
            "kebab" => self.name.kebab.clone(),
            "snake" => self.name.snake.clone(),
            "pascal" => self.name.pascal.clone(),
            "description:line" => self.description.clone(),
            "description:quoted" => quoted(&self.description),
            "description:markdown" => markdown(&self.description),
            "description:html" => html(&self.description),
            _ => unreachable!("templates are tested"),
        }
    }
}

/// The text in one line: white space becomes single blanks. What is not seen is dropped: control characters, marks that turn
/// the direction of writing around, in which source code can lie about itself, and characters that are none.
fn one_line(text: &str) -> String {
    let is_unseen = |char: char| {
        char.is_control()
            || matches!(char, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{202a}'..='\u{202e}')
            || matches!(char, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{61c}')
            || u32::from(char) & 0xFFFE == 0xFFFE
            || matches!(char, '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e007f}')
    };
    let seen: String = text.chars().map(|char| if is_unseen(char) { ' ' } else { char }).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A string of TOML, JSON, YAML, Python and JavaScript alike: in one line, they agree on these two escapes.
fn quoted(line: &str) -> String {
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A paragraph that shows the line as it is.
fn markdown(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for (at, char) in line.char_indices() {
        // What would begin a list, a heading or a number does so only at the beginning of a line.
        let begins = matches!(char, '-' | '+' | '=' | '#' | ':')
            && line[..at].chars().all(|before| matches!(before, '-' | '+' | '=' | '#' | ':'));
        let numbers = matches!(char, '.' | ')') && at > 0 && line[..at].bytes().all(|byte| byte.is_ascii_digit());
        if begins
            || numbers
            || matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '!' | '@')
        {
            text.push('\\');
        }
        text.push(char);
    }
    text
}

fn html(line: &str) -> String {
    line.chars().map(|char| entity(char).map_or_else(|| char.to_string(), str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(description: &str) -> Filling {
        Filling::new(Name::new("my-project").expect("a name"), description)
    }

    #[test]
    fn places_are_filled_once() {
        let filled = filling("@@name@@ and @@").fill("@@name@@ @@snake@@ @@pascal@@: @@description:line@@.");
        assert_eq!(filled, "my-project my_project MyProject: @@name@@ and @@.");
    }

    #[test]
    fn a_description_is_one_line_of_what_can_be_seen() {
        let check = |text: &str, expect: &str| assert_eq!(one_line(text), expect);
        check(" a\n\tb\r\n\u{2028}c\u{85}d ", "a b c d");
        check("a\0b\u{1b}[31m\u{7f}", "a b [31m");
        check("x\u{202e}y\u{2066}z\u{feff}\u{200b}", "x y z");
        check("\u{ffff}\u{1fffe}", "");
        check("Grüße 👩‍💻", "Grüße 👩‍💻");
    }

    #[test]
    fn each_format_shows_the_same() {
        let text = r#"a "b" \c <d> & *e* [f](g) `h` */ """ '"#;
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).expect("JSON"), text);
        assert_eq!(html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(markdown("1. a_b <x>"), r"1\. a\_b \<x\>");
        assert_eq!(markdown("--- # x-y"), r"\-\-\- # x-y");
        assert_eq!(markdown("# x"), r"\# x");
    }
}
