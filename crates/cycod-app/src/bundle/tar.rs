//! Archives of npm packages, whose bytes follow from their files alone: sorted, uncompressed, without times.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use super::BundledFiles;

/// The unit of the format.
const BLOCK: usize = 512;

/// The longest name, and the longest directory before it, in bytes.
const LONGEST: (usize, usize) = (100, 155);

/// The directory that npm expects in a package.
const ROOT: &str = "package";

/// Whether a path fits the format.
pub(super) fn takes(path: &str) -> bool {
    split(&format!("{ROOT}/{path}")).is_some()
}

/// The archive with these files, whose paths fit.
pub(super) fn package(files: &BundledFiles) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, file) in files {
        let path = format!("{ROOT}/{path}");
        let Some((directory, name)) = split(&path) else { continue };
        let mode = if file.is_executable { "0000755\0" } else { "0000644\0" };
        let size = format!("{:011o}\0", file.bytes.len());
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(100, mode.as_bytes());
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, size.as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, b"0");
        put(257, b"ustar\x0000");
        put(345, directory.as_bytes());
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(header);
        archive.extend(&file.bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    gzip(&archive)
}

/// A path as the format has it: a directory and a name.
fn split(path: &str) -> Option<(&str, &str)> {
    let fits = |(directory, name): &(&str, &str)| name.len() <= LONGEST.0 && directory.len() <= LONGEST.1;
    let parts = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    std::iter::once(("", path)).chain(parts).find(fits)
}

/// A stream that holds the bytes as they are, from no time and no system.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut stream = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::none());
    // Nothing that is written into memory fails.
    _ = stream.write_all(bytes);
    stream.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_split_between_names() {
        let long = format!("{}/{}", "d".repeat(150), "n".repeat(100));
        assert_eq!(split(&long).map(|(directory, name)| (directory.len(), name.len())), Some((150, 100)));
        assert!(!takes(&"n".repeat(101)) && !takes(&format!("{}/n", "d".repeat(156))));
    }
}
