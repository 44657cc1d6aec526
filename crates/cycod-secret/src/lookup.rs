use cycod_diagnostic::{Code, Refusal};
use cycod_plan::Secrets;

use crate::{SecretError, Store};

impl Secrets for Store {
    fn values(&self, names: &[&str], tool: &str) -> Result<Vec<Option<String>>, Refusal> {
        let values = Store::values(self, names, Some(tool)).map_err(|error| refusal(&error, tool))?;
        Ok(values.into_iter().map(|value| value.map(|value| value.to_string())).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        let mut chance = [0_u8; 16];
        getrandom::fill(&mut chance).map_err(|error| refusal(&SecretError::Random(error), ""))?;
        Ok(chance.iter().fold("cycod-".to_owned(), |text, byte| format!("{text}{byte:02x}")))
    }
}

fn refusal(error: &SecretError, tool: &str) -> Refusal {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let why = format!("{error}{source}");
    let refusal = match error {
        SecretError::NotForTool { .. } => Refusal::new(Code::SecretNotForTool, why),
        _ => Refusal::new(Code::SecretsUnavailable, why),
    };
    refusal.place(tool).attempt(error.attempt())
}
