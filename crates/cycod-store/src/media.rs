/// What files of the usual kinds have at the offset given.
const SIGNATURES: [(usize, &[u8], &str); 22] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "application/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"BZh", "application/x-bzip2"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"\0asm", "application/wasm"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// Returns the media type of what begins with `head`.
pub(crate) fn media_type(head: &[u8], is_text: bool) -> &'static str {
    let known =
        SIGNATURES.iter().find(|(offset, bytes, _)| head.get(*offset..).is_some_and(|rest| rest.starts_with(bytes)));
    match (known, is_text) {
        (Some((_, _, media_type)), false) => media_type,
        (None, false) => "application/octet-stream",
        (_, true) if matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) => "application/json",
        (_, true) => "text/plain",
    }
}
