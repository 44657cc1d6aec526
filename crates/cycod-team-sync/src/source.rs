//! Where a team publishes its releases.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cycod_file::is_nothing;
use cycod_team::ReleaseFiles;
use reqwest::Url;

/// Where a team publishes its releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamSource {
    /// A directory, such as the clone of a repository. It is only read.
    Directory(PathBuf),
    /// The address of a directory on a web server.
    Web(Url),
}

impl TeamSource {
    /// Reads what someone wrote: an address with `https://`, `http://` or `file://`, or a path.
    ///
    /// # Errors
    /// When it is neither; the message says why.
    pub fn parse(text: &str, working_directory: &Path) -> Result<Self, UnusableSource> {
        Self::read(text, working_directory).map_err(UnusableSource)
    }

    fn read(text: &str, working_directory: &Path) -> Result<Self, String> {
        let Some((scheme, _)) = text.split_once("://") else {
            return match text {
                "" => Err("an empty text is no address".to_owned()),
                path => Ok(Self::Directory(working_directory.join(path))),
            };
        };
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        match scheme {
            "file" => url.to_file_path().map(Self::Directory).map_err(|()| "it names no directory here".to_owned()),
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                Err("it has a password, which would be stored: use a source that needs none".to_owned())
            }
            "http" | "https" if url.query().is_some() || url.fragment().is_some() => {
                Err("it has a query, but must be the address of a directory".to_owned())
            }
            "http" | "https" => {
                let mut url = url;
                if !url.path().ends_with('/') {
                    url.set_path(&format!("{}/", url.path()));
                }
                Ok(Self::Web(url))
            }
            _ => Err(format!("`{scheme}` is not supported: use https, http or file, or clone the repository")),
        }
    }
}

/// Why a text names no source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableSource(String);

impl fmt::Display for UnusableSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnusableSource {}

impl fmt::Display for TeamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Web(url) => url.fmt(f),
        }
    }
}

/// A directory with releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseDirectory(pub PathBuf);

impl ReleaseFiles for ReleaseDirectory {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.0.join(path);
        match fs::metadata(&path) {
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(error),
            Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("it isn't a plain file")),
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_source() {
        let here = Path::new("/work");
        let source = |text: &str| TeamSource::parse(text, here).map(|source| source.to_string());
        assert_eq!(source("https://tools.example.com/acme"), Ok("https://tools.example.com/acme/".to_owned()));
        assert_eq!(source("http://localhost:80/"), Ok("http://localhost/".to_owned()));
        assert_eq!(source("releases"), Ok("/work/releases".to_owned()));
        assert_eq!(source("file:///srv/team%20tools"), Ok("/srv/team tools".to_owned()));
        for wrong in ["", "ssh://host/x", "https://ada:secret@host/", "https://host/?a=b", "file://elsewhere/x"] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
    }
}
