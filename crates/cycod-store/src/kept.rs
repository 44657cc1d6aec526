//! An output that is kept, and how it is read.

use std::{fs::File, io};

use crate::{
    Digest, Maker, OutputId, Outputs, StoreError, media,
    outputs::Part,
    tally::{LineIndex, MOST_CHECKPOINTS, Totals},
};

/// The last bytes of every complete file.
const MAGIC: &[u8; 8] = b"cycodou2";
/// Bytes, newlines, flags, dropped bytes, stride, checkpoints, SHA-256, maker, magic.
const FOOTER: usize = 6 * 8 + 32 + Maker::LENGTH + 8;
/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// A complete output. None of its questions loads it, whatever its size.
#[derive(Debug)]
pub struct StoredOutput {
    outputs: Outputs,
    id: OutputId,
    maker: Maker,
    pub(crate) totals: Totals,
    pub(crate) index: LineIndex,
    content: Content,
}

/// Where the bytes are.
#[derive(Debug)]
pub(crate) enum Content {
    Memory(Vec<u8>),
    File(File),
}

impl StoredOutput {
    pub(crate) fn new(
        outputs: Outputs,
        id: OutputId,
        maker: Maker,
        (totals, index): (Totals, LineIndex),
        content: Content,
    ) -> StoredOutput {
        StoredOutput { outputs, id, maker, totals, index, content }
    }

    /// Reads what stands behind the bytes; `None` when the file is not complete.
    pub(crate) fn read(outputs: Outputs, id: OutputId, file: File) -> io::Result<Option<StoredOutput>> {
        let length = file.metadata()?.len();
        Ok(read_trailer(&file, length)?.map(|(maker, totals, index)| StoredOutput {
            outputs,
            id,
            maker,
            totals,
            index,
            content: Content::File(file),
        }))
    }

    /// Returns the name of the output.
    pub fn id(&self) -> &OutputId {
        &self.id
    }

    /// Returns who made it.
    pub fn maker(&self) -> &Maker {
        &self.maker
    }

    /// Returns how many bytes of its middle were not kept, because it was larger than one output may be. A line in their
    /// place says so.
    pub fn dropped(&self) -> u64 {
        self.totals.dropped
    }

    /// Returns how many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// Returns how many lines it has, the last one with or without a newline.
    pub fn lines(&self) -> u64 {
        self.totals.newlines + u64::from(self.totals.open_line)
    }

    /// Returns the digest of all bytes.
    pub fn sha256(&self) -> Digest {
        self.totals.sha256
    }

    /// Whether it is UTF-8 without NUL from beginning to end.
    pub fn is_text(&self) -> bool {
        self.totals.is_text
    }

    /// Returns what it probably is, such as `image/png`: `text/plain` or `application/json` for text.
    pub fn media_type(&self) -> Result<&'static str, StoreError> {
        Ok(media::media_type(&self.block(0, 512)?, self.totals.is_text))
    }

    /// Whether another process, or this one after a restart, can find it.
    pub fn is_stored(&self) -> bool {
        matches!(self.content, Content::File(_))
    }

    /// Writes an output that is only in memory to a file, so that it can be referred to.
    pub fn store(&mut self) -> Result<(), StoreError> {
        if let Content::Memory(memory) = &self.content {
            let mut part = Part::create(&self.outputs, &self.id, &self.maker)?;
            part.write(memory)?;
            self.content = Content::File(part.keep(&self.id, &self.maker, &self.totals, &self.index)?);
        }
        Ok(())
    }

    /// Reads bytes from `offset` on; fewer than asked for only at the end.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, StoreError> {
        self.try_read_at(offset, into).map_err(self.failed_to_read())
    }

    pub(crate) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    pub(crate) fn failed_to_read(&self) -> impl FnOnce(io::Error) -> StoreError + use<> {
        StoreError::io("read", self.outputs.directory().join(self.id.file_name()))
    }

    pub(crate) fn try_read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.totals.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = left.min(into.len());
        if wanted == 0 {
            return Ok(0);
        }
        let into = &mut into[..wanted];
        match &self.content {
            Content::Memory(memory) => into.copy_from_slice(&memory[memory.len() - left..][..wanted]),
            Content::File(file) => read_exact_at(file, offset, into)?,
        }
        Ok(wanted)
    }

    /// Reads up to `length` bytes, which the caller bounds.
    pub(crate) fn block(&self, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let left = self.totals.bytes.saturating_sub(offset).min(length);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX)];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns where line `number`, counted from 1, begins; the end when there are fewer.
    pub(crate) fn line_start(&self, number: u64) -> Result<u64, StoreError> {
        let start = self.index.line_start(number.max(1) - 1, &|offset, into| self.try_read_at(offset, into));
        Ok(start.map_err(self.failed_to_read())?.unwrap_or(self.totals.bytes))
    }

    /// Returns the number of the line that holds the byte at `offset`.
    pub(crate) fn line_of(&self, offset: u64) -> Result<u64, StoreError> {
        let newlines = self.index.newlines_before(offset, &|offset, into| self.try_read_at(offset, into));
        Ok(newlines.map_err(self.failed_to_read())? + 1)
    }
}

