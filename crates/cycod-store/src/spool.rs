//! Takes in an output while it is written, in memory first and then in a file.

use crate::{
    Maker, OutputId, Outputs, StoreError, StoredOutput,
    kept::Content,
    outputs::{Part, Ring},
    tally::Tally,
};

/// The most bytes that can belong to a character which began before them.
const REST_OF_CHARACTER: usize = 3;

/// An output while it comes in: small ones stay in memory, others go to a private file at once.
///
/// Of one that is larger than [`Retention::max_one`](crate::Retention::max_one), the first three quarters of that and
/// the last quarter are kept, with a line between them that says how many bytes are missing.
///
/// Dropped before [`finish`](Spool::finish), it leaves nothing behind. After an error, such as a full disk, this output
/// is lost and every further call says so; no other output is touched.
pub struct Spool {
    outputs: Outputs,
    id: OutputId,
    maker: Maker,
    limit_in_memory: usize,
    /// How much is kept of the beginning, and of the end.
    most: (u64, u64),
    tally: Tally,
    content: Result<Growing, ()>,
}

enum Growing {
    Memory(Vec<u8>),
    File(Part),
    /// The beginning is complete; what comes now is the end until more comes.
    Beginning(Part, Ring),
}

impl Spool {
    pub(crate) fn new(outputs: Outputs, id: OutputId, maker: Maker, limit_in_memory: usize) -> Spool {
        let most = outputs.retention.max_one.min(outputs.retention.max_bytes);
        let most = (most - most / 4, most / 4);
        let content = Ok(Growing::Memory(Vec::new()));
        Spool { outputs, id, maker, limit_in_memory, most, tally: Tally::new(), content }
    }

    /// Returns the name of the output.
    pub fn id(&self) -> &OutputId {
        &self.id
    }

    /// Returns how many bytes came in.
    pub fn bytes(&self) -> u64 {
        let end = match &self.content {
            Ok(Growing::Beginning(_, end)) => end.bytes(),
            _ => 0,
        };
        self.tally.bytes + end
    }

    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let content = std::mem::replace(&mut self.content, Err(())).map_err(|()| StoreError::Failed)?;
        self.content = Ok(self.grown(content, bytes)?);
        Ok(())
    }

    fn grown(&mut self, content: Growing, bytes: &[u8]) -> Result<Growing, StoreError> {
        let (mut part, mut end, rest) = match content {
            Growing::Memory(mut memory) => {
                let all = memory.len() + bytes.len();
                if all <= self.limit_in_memory && all as u64 <= self.most.0 {
                    memory.extend_from_slice(bytes);
                    self.tally.add(bytes);
                    return Ok(Growing::Memory(memory));
                }
                let mut part = Part::create(&self.outputs, &self.id, &self.maker)?;
                part.write(&memory)?;
                (part, None, bytes)
            }
            Growing::File(part) => (part, None, bytes),
            Growing::Beginning(part, end) => (part, Some(end), bytes),
        };
        let rest = if end.is_none() {
            let (head, rest) = rest.split_at(self.end_of_beginning(rest));
            part.write(head)?;
            self.tally.add(head);
            rest
        } else {
            rest
        };
        if rest.is_empty() && end.is_none() {
            return Ok(Growing::File(part));
        }
        let mut end = match end.take() {
            Some(end) => end,
            None => Ring::create(&self.outputs, &self.id, &self.maker, self.most.1)?,
        };
        end.write(rest)?;
        Ok(Growing::Beginning(part, end))
    }

    /// How many of these bytes still belong to the beginning, which ends with a whole character.
    fn end_of_beginning(&self, bytes: &[u8]) -> usize {
        let room = self.most.0.saturating_sub(self.tally.bytes);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let over = usize::try_from(self.tally.bytes.saturating_sub(self.most.0)).unwrap_or(usize::MAX);
        let more = bytes[room..].iter().take(REST_OF_CHARACTER.saturating_sub(over));
        room + more.take_while(|byte| is_continuation(**byte)).count()
    }

    /// Ends the output. What went to a file can be found by every process from now on.
    pub fn finish(mut self) -> Result<StoredOutput, StoreError> {
        let mut dropped = 0;
        let content = match std::mem::replace(&mut self.content, Err(())).map_err(|()| StoreError::Failed)? {
            Growing::Beginning(mut part, end) => {
                dropped = self.join(&mut part, end)?;
                Growing::File(part)
            }
            content => content,
        };
        let (totals, index) = self.tally.finish(dropped);
        let content = match content {
            Growing::Memory(memory) => Content::Memory(memory),
            Growing::File(part) | Growing::Beginning(part, _) => {
                Content::File(part.keep(&self.id, &self.maker, &totals, &index)?)
            }
        };
        Ok(StoredOutput::new(self.outputs, self.id, self.maker, (totals, index), content))
    }

    /// Puts the end behind the beginning, and says how many bytes between them were not kept.
    fn join(&mut self, part: &mut Part, end: Ring) -> Result<u64, StoreError> {
        let mut dropped = end.dropped();
        let is_cut = dropped > 0;
        let mut is_first = true;
        end.read(&mut |mut bytes| {
            if is_first && is_cut {
                let rest = bytes.iter().take(REST_OF_CHARACTER).take_while(|byte| is_continuation(**byte)).count();
                dropped += rest as u64;
                bytes = &bytes[rest..];
                let newline = if self.tally.ends_line() { "" } else { "\n" };
                let note = format!("{newline}[… {dropped} bytes were not stored: the output is too large …]\n");
                part.write(note.as_bytes())?;
                self.tally.add(note.as_bytes());
            }
            is_first = false;
            part.write(bytes)?;
            self.tally.add(bytes);
            Ok(())
        })?;
        Ok(dropped)
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}
