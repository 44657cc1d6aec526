//! Zip archives whose bytes follow from their files alone: sorted, uncompressed, without times.

use super::BundledFiles;

/// The version of the format that is needed to read one, and that a Unix system wrote it.
const VERSION: u16 = 20;
const UNIX: u16 = 3 << 8;

/// Names are UTF-8.
const UTF8: u16 = 1 << 11;

/// The first day that the format knows: 1 January 1980.
const DAY: u16 = (1 << 5) | 1;

/// The archive with these files.
pub(super) fn zip(files: &BundledFiles) -> Vec<u8> {
    let (mut archive, mut index) = (Vec::new(), Vec::new());
    for (path, file) in files {
        let at = number(archive.len());
        let mut header = Vec::new();
        for half in [VERSION, UTF8, 0, 0, DAY] {
            header.extend(half.to_le_bytes());
        }
        let size = number(file.bytes.len());
        for whole in [crc32fast::hash(&file.bytes), size, size] {
            header.extend(whole.to_le_bytes());
        }
        header.extend(half(path.len()).to_le_bytes());
        header.extend([0; 2]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&header);
        archive.extend(path.as_bytes());
        archive.extend(&file.bytes);
        index.extend(b"PK\x01\x02");
        index.extend((UNIX | VERSION).to_le_bytes());
        index.extend(&header);
        // No comment, the first disk, nothing about its content.
        index.extend([0; 6]);
        let mode: u32 = if file.is_executable { 0o100_755 } else { 0o100_644 };
        index.extend((mode << 16).to_le_bytes());
        index.extend(at.to_le_bytes());
        index.extend(path.as_bytes());
    }
    let at = number(archive.len());
    let count = half(files.len());
    archive.extend(&index);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(number(index.len()).to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

/// A number of the format; the limits of a bundle are lower.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn half(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
