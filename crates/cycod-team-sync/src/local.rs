//! What is here already of a release, so that only what has changed is fetched.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use cycod_team::{BlobDigest, LARGEST_FILE, PARTS, Part, ReleaseDocument, ReleaseFiles as _, ReleasedFile};

use crate::{ReleaseDirectory, remote::RELEASE};

/// The file of a release that is in force with the list of its files.
pub(crate) const LIST: &str = "list.json";

/// The files of the release that is in force.
#[derive(Debug, Default)]
pub(crate) struct Here {
    directory: PathBuf,
    /// By digest.
    blobs: BTreeMap<BlobDigest, PathBuf>,
}

impl Here {
    /// Looks what the directory of a release has.
    pub(crate) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), blobs: tools(directory).collect() }
    }

    /// Whether nothing is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.directory.as_os_str().is_empty()
    }

    /// The bytes of a file with this digest, if they are here.
    pub(crate) fn blob(&self, digest: BlobDigest) -> Option<Vec<u8>> {
        let path = self.blobs.get(&digest)?;
        let bytes = ReleaseDirectory(PathBuf::new()).read(path.to_str()?, LARGEST_FILE).ok()??;
        (BlobDigest::of(&bytes) == digest).then_some(bytes)
    }

    /// The bytes of a part with this digest, if they are here.
    pub(crate) fn part(&self, name: &str, digest: BlobDigest) -> Option<Vec<u8>> {
        let bytes = fs::read(self.directory.join(part_file(name)?)).ok()?;
        (BlobDigest::of(&bytes) == digest).then_some(bytes)
    }

    /// A document of the release in force or of its root, or their signatures; whether it is that is for the caller to check.
    pub(crate) fn document(&self, file: &str) -> Option<Vec<u8>> {
        fs::read(self.directory.join(file.replace('/', "-"))).ok()
    }

    /// Whether it has exactly these files, and these parts.
    pub(crate) fn is_exactly(&self, tools: &BTreeMap<String, ReleasedFile>, parts: &BTreeMap<String, Vec<u8>>) -> bool {
        let mut there = BTreeSet::new();
        let root = self.directory.join("tools");
        let mut waiting = vec![root.clone()];
        while let Some(directory) = waiting.pop() {
            let Ok(entries) = fs::read_dir(&directory) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        let path = entry.path();
                        let Some(path) = path.strip_prefix(&root).ok().and_then(Path::to_str) else { return false };
                        there.insert(path.to_owned());
                    }
                    _ => return false,
                }
            }
        }
        let has = |path: &String, file: &ReleasedFile| {
            there.contains(path) && fs::read(root.join(path)).is_ok_and(|bytes| BlobDigest::of(&bytes) == file.sha256)
        };
        let is_part = |(name, file): &(&str, &str)| {
            *name == "tools" || fs::read(self.directory.join(file)).ok().as_ref() == parts.get(*name)
        };
        there.len() == tools.len() && tools.iter().all(|(path, file)| has(path, file)) && PARTS.iter().all(is_part)
    }
}

/// The files below `tools` of a release that is here, by the digests that its list says.
fn tools(directory: &Path) -> impl Iterator<Item = (BlobDigest, PathBuf)> {
    let list = fs::read(directory.join(LIST)).unwrap_or_default();
    let list: BTreeMap<String, ReleasedFile> = serde_json::from_slice(&list).unwrap_or_default();
    list.into_iter().map(|(path, file)| (file.sha256, directory.join("tools").join(path)))
}

/// A release that is here.
pub(crate) struct Kept {
    pub(crate) document: ReleaseDocument,
    /// The digest of the document.
    pub(crate) digest: BlobDigest,
    /// The document, the parts and the files, by the digests that it says.
    pub(crate) files: BTreeMap<BlobDigest, PathBuf>,
}

impl Kept {
    /// Reads the release of a directory.
    pub(crate) fn at(directory: &Path) -> io::Result<Self> {
        let path = directory.join(RELEASE);
        let bytes = fs::read(&path)?;
        let (document, digest): (ReleaseDocument, _) = (serde_json::from_slice(&bytes)?, BlobDigest::of(&bytes));
        let part = |(name, part): (&String, &Part)| Some((part.sha256, directory.join(part_file(name)?)));
        let files = tools(directory).chain(document.parts.iter().filter_map(part)).chain([(digest, path)]).collect();
        Ok(Self { document, digest, files })
    }
}

/// The file in which a part is kept.
pub(crate) fn part_file(name: &str) -> Option<&'static str> {
    PARTS.iter().find(|(part, _)| *part == name).map(|(part, file)| if *part == "tools" { LIST } else { *file })
}
