//! The teams that this user or this machine has joined, and the release of each that is in force.
//!
//! A *place* is a directory `team` beside the tools: `~/.cycod/team` of a user, `/etc/cycod/team` of the machine. Someone
//! who has verified a release writes it there; what lies in `active` then is a scope like any other. A place that says that
//! it was joined and has no release that can be read is a failure, never "no team": deleting a part lifts no rule.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use cycod_file::{is_nothing, loose_machine_path};
use serde_json::{Value as Json, json};

use crate::{ToolOrigin, ToolSource};

/// The largest file about a release that is read.
const LARGEST: u64 = 64 << 10;

/// The channel of a release that names none.
const STABLE: &str = "stable";

/// A directory with what is known of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamPlace {
    /// The directory, as in `/home/ada/.cycod/team`.
    pub directory: PathBuf,
    /// Whether the machine's administrator keeps it, so that no user can leave the team.
    pub is_machines: bool,
}

/// Why the release in force can't be told, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableRelease(String);

/// The release of a team that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRelease {
    /// What the team is called.
    pub team: String,
    /// The channel that it is of.
    pub channel: String,
    /// Its number.
    pub number: u64,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// Until when its tools run, in seconds since 1970.
    pub expires: i64,
    /// Those who signed it, as in `ada@example.com (SHA256:…)`.
    pub signers: Vec<String>,
    /// When the clock here first showed that it had expired, in seconds since 1970. A clock that is set back later doesn't
    /// bring it back: only a newer release does, or someone who says that the clock was wrong then.
    pub seen_over: Option<i64>,
}

impl TeamPlace {
    /// The place in a directory of the user's or of the machine.
    pub fn within(directory: &Path, is_machines: bool) -> Self {
        Self { directory: directory.join("team"), is_machines }
    }

    /// The file that says which team was joined.
    pub fn member(&self) -> PathBuf {
        self.directory.join("member.json")
    }

    /// The directory of the release that is in force.
    pub fn active(&self) -> PathBuf {
        self.directory.join("active")
    }

    /// The file that says which release it is.
    pub fn about(&self) -> PathBuf {
        self.active().join("about.json")
    }

    /// Whether a team was joined here. What cannot be looked at was.
    pub fn is_joined(&self) -> bool {
        !matches!(fs::symlink_metadata(self.member()), Err(error) if is_nothing(&error))
    }

    /// Reads which release is in force.
    ///
    /// # Errors
    /// When that cannot be told; the message says why and what to do.
    pub fn release(&self) -> Result<TeamRelease, UnreadableRelease> {
        let file = self.about();
        let place = self.directory.display();
        let again = if self.is_machines { "sudo cycod team sync --machine" } else { "cycod team sync" };
        let broken = |why: String| {
            UnreadableRelease(format!("the release of the team in `{place}` can't be read: {why}; run {again}"))
        };
        if self.is_machines {
            for path in [&file, &self.member()] {
                let loose = loose_machine_path(path).map_err(|error| broken(format!("{}: {error}", path.display())))?;
                if let Some(loose) = loose {
                    return Err(UnreadableRelease(loose.to_string()));
                }
            }
        }
        let size = fs::metadata(&file).map_err(|error| broken(error.to_string()))?.len();
        if size > LARGEST {
            return Err(broken(format!("`{}` is larger than {LARGEST} bytes", file.display())));
        }
        let bytes = fs::read(&file).map_err(|error| broken(error.to_string()))?;
        let json: Json = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        TeamRelease::from_json(&json).ok_or_else(|| broken(format!("`{}` has another form", file.display())))
    }

    /// Where its tools come from, in the words of a list.
    pub(crate) fn origin(&self) -> Arc<ToolOrigin> {
        let release = self.release().ok();
        Arc::new(ToolOrigin {
            source: ToolSource::Teams,
            version: release.as_ref().map(|release| release.number.to_string()),
            owner: release.map(|release| release.team),
        })
    }
}

impl TeamRelease {
    /// What it is called, as in `acme release 3`, or `acme beta release 3` in another channel than `stable`.
    pub fn name(&self) -> String {
        format!("{} {}release {}", self.team, self.of_channel(), self.number)
    }

    /// The channel before a word, as in `beta `; nothing for `stable`.
    pub fn of_channel(&self) -> String {
        if self.channel == STABLE { String::new() } else { format!("{} ", self.channel) }
    }

    /// Whom to ask about it: those who signed it, by the comments of their keys where they have one.
    pub fn whom_to_ask(&self) -> String {
        let names = self.signers.iter().map(|signer| signer.split(" (SHA256:").next().unwrap_or(signer));
        names.collect::<Vec<_>>().join(" or ")
    }

    /// Whether it has expired. A clock that shows a time before the release was made is wrong, and not believed.
    pub fn is_over(&self, now: SystemTime) -> bool {
        self.seen_over.is_some() || self.expires <= seconds(now).max(self.made)
    }

    /// When it expires.
    pub fn end(&self) -> SystemTime {
        let seconds = u64::try_from(self.expires).unwrap_or_default();
        UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH)
    }

    /// The form in which it is stored.
    pub fn to_json(&self) -> Json {
        json!({
            "format": 1,
            "team": self.team,
            "channel": self.channel,
            "number": self.number,
            "made": self.made,
            "expires": self.expires,
            "signers": self.signers,
            "seen_over": self.seen_over,
        })
    }

    fn from_json(json: &Json) -> Option<Self> {
        (json["format"] == 1).then_some(())?;
        let signers = json["signers"].as_array()?.iter().map(|signer| Some(signer.as_str()?.to_owned()));
        Some(Self {
            team: json["team"].as_str()?.to_owned(),
            channel: json["channel"].as_str().unwrap_or(STABLE).to_owned(),
            number: json["number"].as_u64()?,
            made: json["made"].as_i64()?,
            expires: json["expires"].as_i64()?,
            signers: signers.collect::<Option<_>>()?,
            seen_over: json["seen_over"].as_i64(),
        })
    }
}

fn seconds(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
