//! How files are packed: what there is, as JSON, and then the bytes of the files in that order, compressed as a whole.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
};

use cycod_team::BlobDigest;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Serialize, de::DeserializeOwned};

use crate::{MOST_BYTES, MOST_FILES, MOST_PACKED, ProjectEntry, ProjectPath, SnapshotError};

/// What the packed bytes begin with.
const BEGIN: &[u8; 8] = b"cycod\0s1";

/// The most bytes of the part that says what there is.
const MOST_HEAD: u32 = 32 << 20;

/// The bytes of files.
pub(crate) type Contents = BTreeMap<ProjectPath, Vec<u8>>;

/// How many bytes each of them has.
pub(crate) fn sizes(contents: &Contents) -> Vec<(String, u64)> {
    contents.iter().map(|(path, content)| (path.to_string(), content.len() as u64)).collect()
}

/// Packs what there is, and the bytes of the files.
pub(crate) fn pack(head: &impl Serialize, contents: &Contents) -> Result<Vec<u8>, SnapshotError> {
    let failed = |error: io::Error| SnapshotError::failed("packing", error);
    let head = serde_json::to_vec(head).map_err(|error| SnapshotError::broken(error.to_string()))?;
    let length = u32::try_from(head.len()).ok().filter(|length| *length <= MOST_HEAD);
    let length = length.ok_or_else(|| SnapshotError::too_large("the names are too long".to_owned(), Vec::new()))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(BEGIN).map_err(failed)?;
    encoder.write_all(&length.to_le_bytes()).map_err(failed)?;
    encoder.write_all(&head).map_err(failed)?;
    for content in contents.values() {
        encoder.write_all(content).map_err(failed)?;
    }
    let packed = encoder.finish().map_err(failed)?;
    if packed.len() > MOST_PACKED {
        let what =
            format!("the files have {} bytes when packed, and {} MiB can travel", packed.len(), MOST_PACKED >> 20);
        return Err(SnapshotError::too_large(what, sizes(contents)));
    }
    Ok(packed)
}

/// Unpacks: `entries` finds in what there is the files whose bytes follow. Nothing is read beyond what is allowed.
pub(crate) fn unpack<H: DeserializeOwned>(
    packed: &[u8],
    entries: impl for<'h> Fn(&'h H) -> Vec<(&'h ProjectPath, &'h ProjectEntry)>,
) -> Result<(H, Contents), SnapshotError> {
    let cut = |error: io::Error| SnapshotError::broken(error.to_string());
    if packed.len() > MOST_PACKED {
        return Err(SnapshotError::broken("there is too much"));
    }
    let mut decoder = GzDecoder::new(packed);
    let (mut begin, mut length) = ([0; 8], [0; 4]);
    decoder.read_exact(&mut begin).map_err(cut)?;
    decoder.read_exact(&mut length).map_err(cut)?;
    let length = u32::from_le_bytes(length);
    if &begin != BEGIN || length > MOST_HEAD {
        return Err(SnapshotError::broken("this isn't what cycod packs"));
    }
    let mut head = Vec::new();
    decoder.by_ref().take(u64::from(length)).read_to_end(&mut head).map_err(cut)?;
    let head: H = serde_json::from_slice(&head).map_err(|error| SnapshotError::broken(error.to_string()))?;
    let listed = entries(&head);
    let files = listed.iter().filter_map(|(path, entry)| match entry {
        ProjectEntry::File { size, sha256, .. } => Some((*path, *size, sha256)),
        _ => None,
    });
    let all = files.clone().try_fold(0_u64, |all, (_, size, _)| all.checked_add(size));
    if listed.len() > MOST_FILES || all.is_none_or(|all| all > MOST_BYTES) {
        return Err(SnapshotError::broken("there is too much"));
    }
    let mut contents = Contents::new();
    for (path, size, sha256) in files {
        let mut content = Vec::new();
        decoder.by_ref().take(size).read_to_end(&mut content).map_err(cut)?;
        if content.len() as u64 != size || BlobDigest::of(&content) != *sha256 {
            return Err(SnapshotError::broken("the bytes of a file are others than those listed"));
        }
        contents.insert(path.clone(), content);
    }
    // This also checks the sum at the end.
    if decoder.read(&mut [0]).map_err(cut)? != 0 {
        return Err(SnapshotError::broken("there is more than is listed"));
    }
    Ok((head, contents))
}