/// Reads one block of at most `most` bytes; an empty one is the end.
pub(crate) fn read_block(read: crate::tally::ReadAt<'_>, offset: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; BLOCK.min(usize::try_from(most).unwrap_or(usize::MAX))];
    let length = read(offset, &mut block)?;
    block.truncate(length);
    Ok(block)
}

/// Writes what is known of an output, to stand behind its bytes: one file is complete or is not, two can disagree.
pub(crate) fn trailer(maker: &Maker, totals: &Totals, index: &LineIndex) -> Vec<u8> {
    let flags = u64::from(totals.is_text) | u64::from(totals.open_line) << 1;
    let numbers = [totals.bytes, totals.newlines, flags, totals.dropped, index.stride, index.checkpoints.len() as u64];
    let mut trailer: Vec<u8> =
        index.checkpoints.iter().chain(&numbers).flat_map(|number| number.to_le_bytes()).collect();
    trailer.extend_from_slice(&totals.sha256.0);
    trailer.extend_from_slice(&maker.to_bytes());
    trailer.extend_from_slice(MAGIC);
    trailer
}

/// Returns who made the output in a file, without reading what else is known of it; `None` when the file is not complete.
pub(crate) fn maker_of(file: &File) -> io::Result<Option<Maker>> {
    let Some(at) = file.metadata()?.len().checked_sub((Maker::LENGTH + MAGIC.len()) as u64) else { return Ok(None) };
    let mut end = [0; Maker::LENGTH + MAGIC.len()];
    read_exact_at(file, at, &mut end)?;
    let (maker, magic) = end.split_at(Maker::LENGTH);
    Ok((magic == MAGIC).then(|| Maker::from_bytes(maker)).flatten())
}

fn read_trailer(file: &File, length: u64) -> io::Result<Option<(Maker, Totals, LineIndex)>> {
    let Some(footer_at) = length.checked_sub(FOOTER as u64) else { return Ok(None) };
    let mut footer = [0; FOOTER];
    read_exact_at(file, footer_at, &mut footer)?;
    let (numbers, rest) = footer.split_at(6 * 8);
    let (sha256, rest) = rest.split_at(32);
    let (maker, magic) = rest.split_at(Maker::LENGTH);
    let [bytes, newlines, flags, dropped, stride, checkpoints] = to_numbers(numbers)[..] else { return Ok(None) };
    let index_bytes = checkpoints.saturating_mul(8);
    if magic != MAGIC
        || bytes.checked_add(index_bytes) != Some(footer_at)
        || stride == 0
        || checkpoints > MOST_CHECKPOINTS
    {
        return Ok(None);
    }
    let mut index = vec![0; usize::try_from(index_bytes).unwrap_or(usize::MAX)];
    read_exact_at(file, bytes, &mut index)?;
    let index = to_numbers(&index);
    if index.first() != Some(&0) {
        return Ok(None);
    }
    let sha256 = Digest(sha256.try_into().expect("the rest was split at 32"));
    let totals = Totals { bytes, newlines, open_line: flags & 2 != 0, is_text: flags & 1 != 0, dropped, sha256 };
    let Some(maker) = Maker::from_bytes(maker) else { return Ok(None) };
    Ok(Some((maker, totals, LineIndex::from_parts(stride, index, newlines))))
}

fn to_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect()
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                into = &mut into[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
