use crate::{Kept, OutputId, Outputs, StoreError, kept::Content, outputs::Part, tally::Tally};

/// An output while it comes in: small ones stay in memory, others go to a private file at once.
///
/// Dropped before [`finish`](Spool::finish), it leaves nothing behind. After an error, such as a full disk, this output
/// is lost and every further call says so; no other output is touched.
pub struct Spool {
    outputs: Outputs,
    id: OutputId,
    limit_in_memory: usize,
    tally: Tally,
    content: Result<Growing, ()>,
}

enum Growing {
    Memory(Vec<u8>),
    File(Part),
}

impl Spool {
    pub(crate) fn new(outputs: Outputs, id: OutputId, limit_in_memory: usize) -> Spool {
        Spool { outputs, id, limit_in_memory, tally: Tally::new(), content: Ok(Growing::Memory(Vec::new())) }
    }

    /// Returns the name of the output.
    pub fn id(&self) -> &OutputId {
        &self.id
    }

    /// Returns how many bytes came in.
    pub fn bytes(&self) -> u64 {
        self.tally.bytes
    }

    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let content = std::mem::replace(&mut self.content, Err(())).map_err(|()| StoreError::Failed)?;
        let limit = self.outputs.retention.max_bytes;
        if self.tally.bytes.saturating_add(bytes.len() as u64) > limit {
            return Err(StoreError::TooLarge { limit });
        }
        self.content = Ok(match content {
            Growing::Memory(mut memory) if memory.len() + bytes.len() <= self.limit_in_memory => {
                memory.extend_from_slice(bytes);
                Growing::Memory(memory)
            }
            Growing::Memory(memory) => {
                let mut part = Part::create(&self.outputs, &self.id)?;
                part.write(&memory)?;
                part.write(bytes)?;
                Growing::File(part)
            }
            Growing::File(mut part) => {
                part.write(bytes)?;
                Growing::File(part)
            }
        });
        self.tally.add(bytes);
        Ok(())
    }

    /// Ends the output. What went to a file can be found by every process from now on.
    pub fn finish(self) -> Result<Kept, StoreError> {
        let (totals, index) = self.tally.finish();
        let content = match self.content.map_err(|()| StoreError::Failed)? {
            Growing::Memory(memory) => Content::Memory(memory),
            Growing::File(part) => Content::File(part.keep(&self.id, &totals, &index)?),
        };
        Ok(Kept::new(self.outputs, self.id, totals, index, content))
    }
}
