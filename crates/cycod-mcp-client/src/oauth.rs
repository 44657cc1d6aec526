//! Logging in to servers at an address. Tokens lie in files that only their owner can read, and are never shown.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use cycod_diagnostic::{Code, Refusal};
use cycod_file::{Durability, FileAccess};
use cycod_thread::blocking;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    StoredCredentials, WWWAuthenticateParams,
};
use serde_json::{Value as Json, json};

use crate::{
    account::Account,
    browser::{Browse, log_in},
    failure, http,
    text::line,
    watch::lock,
};

/// Where the file of a login says which scope was missing.
const CHALLENGE: &str = "challenge";

/// Where it says whose login it is; nothing means the owner's.
const ACCOUNT: &str = "account";

/// Where it says which login it is, so that another one can be told from it.
const LOGIN: &str = "login";

/// Who we are to a server that wants a login. Nothing of it is needed where clients may register themselves.
#[derive(Clone, Default)]
pub struct Identity {
    /// The id that the server's operator gave out.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<String>,
    /// The address of a document that describes us.
    pub metadata_url: Option<String>,
    /// What we ask for; chosen by the server when empty.
    pub scopes: Vec<String>,
}

/// The logins of this user.
#[derive(Clone, Debug)]
pub(crate) struct Logins {
    directory: PathBuf,
    /// Whose they are.
    account: Account,
    /// What servers said when they refused us.
    challenges: Arc<Mutex<HashMap<String, String>>>,
    /// The logins of the servers that were spoken to.
    files: Arc<Mutex<HashMap<String, LoginFile>>>,
}

impl Logins {
    pub(crate) fn new(directory: PathBuf, account: Account) -> Self {
        Self { directory, account, challenges: Arc::default(), files: Arc::default() }
    }

    /// Remembers what a server said when it refused us. That a scope is missing, the next command knows, too.
    pub(crate) fn refused(&self, server: &str, challenge: Option<&str>) {
        let Some(challenge) = challenge else { return };
        lock(&self.challenges).insert(server.to_owned(), challenge.to_owned());
        let file = lock(&self.files).get(server).cloned();
        if let Some(file) = file.filter(|_| failure::missing_scope(challenge).is_some()) {
            // The login works as before when this cannot be written down.
            drop(file.change(|login| login[CHALLENGE] = challenge.into()));
        }
    }

    /// What a server at an address said when it last refused us, in this command or an earlier one.
    pub(crate) fn challenge(&self, server: &str, url: &str) -> Option<String> {
        let stored = || self.file(url)?.read().ok()??[CHALLENGE].as_str().map(str::to_owned);
        lock(&self.challenges).remove(server).or_else(stored)
    }

    /// The file of this account's login at an address; nothing for an account that has none.
    fn file(&self, url: &str) -> Option<LoginFile> {
        let about = match &self.account {
            Account::Owner => json!(url),
            Account::User(user) => json!([url, &**user]),
            Account::Unknown => return None,
        };
        let path = self.directory.join(format!("{}.json", cycod_store::digest(&about)));
        Some(LoginFile { path: path.into(), account: self.account.clone() })
    }

    /// Which login a server gets now, if it was spoken to: another one after the next login.
    pub(crate) fn current(&self, server: &str) -> Option<String> {
        let file = lock(&self.files).get(server).cloned()?;
        let login = file.read().ok().flatten()?;
        Some(login[LOGIN].as_str().unwrap_or_default().to_owned())
    }

