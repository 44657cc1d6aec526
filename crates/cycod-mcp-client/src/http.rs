//! The way to servers at an address.

use std::{collections::HashMap, sync::Once};

use cycod_diagnostic::{Code, Refusal};
use reqwest::{
    Client,
    header::{HeaderName, HeaderValue},
    redirect::Policy,
};

/// Makes a client that goes where it is told and nowhere else: a redirect could carry a token to another server.
pub(crate) fn client() -> reqwest::Result<Client> {
    cryptography();
    Client::builder().redirect(Policy::none()).connect_timeout(std::time::Duration::from_secs(10)).build()
}

/// Chooses the cryptography of this process, for us and for the login.
pub(crate) fn cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// The headers of an entry, as they are sent.
pub(crate) fn headers(server: &str, headers: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, Refusal> {
    let header = |(name, value): &(String, String)| {
        let header_name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(true);
        Some((header_name, value))
    };
    let wrong = |name: &str| {
        // The value may be a secret: it is not shown.
        let why = format!("the header `{name}` of the server `{server}` is not one that HTTP can carry");
        Refusal::new(Code::RemoteUnreachable, why).place(server)
    };
    headers.iter().map(|pair| header(pair).ok_or_else(|| wrong(&pair.0))).collect()
}
