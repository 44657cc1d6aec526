//! What package managers of Windows read of the archive for Windows.

use serde_json::{Value, json};

/// How winget knows the package: by its publisher and its name.
const ID: &str = "cycod.cycod";

/// The version of the format of winget's files: <https://github.com/microsoft/winget-cli/tree/master/schemas/JSON/manifests>.
const FORMAT: &str = "1.10.0";

/// The archive that is installed.
pub(super) struct Archive<'a> {
    pub(super) version: &'a str,
    /// What it is for, in a line.
    pub(super) about: &'a str,
    pub(super) license: &'a str,
    /// Where the files of the release are.
    pub(super) url: &'a str,
    /// Its name without the ending, and that of the directory in it.
    pub(super) name: &'a str,
    pub(super) digest: &'a str,
}

impl Archive<'_> {
    fn address(&self) -> String {
        format!("{}/{}.zip", self.url, self.name)
    }

    pub(super) fn scoop(&self) -> Value {
        json!({
            "version": self.version, "description": self.about, "homepage": self.url, "license": "MIT|Apache-2.0",
            "architecture": {"64bit": {"url": self.address(), "hash": self.digest, "extract_dir": self.name}},
            "bin": "cycod.exe",
        })
    }

    /// The three files of a version for winget, by name.
    pub(super) fn winget(&self) -> [(String, Value); 3] {
        let file = |kind: &str, more: Value| {
            let mut file = json!({
                "PackageIdentifier": ID, "PackageVersion": self.version, "ManifestType": kind, "ManifestVersion": FORMAT,
            });
            if let (Some(all), Value::Object(more)) = (file.as_object_mut(), more) {
                all.extend(more);
            }
            file
        };
        let program = format!("{}\\cycod.exe", self.name);
        let installer = json!({
            "InstallerType": "zip", "NestedInstallerType": "portable", "Commands": ["cycod"],
            "NestedInstallerFiles": [{"RelativeFilePath": program, "PortableCommandAlias": "cycod"}],
            "Installers": [{"Architecture": "x64", "InstallerUrl": self.address(), "InstallerSha256": self.digest}],
        });
        let locale = json!({
            "PackageLocale": "en-US", "Publisher": "cycod", "PackageName": "cycod", "License": self.license, "ShortDescription": self.about,
        });
        [
            (format!("{ID}.yaml"), file("version", json!({"DefaultLocale": "en-US"}))),
            (format!("{ID}.installer.yaml"), file("installer", installer)),
            (format!("{ID}.locale.en-US.yaml"), file("defaultLocale", locale)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;

    const ARCHIVE: Archive<'_> = Archive {
        version: "1.2.3",
        about: "Tools",
        license: "MIT",
        url: "https://example.com/v1.2.3",
        name: "cycod-1.2.3-x86_64-pc-windows-gnu",
        digest: "0123",
    };

    #[test]
    fn scoop_finds_the_program_in_the_archive() {
        let manifest = ARCHIVE.scoop();
        let archive = &manifest["architecture"]["64bit"];
        assert_eq!(archive["url"], "https://example.com/v1.2.3/cycod-1.2.3-x86_64-pc-windows-gnu.zip");
        assert_eq!((&archive["hash"], &archive["extract_dir"]), (&"0123".into(), &ARCHIVE.name.into()));
    }

    #[test]
    fn the_files_of_winget_are_of_one_version() {
        let files = ARCHIVE.winget();
        let kinds = files.each_ref().map(|(_, file)| file["ManifestType"].as_str().unwrap_or_default());
        assert_eq!(kinds, ["version", "installer", "defaultLocale"]);
        assert!(files.iter().all(|(_, file)| file["PackageVersion"] == "1.2.3"));
        let nested = &files[1].1["NestedInstallerFiles"][0]["RelativeFilePath"];
        assert_eq!(nested, "cycod-1.2.3-x86_64-pc-windows-gnu\\cycod.exe");
    }
}
