//! The release of a team: a signed, numbered, expiring list of files with their digests. This crate writes one and verifies
//! one.
//!
//! Where a release was found proves nothing, so that any directory, web server or repository can hold it. [`verify`] checks
//! everything, in one order, and every failure has a code of its own. [`RootDraft`] and [`ReleaseDraft`] make the files;
//! signatures are those of `ssh-keygen -Y sign`, over [`signed_bytes`].
//!
//! Nothing here opens a file, asks a clock or starts a program: the caller gives the bytes and the time.

mod channel;
mod digest;
mod document;
mod draft;
mod error;
pub mod hex;
mod latest;
mod past;
mod path;
mod request;
mod review;
mod signature;
mod ticket;
mod verify;

pub use channel::{ChannelFiles, TeamChannel, UnusableChannel};
pub use digest::BlobDigest;
pub use document::{
    FORMAT, PARTS, Part, ReleaseDocument, ReleasedFile, RootDocument, SeenNumber, SeenRelease, SeenRoot, SignedRole,
    TeamKeys, TeamRoles,
};
pub use draft::{DraftFile, ReleaseDraft, RootDraft};
pub use error::ReleaseError;
pub use latest::LatestRelease;
pub use past::{PastRelease, past_files};
pub use path::is_released_path;
pub use request::{HubRequest, device_text, release_tag};
pub use review::{
    ChangeClass, Proposal, ProposalDocument, ProposalSource, ProposalState, ProposedChange, Review, ReviewDocument,
    ReviewList, ReviewRole, ReviewVerdict, ReviewedFiles, SignedProposal, SignedText, UnknownClass, YankDocument,
    channel_files, proposal_text, reviewed_files, text,
};
pub use signature::{NAMESPACE, TeamKey, UnusableKey, signed_bytes, verify_signature};
pub use ticket::{
    BytesInParts, ConsentAnswer, ConsentQuestion, LATEST_START, LeaseDocument, MOST_PART, MOST_PARTS, MOST_QUESTION,
    MOST_TICKET_BYTES, PastDocument, SignedAnswer, StepChanges, StepLease, TicketDocument, TicketFile, TicketSchedule,
    TicketTrace, TicketWorkspace, answer_bytes, ticket_bytes,
};
pub use verify::{
    Anchor, LARGEST_FILE, MOST_BYTES, MOST_FILES, ReleaseFiles, VerifiedRelease, verify, verify_last, verify_roots,
};
