//! The channels of a team. Each has releases of its own, with numbers of its own; all of them have one root.
//!
//! ```text
//! latest.json release.json parts/…   the channel `stable`
//! channels/beta/…                    the same files of the channel `beta`
//! root/… blobs/…                     for all channels
//! ```

use std::{fmt, io, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{LatestRelease, ReleaseFiles, document::is_team_name};

/// The channel of those who name none.
const STABLE: &str = "stable";

/// A channel of a team, such as `stable` or `beta`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TeamChannel(String);

impl TeamChannel {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether it is the one of those who name none.
    pub fn is_stable(&self) -> bool {
        self.0 == STABLE
    }

    /// Where a file of this channel is, below the directory of releases.
    pub fn path(&self, file: &str) -> String {
        let is_own = file.starts_with("release.json") || file.starts_with("parts/") || file == LatestRelease::FILE;
        if is_own && !self.is_stable() { format!("channels/{}/{file}", self.0) } else { file.to_owned() }
    }
}

impl Default for TeamChannel {
    fn default() -> Self {
        Self(STABLE.to_owned())
    }
}

impl fmt::Display for TeamChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text can't be the name of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableChannel(String);

impl fmt::Display for UnusableChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.escape_default();
        write!(f, "no channel can be called `{name}`: a name has lowercase letters, digits and `-`, at most 32")
    }
}

impl std::error::Error for UnusableChannel {}

impl FromStr for TeamChannel {
    type Err = UnusableChannel;

    fn from_str(text: &str) -> Result<Self, UnusableChannel> {
        if is_team_name(text) { Ok(Self(text.to_owned())) } else { Err(UnusableChannel(text.to_owned())) }
    }
}

impl Serialize for TeamChannel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TeamChannel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The files of one channel in a directory of releases.
pub struct ChannelFiles<'f> {
    /// The directory.
    pub files: &'f dyn ReleaseFiles,
    /// The channel.
    pub channel: &'f TeamChannel,
}

impl fmt::Debug for ChannelFiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChannelFiles({})", self.channel)
    }
}

impl ReleaseFiles for ChannelFiles<'_> {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.files.read(&self.channel.path(path), most)
    }
}
