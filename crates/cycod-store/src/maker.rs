use std::fmt;

use crate::{
    canonical::Digest,
    id::{read_hex, write_hex},
};

/// Who made an output: for whom it was made, and by which tool.
///
/// Only its owner can read an output, and room is shared out first between owners, then between the tools of one.
/// Digests of both are kept, so that neither makes the files of a store readable for what it says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Maker {
    owner: [u8; Self::PART],
    tool: [u8; Self::PART],
}

impl Maker {
    const PART: usize = 16;
    pub(crate) const LENGTH: usize = 2 * Self::PART;

    /// A tool that runs for an owner.
    pub fn new(owner: &str, tool: &str) -> Maker {
        Maker { owner: digest(owner), tool: digest(tool) }
    }

    /// Whether what it makes belongs to this owner.
    pub fn is_for(&self, owner: &str) -> bool {
        self.owner == digest(owner)
    }

    /// The owner, and the tool, as keys to sum up by.
    pub(crate) fn parts(self) -> ([u8; Self::PART], [u8; Self::PART]) {
        (self.owner, self.tool)
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..Self::PART].copy_from_slice(&self.owner);
        bytes[Self::PART..].copy_from_slice(&self.tool);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Maker> {
        let (owner, tool) = bytes.split_at_checked(Self::PART)?;
        Some(Maker { owner: owner.try_into().ok()?, tool: tool.try_into().ok()? })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Maker> {
        Maker::from_bytes(&read_hex::<{ Self::LENGTH }>(text)?)
    }
}

fn digest(text: &str) -> [u8; Maker::PART] {
    let mut bytes = [0; Maker::PART];
    bytes.copy_from_slice(&Digest::of(text.as_bytes()).0[..Maker::PART]);
    bytes
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.to_bytes())
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Maker({self})")
    }
}
