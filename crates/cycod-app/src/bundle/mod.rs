//! Bundles: tools of a project with what they start, as files that hosts and registries install.
//!
//! The same input gives the same bytes: nothing here asks a clock, a machine or an environment.

mod archive;
mod form;
mod tar;
mod wheel;

use std::collections::BTreeMap;

use cycod_engine::trust::PortableFile;
use serde_json::{Value as Json, json};
use thiserror::Error;

pub use form::{BundleForm, FormProblem};

/// The directory of a bundle that stands for the project.
const PROJECT: &str = "project";

/// What starts cycod.
const LAUNCHER: (&str, &str) = ("server/index.cjs", include_str!("launcher.cjs"));

/// The form of the manifest of a bundle.
const MANIFEST_VERSION: &str = "0.3";

/// The schema of `server.json`.
const SERVER_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// The longest description in `server.json`, in characters.
const LONGEST_DESCRIPTION: usize = 100;

/// The most bytes that all files of a bundle may have.
const MOST_BYTES: usize = 256 << 20;

/// The most files of a bundle.
const MOST_FILES: usize = 10_000;

/// Files by their paths, `/` between names.
pub type BundledFiles = BTreeMap<String, PortableFile>;

/// Why there can be no bundle of these files.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BundleError {
    /// There are too many.
    #[error("a bundle has at most {MOST_FILES} files, and these are {0}")]
    TooMany(usize),
    /// They are too large.
    #[error("the files of a bundle have at most {} MiB, and these have more", MOST_BYTES >> 20)]
    TooLarge,
    /// The path of one is too long for a package.
    #[error("the path `{0}` is too long for a package")]
    TooLong(String),
}

/// A tool of a bundle, as a list shows it.
#[derive(Clone, Debug)]
pub struct BundledTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
}

/// What is packed.
#[derive(Debug)]
pub struct Bundle {
    form: BundleForm,
    tools: Vec<BundledTool>,
    project: BundledFiles,
    /// What a machine must have.
    needs: Vec<String>,
}

impl Bundle {
    /// Of tools, the files of the project that they need, and the programs that a machine must have.
    ///
    /// # Errors
    /// When there are too many files, or they or their paths are too large.
    pub fn new(
        form: BundleForm,
        tools: Vec<BundledTool>,
        project: BundledFiles,
        needs: Vec<String>,
    ) -> Result<Self, BundleError> {
        if project.len() > MOST_FILES {
            return Err(BundleError::TooMany(project.len()));
        }
        if project.values().map(|file| file.bytes.len()).sum::<usize>() > MOST_BYTES {
            return Err(BundleError::TooLarge);
        }
        if let Some(path) = project.keys().find(|path| !tar::takes(&format!("{PROJECT}/{path}"))) {
            return Err(BundleError::TooLong(path.clone()));
        }
        Ok(Self { form, tools, project, needs })
    }

    /// The `.mcpb` file: a zip archive with `manifest.json`.
    pub fn mcpb(&self) -> Vec<u8> {
        let mut files = self.files();
        files.insert("manifest.json".to_owned(), text(&pretty(&self.manifest())));
        archive::zip(&files)
    }

    /// The npm package that starts the same, if it has a name: a `.tgz` file.
    pub fn npm(&self) -> Option<Vec<u8>> {
        let package = self.form.npm()?;
        let mut files = self.files();
        let program = package.rsplit('/').next().unwrap_or(package);
        let mut manifest = json!({
            "name": package,
            "version": self.form.version(),
            "description": self.description(),
            "author": self.form.author(),
            "license": self.form.license().unwrap_or("UNLICENSED"),
            "bin": {program: LAUNCHER.0},
            "files": [PROJECT, LAUNCHER.0],
            "engines": {"node": ">=18"},
        });
        if let Some(name) = self.form.registry() {
            // The registry compares it with the name in `server.json`.
            manifest["mcpName"] = name.into();
        }
        files.insert("package.json".to_owned(), text(&pretty(&manifest)));
        Some(tar::package(&files))
    }

    /// The package for PyPI that starts the same, if it has a name: the name of its file, and the file.
    pub fn wheel(&self) -> Option<(String, Vec<u8>)> {
        let summary = self.description();
        let mut readme = self.readme();
        if let Some(name) = self.form.registry() {
            // The registry compares it with the name in `server.json`.
            readme += &format!("\n<!-- mcp-name: {name} -->\n");
        }
        let about = wheel::WheelAbout {
            package: self.form.pypi()?,
            version: self.form.version(),
            summary: &summary,
            author: self.form.author(),
            license: self.form.license(),
            readme: &readme,
        };
        Some((about.file_name(), about.wheel(&self.project)))
    }

