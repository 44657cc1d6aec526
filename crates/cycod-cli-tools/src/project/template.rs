//! The templates: what a project is made of, and what comes next.

/// What projects of a kind are made of.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: &'static str,
    /// What is said of a project when nobody says anything.
    pub(super) description: &'static str,
    /// The files: their paths, which may have places to fill, and what they hold.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// What a person types next in the project's directory, with places to fill.
    pub(super) next: &'static [&'static str],
}

/// A file of the templates.
macro_rules! file {
    ($path:literal) => {
        include_str!(concat!("templates/", $path))
    };
}

const PYTHON_CI: (&str, &str) = (".github/workflows/test.yml", file!("shared/test.python.yml"));
const PYTHON_IGNORED: (&str, &str) = (".gitignore", file!("shared/gitignore.python"));

/// The templates, by name.
pub(super) const TEMPLATES: [Template; 5] = [
    Template {
        name: "ai_analysis",
        description: "Measures texts and tables, and lets a language model say what the measures mean",
        files: &[
            PYTHON_CI,
            PYTHON_IGNORED,
            ("README.md", file!("ai_analysis/README.md")),
            ("pyproject.toml", file!("ai_analysis/pyproject.toml.in")),
            ("@@snake@@/__init__.py", file!("ai_analysis/package/__init__.py")),
            ("@@snake@@/__main__.py", file!("ai_analysis/package/__main__.py")),
            ("@@snake@@/model.py", file!("ai_analysis/package/model.py")),
            ("@@snake@@/table.py", file!("ai_analysis/package/table.py")),
            ("@@snake@@/text.py", file!("ai_analysis/package/text.py")),
            ("tests/__init__.py", ""),
            ("tests/test_command.py", file!("ai_analysis/tests/test_command.py")),
            ("tests/test_model.py", file!("ai_analysis/tests/test_model.py")),
            ("tests/test_table.py", file!("ai_analysis/tests/test_table.py")),
            ("tests/test_text.py", file!("ai_analysis/tests/test_text.py")),
        ],
        next: &["python3 -m unittest", "python3 -m @@snake@@ README.md"],
    },
    Template {
        name: "python_package",
        description: "A package for Python",
        files: &[
            PYTHON_CI,
            PYTHON_IGNORED,
            ("README.md", file!("python_package/README.md")),
            ("pyproject.toml", file!("python_package/pyproject.toml.in")),
            ("@@snake@@/__init__.py", file!("python_package/package/__init__.py")),
            ("@@snake@@/duration.py", file!("python_package/package/duration.py")),
            ("@@snake@@/py.typed", ""),
            ("tests/__init__.py", ""),
            ("tests/test_duration.py", file!("python_package/tests/test_duration.py")),
        ],
        next: &["python3 -m unittest"],
    },
    Template {
        name: "rust_cli",
        description: "A program for the command line",
        files: &[
            (".github/workflows/test.yml", file!("rust_cli/test.yml")),
            (".gitignore", file!("rust_cli/gitignore")),
            ("Cargo.toml", file!("rust_cli/Cargo.toml.in")),
            ("README.md", file!("rust_cli/README.md")),
            ("src/lib.rs", file!("rust_cli/src/lib.rs")),
            ("src/main.rs", file!("rust_cli/src/main.rs")),
            ("tests/command.rs", file!("rust_cli/tests/command.rs")),
        ],
        next: &["cargo test", "cargo run -- README.md"],
    },
    Template {
        name: "tool_collection",
        description: "Tools for people and for language models",
        files: &[
            (".cycod/tools/find-text.yaml", file!("tool_collection/tools/find-text.yaml")),
            (".cycod/tools/number-summary.md", file!("tool_collection/tools/number-summary.md")),
            (".cycod/tools/text-report.yaml", file!("tool_collection/tools/text-report.yaml")),
            (".cycod/tools/title-to-slug.yaml", file!("tool_collection/tools/title-to-slug.yaml")),
            (".github/workflows/tools.yml", file!("tool_collection/tools.yml")),
            (".gitignore", file!("tool_collection/gitignore")),
            ("README.md", file!("tool_collection/README.md")),
        ],
        next: &["cycod validate --local --strict", "cycod trust --all", "cycod test --all --local"],
    },
    Template {
        name: "web_application",
        description: "A page and the server behind it",
        files: &[
            (".github/workflows/test.yml", file!("web_application/test.yml")),
            (".gitignore", file!("web_application/gitignore")),
            ("README.md", file!("web_application/README.md")),
            ("jsconfig.json", file!("web_application/jsconfig.json")),
            ("package.json", file!("web_application/package.json.in")),
            ("public/index.html", file!("web_application/public/index.html")),
            ("public/page.js", file!("web_application/public/page.js")),
            ("public/style.css", file!("web_application/public/style.css")),
            ("src/app.js", file!("web_application/src/app.js")),
            ("src/files.js", file!("web_application/src/files.js")),
            ("src/main.js", file!("web_application/src/main.js")),
            ("src/notes.js", file!("web_application/src/notes.js")),
            ("test/app.test.js", file!("web_application/test/app.test.js")),
        ],
        next: &["node --test", "node src/main.js"],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::project::{fill::Filling, name::Name};

    #[test]
    fn every_place_is_known() {
        for template in &TEMPLATES {
            let filling = Filling::new(Name::new("my-project").expect("a name"), template.description);
            let mut paths = BTreeSet::new();
            for (path, text) in template.files {
                // A place that nobody fills would end the test.
                assert!(paths.insert(filling.fill(path)), "{path} is there twice");
                assert!(text.is_empty() || filling.fill(text).ends_with('\n'), "{path} does not end its last line");
            }
            template.next.iter().for_each(|next| drop(filling.fill(next)));
            assert!(paths.contains("README.md") && paths.contains(".gitignore"), "{}", template.name);
            assert!(paths.iter().any(|path| path.starts_with(".github/workflows/")), "{}", template.name);
        }
        assert!(TEMPLATES.is_sorted_by_key(|template| template.name));
    }
}
