/// The kinds of file that define tools, told apart by their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// CYCOD YAML or JSON.
    Cycod,
    /// Markdown with YAML front matter on line 1.
    Markdown,
    /// Mimir YAML: `schema:` and `code:` at the top level.
    Mimir,
}

impl FileFormat {
    /// Returns the format of a file's text.
    ///
    /// Front matter is a line `---` at the very start that a second such line closes, with something other
    /// than YAML after it; a lone `---` only opens a YAML document.
    pub fn of(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines();
        if lines.next().is_some_and(|line| line.trim_end() == "---") {
            let mut after = lines.skip_while(|line| line.trim_end() != "---").skip(1);
            if after.any(|line| line.starts_with("# ") || line.starts_with("## ") || line.starts_with("```")) {
                return Self::Markdown;
            }
        }
        let top_level =
            |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        if top_level("schema") && top_level("code") { Self::Mimir } else { Self::Cycod }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Cycod => "cycod YAML files",
            Self::Markdown => "Markdown tools",
            Self::Mimir => "Mimir tools",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_the_format() {
        for (text, format) in [
            ("name: a\nbash: ls\n", FileFormat::Cycod),
            ("---\nname: a\nbash: ls\n", FileFormat::Cycod),
            ("---\nname: a\n---\nname: b\n", FileFormat::Cycod),
            ("{\"name\": \"a\", \"schema\": 1, \"code\": 2}", FileFormat::Cycod),
            ("---\nname: a\n---\n\n# Title\n\n```r\nf()\n```\n", FileFormat::Markdown),
            ("\u{feff}---\r\nname: a\r\n---\r\n# Title\r\n", FileFormat::Markdown),
            ("name: a\nschema:\n  type: object\ncode: |\n  return 1\n", FileFormat::Mimir),
            ("name: a\nbash: |\n  schema: x\n  code: y\n", FileFormat::Cycod),
            ("", FileFormat::Cycod),
        ] {
            assert_eq!(FileFormat::of(text), format, "{text:?}");
        }
    }
}
