//! The authority of one run, for the hosts that secrets go to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

use crate::{error::ProxyError, host::HostName, report::lock};

/// Certificates that are kept made; more are only ever needed for a pattern.
const KEPT: usize = 64;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Issues certificates. Its key is nowhere but here, and goes with it.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    /// One key for all hosts: who had it could be each of them to this run, and to nobody else.
    key: KeyPair,
    made: Mutex<HashMap<HostName, Arc<ServerConfig>>>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, ProxyError> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = dated(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "cycod, for one run");
        let pem = params.self_signed(&key).map_err(failed)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, pem, key: KeyPair::generate().map_err(failed)?, made: Mutex::default() })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// How we are that host to the program.
    pub(crate) fn server(&self, host: &HostName) -> Result<Arc<ServerConfig>, ProxyError> {
        let mut made = lock(&self.made);
        if let Some(known) = made.get(host) {
            return Ok(Arc::clone(known));
        }
        let name = match host {
            HostName::Name(name) => name.clone(),
            HostName::Address(address) => address.to_string(),
        };
        let mut params = dated(vec![name])?;
        // A subject like the issuer's would make it look as if it had signed itself.
        params.distinguished_name.push(DnType::CommonName, "a host, to one run");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&self.key, &self.issuer).map_err(failed)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .map_err(failed)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if made.len() == KEPT {
            made.clear();
        }
        let config = Arc::new(config);
        made.insert(host.clone(), Arc::clone(&config));
        Ok(config)
    }
}

/// How we come to the hosts: as any program of this machine would, and with these roots besides.
pub(crate) fn client(extra: &[CertificateDer<'static>]) -> Result<ClientConfig, ProxyError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(extra.iter().cloned());
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Valid from yesterday, for clocks differ, and for no longer than a run could take.
fn dated(names: Vec<String>) -> Result<CertificateParams, ProxyError> {
    let mut params = CertificateParams::new(names).map_err(failed)?;
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + 30 * DAY).into();
    params.distinguished_name = rcgen::DistinguishedName::new();
    Ok(params)
}

fn failed(error: impl std::fmt::Display) -> ProxyError {
    ProxyError::Authority(error.to_string())
}
