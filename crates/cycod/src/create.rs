//! What `cycod tool create` writes: tools that run, pass their own tests, and show how a tool is made.

use cycod_engine::definition::Runtime;

/// What a new tool starts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    /// Text in, text out.
    Basic,
    /// A tool that reads and writes a file.
    FileOperation,
    /// A tool that describes data.
    DataOperation,
}

/// What a new tool is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    R,
    Python,
    TypeScript,
    JavaScript,
    Bash,
}

/// Every template with its name.
pub(crate) const TEMPLATES: [(&str, Template); 3] = [
    ("basic", Template::Basic),
    ("file_operation", Template::FileOperation),
    ("data_operation", Template::DataOperation),
];

/// Every language with its name, which also stands behind the fence.
pub(crate) const LANGUAGES: [(&str, Language); 5] = [
    ("r", Language::R),
    ("python", Language::Python),
    ("typescript", Language::TypeScript),
    ("javascript", Language::JavaScript),
    ("bash", Language::Bash),
];

impl Language {
    fn name(self) -> &'static str {
        LANGUAGES.into_iter().find(|(_, language)| *language == self).map_or("", |(name, _)| name)
    }

    /// The program that must be installed for it.
    pub(crate) fn program(self) -> Option<&'static str> {
        match self {
            Self::R => Runtime::R.program(),
            Self::Python => Runtime::Python.program(),
            Self::JavaScript => Runtime::Node.program(),
            Self::Bash => Some("bash"),
            Self::TypeScript => None,
        }
    }
}

/// The text of a new tool.
pub(crate) fn text(name: &str, template: Template, language: Language) -> String {
    let page = match (template, language) {
        (Template::Basic, _) => include_str!("create/basic.md"),
        (Template::FileOperation, _) => include_str!("create/file_operation.md"),
        (Template::DataOperation, Language::R) => include_str!("create/data_operation.r.md"),
        (Template::DataOperation, _) => include_str!("create/data_operation.md"),
    };
    page.replace("@NAME@", name)
        .replace("@TITLE@", &title(name))
        .replace("@FENCE@", language.name())
        .replace("@CODE@", code(template, language))
}

fn code(template: Template, language: Language) -> &'static str {
    match (template, language) {
        (Template::Basic, Language::R) => include_str!("create/basic.r"),
        (Template::Basic, Language::Python) => include_str!("create/basic.py"),
        (Template::Basic, Language::TypeScript) => include_str!("create/basic.ts"),
        (Template::Basic, Language::JavaScript) => include_str!("create/basic.js"),
        (Template::Basic, Language::Bash) => include_str!("create/basic.sh"),
        (Template::FileOperation, Language::R) => include_str!("create/file_operation.r"),
        (Template::FileOperation, Language::Python) => include_str!("create/file_operation.py"),
        (Template::FileOperation, Language::TypeScript) => include_str!("create/file_operation.ts"),
        (Template::FileOperation, Language::JavaScript) => include_str!("create/file_operation.js"),
        (Template::FileOperation, Language::Bash) => include_str!("create/file_operation.sh"),
        (Template::DataOperation, Language::R) => include_str!("create/data_operation.r"),
        (Template::DataOperation, Language::Python) => include_str!("create/data_operation.py"),
        (Template::DataOperation, Language::TypeScript) => include_str!("create/data_operation.ts"),
        (Template::DataOperation, Language::JavaScript) => include_str!("create/data_operation.js"),
        (Template::DataOperation, Language::Bash) => include_str!("create/data_operation.sh"),
    }
}

/// The name as a title: `my-tool` is `My Tool`.
fn title(name: &str) -> String {
    let words = name.split('-').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use cycod_engine::{definition::load, diagnostic::SourceFile};

    use super::*;

    #[test]
    fn every_template_is_a_tool_without_a_complaint() {
        for (template_name, template) in TEMPLATES {
            for (language_name, language) in LANGUAGES {
                let text = text("my-new-tool", template, language);
                let loaded = load(&SourceFile::new("my-new-tool.md", text.as_str()), Some("my-new-tool"));
                assert!(loaded.diagnostics.is_empty(), "{template_name}, {language_name}: {:?}", loaded.diagnostics);
                let tool = loaded.tool.expect("a tool");
                assert_eq!(tool.title.as_deref(), Some("My New Tool"));
                assert!(tool.tests.len() >= 2 && tool.parameters.iter().all(|one| !one.description.is_empty()));
                assert!(!["@NAME@", "@TITLE@", "@FENCE@", "@CODE@"].iter().any(|mark| text.contains(mark)), "{text}");
            }
        }
    }
}
