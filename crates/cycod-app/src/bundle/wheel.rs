//! Packages for PyPI: wheels, as their specification describes them
//! (https://packaging.python.org/en/latest/specifications/binary-distribution-format/).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::{BundledFiles, PROJECT, archive, one_line, text};

/// What starts cycod.
const LAUNCHER: &str = include_str!("launcher.py");

/// What a wheel says about itself.
pub(super) struct WheelAbout<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    pub(super) summary: &'a str,
    pub(super) author: &'a str,
    pub(super) license: Option<&'a str>,
    pub(super) readme: &'a str,
}

impl WheelAbout<'_> {
    /// The name of the package in names of files: no `-` and `.`, which separate parts there.
    fn escaped(&self) -> String {
        let parts: Vec<&str> = self.package.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
        parts.join("_")
    }

    /// The name of the file.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}-py3-none-any.whl", self.escaped(), self.version)
    }

    /// The wheel with a project's files.
    pub(super) fn wheel(&self, project: &BundledFiles) -> Vec<u8> {
        let Self { package, version, .. } = self;
        // A module of its own name, which no other package has.
        let module = format!("cycod_bundle_{}", self.escaped());
        let about = format!("{}-{version}.dist-info", self.escaped());
        let files = project.iter().map(|(path, file)| (format!("{module}/{PROJECT}/{path}"), file.clone()));
        let mut files: BundledFiles = files.collect();
        let wheel = "Wheel-Version: 1.0\nGenerator: cycod\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let program = format!("[console_scripts]\n{package} = {module}:main\n");
        for (path, content) in [
            (format!("{module}/__init__.py"), LAUNCHER),
            (format!("{about}/METADATA"), &self.metadata()),
            (format!("{about}/WHEEL"), wheel),
            (format!("{about}/entry_points.txt"), &program),
        ] {
            files.insert(path, text(content));
        }
        let mut record: String = files
            .iter()
            .map(|(path, file)| {
                let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
                format!("{},sha256={digest},{}\n", quoted(path), file.bytes.len())
            })
            .collect();
        let path = format!("{about}/RECORD");
        record += &format!("{path},,\n");
        files.insert(path, text(&record));
        archive::zip(&files)
    }

    fn metadata(&self) -> String {
        let mut lines = vec![
            "Metadata-Version: 2.1".to_owned(),
            format!("Name: {}", self.package),
            format!("Version: {}", self.version),
            format!("Summary: {}", one_line(self.summary)),
            format!("Author: {}", one_line(self.author)),
        ];
        lines.extend(self.license.map(|license| format!("License: {}", one_line(license))));
        lines.push("Requires-Python: >=3.8".to_owned());
        lines.push("Description-Content-Type: text/markdown".to_owned());
        format!("{}\n\n{}", lines.join("\n"), self.readme)
    }
}

/// A path as a field of comma-separated values.
fn quoted(path: &str) -> String {
    if path.contains([',', '"', '\n', '\r']) { format!("\"{}\"", path.replace('"', "\"\"")) } else { path.to_owned() }
}