    /// What sends the token of a server along and keeps it fresh; without a login it does nothing.
    pub(crate) async fn manager(&self, server: &str, url: &str) -> Result<AuthorizationManager, Refusal> {
        let Some(file) = self.file(url) else { return manager(server, url).await };
        lock(&self.files).insert(server.to_owned(), file.clone());
        let unreachable =
            |error: &(dyn std::error::Error + 'static)| failure::unreachable(server, failure::chain(error));
        let login = file.read().map_err(|error| unreachable(&error))?;
        let mut manager = manager(server, url).await?;
        let Some(login) = login else { return Ok(manager) };
        manager.set_credential_store(file);
        // The authorization server is asked for again each time: another one must not be sent the tokens of this one.
        let is_usable = manager.initialize_from_store().await.map_err(|error| unreachable(&error))?;
        let credentials = (login["credentials"]["client_id"].as_str(), login["client_secret"].as_str());
        if let (true, (Some(id), Some(secret))) = (is_usable, credentials) {
            let config = OAuthClientConfig::new(id, "http://127.0.0.1/callback").with_client_secret(secret);
            manager.configure_client(config).map_err(|error| unreachable(&error))?;
        }
        Ok(manager)
    }

    /// Logs in. `challenge` is what the server said when it refused us.
    pub(crate) async fn login(
        &self,
        server: &str,
        url: &str,
        challenge: Option<&str>,
        identity: Identity,
        browse: Arc<Browse>,
    ) -> Result<(), Refusal> {
        let error = |error: AuthError| failed(server, &error);
        let file = self.file(url).ok_or_else(|| failed_because(server, "no user is named whose login it would be"))?;
        let mut manager = manager(server, url).await?;
        manager.set_credential_store(file.clone());
        let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(error)?;
        manager.set_metadata(found.metadata);
        let scopes = if identity.scopes.is_empty() { file.widened(url, challenge) } else { identity.scopes };
        let secret = identity.client_secret.clone();
        let request = move |redirect| {
            let mut request = AuthorizationRequest::new(redirect).with_client_name("cycod");
            if let Some(id) = identity.client_id {
                request = request.with_preregistered_client(id);
            }
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
            if let Some(url) = identity.metadata_url {
                request = request.with_client_metadata_url(url);
            }
            if scopes.is_empty() { request } else { request.with_scopes(scopes) }
        };
        log_in(manager, request, browse, |why| failed_because(server, why)).await?;
        let id = cycod_store::RunId::random().map_err(|error| failed(server, &error))?.to_string();
        let change = |login: &mut Json| {
            login[CHALLENGE] = Json::Null;
            login[LOGIN] = id.into();
            if let Some(secret) = identity.client_secret {
                login["client_secret"] = secret.into();
            }
        };
        file.change(change).map_err(|error| failed(server, &error))
    }

    /// Forgets the login of a server; returns whether there was one.
    pub(crate) fn logout(&self, url: &str) -> io::Result<bool> {
        let Some(file) = self.file(url) else { return Ok(false) };
        match fs::remove_file(&*file.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

async fn manager(server: &str, url: &str) -> Result<AuthorizationManager, Refusal> {
    http::cryptography();
    AuthorizationManager::new(url).await.map_err(|error| failed(server, &error))
}

fn failed(server: &str, error: &(dyn std::error::Error + 'static)) -> Refusal {
    failed_because(server, failure::chain(error))
}

fn failed_because(server: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::LoginNeeded, format!("cannot log in to the server `{server}`: {why}"))
        .place(server)
        .attempt(format!("cycod mcp login {server}"))
}

/// The file of a login: the tokens, and the issuer that gave them.
#[derive(Clone, Debug)]
struct LoginFile {
    path: Arc<Path>,
    /// Whose login it is.
    account: Account,
}

impl LoginFile {
    fn read(&self) -> io::Result<Option<Json>> {
        match fs::read(&*self.path) {
            Ok(bytes) => {
                let login: Json = serde_json::from_slice(&bytes)?;
                // Whatever put it here, the login of somebody else is none.
                Ok(Some(login).filter(|login| login[ACCOUNT] == self.account.to_json()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Json)) -> io::Result<()> {
        let mut login = self.read()?.unwrap_or_else(|| json!({}));
        change(&mut login);
        login[ACCOUNT] = self.account.to_json();
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        // The old tokens may be worth nothing from now on, so the new ones have to be there after a power failure.
        cycod_file::replace(&self.path, login.to_string().as_bytes(), FileAccess::Private, Durability::Power)
    }

    /// What was granted before together with what is missing now: one must not cost the other.
    fn widened(&self, url: &str, challenge: Option<&str>) -> Vec<String> {
        let Ok(base) = reqwest::Url::parse(url) else { return Vec::new() };
        let missing = challenge.map(|challenge| WWWAuthenticateParams::parse(challenge, &base));
        let Some(missing) = missing.filter(WWWAuthenticateParams::is_insufficient_scope) else { return Vec::new() };
        let granted = self.read().ok().flatten().map(|login| login["credentials"]["granted_scopes"].clone());
        let mut scopes: Vec<String> =
            granted.and_then(|scopes| serde_json::from_value(scopes).ok()).unwrap_or_default();
        for scope in missing.scope.iter().flat_map(|scopes| scopes.split_whitespace()) {
            if scopes.iter().all(|known| known != scope) {
                scopes.push(scope.to_owned());
            }
        }
        scopes
    }
}

#[async_trait]
impl CredentialStore for LoginFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let login = self.read().map_err(|error| broken(&error))?;
        let credentials = login.map(|login| login["credentials"].clone()).filter(|credentials| !credentials.is_null());
        credentials.map(|credentials| serde_json::from_value(credentials).map_err(|error| broken(&error))).transpose()
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let credentials = serde_json::to_value(credentials).map_err(|error| broken(&error))?;
        self.change(|login| login["credentials"] = credentials).map_err(|error| broken(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.change(|login| login["credentials"] = Json::Null).map_err(|error| broken(&error))
    }

    /// One process renews at a time: a token for renewing can often be used once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let path = self.path.with_extension("lock");
        let locked = blocking(move || {
            let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
            file.lock().map(|()| file)
        });
        let file = locked.await.map_err(|error| broken(&error))?.map_err(|error| broken(&error))?;
        Ok(Some(CredentialRefreshGuard::new(file)))
    }
}

fn broken(error: &dyn std::error::Error) -> AuthError {
    AuthError::CredentialStoreError(line(&error.to_string()))
}