    /// `server.json`, for the MCP registry, if the server has a name there. `mcpb` is the digest of the `.mcpb` file.
    pub fn server_json(&self, sha256: &str) -> Option<String> {
        let version = self.form.version();
        let transport = json!({"type": "stdio"});
        let npm = self.form.npm().map(|package| {
            json!({
                "registryType": "npm",
                "registryBaseUrl": "https://registry.npmjs.org",
                "identifier": package,
                "version": version,
                "runtimeHint": "npx",
                "transport": transport,
            })
        });
        let pypi = self.form.pypi().map(|package| {
            json!({
                "registryType": "pypi",
                "registryBaseUrl": "https://pypi.org",
                "identifier": package,
                "version": version,
                "runtimeHint": "uvx",
                "transport": transport,
            })
        });
        let mcpb = self.form.url().map(|url| {
            json!({
                "registryType": "mcpb",
                "identifier": url,
                "version": version,
                "fileSha256": sha256,
                "transport": transport,
            })
        });
        let packages: Vec<Json> = npm.into_iter().chain(pypi).chain(mcpb).collect();
        let server = json!({
            "$schema": SERVER_SCHEMA,
            "name": self.form.registry()?,
            "description": cut(&self.description()),
            "version": version,
            "packages": packages,
        });
        Some(pretty(&server))
    }

    /// What all forms share: the project, what starts cycod, and what a person must do.
    fn files(&self) -> BundledFiles {
        let project = self.project.iter().map(|(path, file)| (format!("{PROJECT}/{path}"), file.clone()));
        let mut files: BundledFiles = project.collect();
        files.insert(LAUNCHER.0.to_owned(), PortableFile { is_executable: true, ..text(LAUNCHER.1) });
        files.insert("README.md".to_owned(), text(&self.readme()));
        files
    }

    fn manifest(&self) -> Json {
        let tools = self.tools.iter().map(|tool| match &tool.description {
            Some(description) => json!({"name": tool.name, "description": description}),
            None => json!({"name": tool.name}),
        });
        let mut manifest = json!({
            "manifest_version": MANIFEST_VERSION,
            "name": self.form.name(),
            "version": self.form.version(),
            "description": self.description(),
            "long_description": self.readme(),
            "author": {"name": self.form.author()},
            "server": {
                "type": "node",
                "entry_point": LAUNCHER.0,
                "mcp_config": {"command": "node", "args": [format!("${{__dirname}}/{}", LAUNCHER.0)]},
            },
            "tools": tools.collect::<Vec<_>>(),
            // The tools of long runs, and none that is not trusted yet.
            "tools_generated": true,
            "compatibility": {"runtimes": {"node": ">=18"}},
        });
        if let Some(license) = self.form.license() {
            manifest["license"] = license.into();
        }
        manifest
    }

    fn description(&self) -> String {
        match self.form.description() {
            Some(description) => description.to_owned(),
            None => {
                let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
                format!("Tools: {}", names.join(", "))
            }
        }
    }

    /// What a person must do.
    fn readme(&self) -> String {
        let mut text = format!("# {}\n\n{}\n\n", self.form.name(), self.description());
        text += "These tools run with cycod, which must be installed";
        if !self.needs.is_empty() {
            text += &format!(". They also need: {}", self.needs.join(", "));
        }
        text += ".\n\n## Trust\n\ncycod offers no tool of this bundle until you trust it. In a terminal, go to the directory \
                 `project` of the installed bundle, and review the tools:\n\n```sh\ncycod trust --all\n```\n\nThe log of the \
                 server names the directory. You trust exactly what you review; after an update that changes a tool, review \
                 it again.\n\n";
        if let Some(package) = self.form.npm() {
            text += &format!("If you installed the npm package, `npx {package} trust` does the same.\n\n");
        }
        if let Some(package) = self.form.pypi() {
            text += &format!("If you installed the package of PyPI, `uvx {package} trust` does the same.\n\n");
        }
        text += "## Tools\n\n";
        for tool in &self.tools {
            let description = tool.description.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
            text += format!("- `{}`: {description}", tool.name).trim_end_matches([':', ' ']);
            text += "\n";
        }
        text
    }
}

/// A file of text.
fn text(text: &str) -> PortableFile {
    PortableFile { bytes: text.as_bytes().to_vec(), is_executable: false }
}

fn pretty(value: &Json) -> String {
    // Strings and numbers can always be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a description, as long as `server.json` has it.
fn cut(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST_DESCRIPTION) {
        None => line,
        Some(_) => line.chars().take(LONGEST_DESCRIPTION - 1).chain(['…']).collect(),
    }
}
