use cycod_diagnostic::SourceFile;

use crate::table::TOOL;

/// The kinds of file that define tools, told apart by their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// CYCOD YAML or JSON.
    Cycod,
    /// Markdown with YAML front matter on line 1.
    Markdown,
    /// Mimir YAML: `schema:` or `code:` at the top level, and nothing that says what one of ours executes.
    Mimir,
}

impl FileFormat {
    /// Returns the format of a file.
    ///
    /// Front matter is a line `---` at the very start that a second such line closes, with something other
    /// than YAML after it; a lone `---` only opens a YAML document. Where the content leaves it open, the ending `.md`
    /// decides.
    pub fn of(source: &SourceFile) -> Self {
        let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
        if source.name.len() > 3 && source.name.to_ascii_lowercase().ends_with(".md") {
            return Self::Markdown;
        }
        let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
        if lines.next().is_some_and(|line| line.trim_end() == "---") {
            let mut after = lines.skip_while(|line| line.trim_end() != "---").skip(1);
            if after.any(|line| ["# ", "## ", "### ", "```", "~~~"].iter().any(|start| line.starts_with(start))) {
                return Self::Markdown;
            }
        }
        let has = |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        let executes = || TOOL.keys.iter().any(|key| key.executes && has(key.name)) || has("base-tool");
        if (has("schema") || has("code")) && !executes() { Self::Mimir } else { Self::Cycod }
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
            ("\n \n---\nname: a\n---\n\n# Title\n\n```r\nf()\n```\n", FileFormat::Markdown),
            ("\u{feff}---\r\nname: a\r\n---\r\n# Title\r\n", FileFormat::Markdown),
            ("name: a\nschema:\n  type: object\ncode: |\n  return 1\n", FileFormat::Mimir),
            ("name: a\nbash: |\n  schema: x\n  code: y\n", FileFormat::Cycod),
            ("name: a\ncode: return 1\n", FileFormat::Mimir),
            ("name: a\nbash: ls\ncode: x\nschema: y\n", FileFormat::Cycod),
            ("", FileFormat::Cycod),
        ] {
            assert_eq!(FileFormat::of(&SourceFile::new("t", text)), format, "{text:?}");
        }
    }

    #[test]
    fn the_ending_decides_where_the_content_does_not() {
        for text in ["---\nname: a\n---\nOnly words.\n", "---\nname: a\n", "# A page\n"] {
            assert_eq!(FileFormat::of(&SourceFile::new("a.md", text)), FileFormat::Markdown, "{text:?}");
            assert_eq!(FileFormat::of(&SourceFile::new("a.yaml", text)), FileFormat::Cycod, "{text:?}");
        }
    }
}
