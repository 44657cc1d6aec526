//! Where the values of secrets come from, and what takes their place on the way.

use std::{borrow::Cow, collections::BTreeSet, ffi::OsStr, fmt};

use cycod_call::KeptSecret;
use cycod_definition::{Secret, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;

use crate::Plan;

/// Where the values of secrets come from: a store of ours, or whatever an embedding program has.
///
/// It is asked when a run begins, and at no other time.
pub trait Secrets: fmt::Debug {
    /// The values kept under `names`, in their order, for `tool`; nothing where none is kept.
    ///
    /// # Errors
    /// A refusal when it cannot be told, or one is not for this tool.
    fn values(&self, names: &[&str], tool: &str) -> Result<Vec<Option<String>>, Refusal>;

    /// A text that nobody can guess, for a tool to see in the place of a value.
    ///
    /// # Errors
    /// A refusal when there is no chance to be had.
    fn placeholder(&self) -> Result<String, Refusal>;
}

/// Keeps nothing: what a run is given comes from the caller's environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        Ok(vec![None; names.len()])
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Err(Refusal::new(
            Code::SecretsUnavailable,
            "there is no secret store, so a secret cannot be inserted on its way to a host",
        ))
    }
}

/// Stands for all of them where they are only shown.
#[derive(Debug)]
pub(crate) struct Masked;

impl Secrets for Masked {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        Ok(vec![Some("****".to_owned()); names.len()])
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("****".to_owned())
    }
}

/// What takes the place of a placeholder on the way to some hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct Swap {
    /// What the tool sees.
    pub placeholder: String,
    /// The secret.
    pub value: String,
    /// Names or addresses, each with or without a port.
    pub hosts: Vec<String>,
}

impl fmt::Debug for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Plan {
    /// What finds the secrets of the call. It is made once for each plan.
    pub fn masks(&self) -> Masks {
        let secrets = self.call.secrets();
        self.masks.get_or_init(|| Masks::new(&secrets)).with(&secrets)
    }

    /// The names under which the secrets are kept that a run is given, by the tools it reaches too.
    pub fn secret_names(&self) -> BTreeSet<&str> {
        self.secrets().map(|secret| secret.kept_as.as_str()).collect()
    }

    /// What a run can reach and which secrets it is given, a line each, for the approver.
    pub fn reach(&self) -> Vec<String> {
        let line = |secret: &Secret| match &*secret.hosts {
            [] => format!("is given the secret `{}`", secret.kept_as),
            hosts => format!("has the secret `{}` sent to {}, and does not see it", secret.kept_as, hosts.join(", ")),
        };
        let given: BTreeSet<String> = self.secrets().map(line).collect();
        self.confinement.lines().into_iter().chain(given).collect()
    }

    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let tools = std::iter::once(self.tool()).chain(self.library.tools().map(|tool| &**tool));
        tools.flat_map(Tool::kept_secrets)
    }

    /// Returns the plan with the secrets of its own tool, which is how it runs.
    ///
    /// A value is what `secrets` keeps, else the caller's variable.
    ///
    /// # Errors
    /// A refusal when there is neither.
    pub fn with_secrets(&self, secrets: &dyn Secrets) -> Result<Cow<'_, Self>, Refusal> {
        let mut wanted: Vec<&Secret> = Vec::new();
        for secret in self.tool().kept_secrets() {
            if !wanted.contains(&secret) {
                wanted.push(secret);
            }
        }
        if wanted.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let names: Vec<&str> = wanted.iter().map(|secret| secret.kept_as.as_str()).collect();
        let values = secrets.values(&names, self.tool().name.as_str())?;
        let given = wanted.into_iter().zip(values).map(|(secret, value)| self.given(secret, value, secrets));
        let given = given.collect::<Result<_, _>>()?;
        let mut plan = self.clone();
        plan.call.kept_secrets = given;
        Ok(Cow::Owned(plan))
    }

    fn given(&self, secret: &Secret, kept: Option<String>, secrets: &dyn Secrets) -> Result<KeptSecret, Refusal> {
        let of_caller = || {
            let value = self.host().environment.get(OsStr::new(&secret.name))?.to_str()?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        let value = kept.or_else(of_caller).ok_or_else(|| {
            let tool = self.tool().name.as_str();
            let why = format!("`{tool}` needs the secret `{}`, and none is stored under this name", secret.kept_as);
            Refusal::new(Code::SecretMissing, why).place(tool).attempt(format!("cycod secret set {}", secret.kept_as))
        })?;
        let placeholder = (!secret.hosts.is_empty()).then(|| secrets.placeholder()).transpose()?;
        Ok(KeptSecret { secret: secret.clone(), value, placeholder })
    }

    /// What must happen on the way out, for the secrets that the tool does not see.
    pub(crate) fn swaps(&self) -> Vec<Swap> {
        let swap = |kept: &KeptSecret| {
            let hosts = kept.secret.hosts.clone();
            Some(Swap { placeholder: kept.placeholder.clone()?, value: kept.value.clone(), hosts })
        };
        self.call.kept_secrets.iter().filter_map(swap).collect()
    }

    /// The kept secret whose value is part of `text`.
    pub(crate) fn secret_in(&self, text: &str) -> Option<&str> {
        let is_part = |kept: &&KeptSecret| {
            let changed: Vec<_> = self.call.changed(&kept.value).collect();
            Masks::new(changed.iter().map(AsRef::as_ref).chain([&*kept.value])).find_in(text)
        };
        self.call.kept_secrets.iter().find(is_part).map(|kept| kept.secret.name.as_str())
    }
}
