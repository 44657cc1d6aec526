//! Digests that a team trusts, in a file that its members name.

use std::{collections::BTreeMap, fs, path::Path};

use cycod_diagnostic::{Code, Refusal};
use cycod_store::Digest;
use serde_json::{Map, Value as Json, json};

use super::{TrustSubject, real};
use crate::Engine;

impl Engine {
    /// Reads a file of digests that are trusted, by the tools' names.
    ///
    /// # Errors
    /// When it cannot be read, and when it lies in the project, which would then say itself what is trusted in it.
    pub fn trust_file(&self, file: &Path) -> Result<BTreeMap<String, Digest>, Refusal> {
        let path = self.host().working_directory.join(file);
        let refused = |why: String| {
            let why = format!("cannot determine what the file `{}` trusts: {why}", path.display());
            Refusal::new(Code::UntrustedTool, why).attempt("create the file again: cycod trust --export FILE")
        };
        if real(&path).starts_with(real(&self.host().workspace)) {
            let attempt = "move the file outside the project, so that changes to the project cannot change it";
            return Err(refused("it is inside the project, which cannot define what is trusted in it".to_owned())
                .attempt(attempt));
        }
        let text = fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?;
        let json: Json = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let tools = json["tools"].as_object().filter(|_| json["version"] == 1);
        let tools = tools.ok_or_else(|| refused("it has another form".to_owned()))?;
        let digest = |(name, digest): (&String, &Json)| match digest.as_str().unwrap_or_default().parse() {
            Ok(digest) => Ok((name.to_ascii_lowercase(), digest)),
            Err(_) => Err(refused(format!("`{name}` has no digest"))),
        };
        tools.iter().map(digest).collect()
    }
}

/// The digests of tools, for others who trust them: see [`Engine::trust_file`].
pub fn exported(subjects: &[TrustSubject]) -> Json {
    let mut named: Vec<_> =
        subjects.iter().map(|one| (one.name().to_ascii_lowercase(), one.fingerprint.digest())).collect();
    named.sort();
    let tools: Map<String, Json> = named.into_iter().map(|(name, digest)| (name, digest.to_string().into())).collect();
    json!({ "version": 1, "tools": tools })
}
