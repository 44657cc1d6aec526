//! Access tokens of an authorization server.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use cycod_engine::Stop;
use cycod_mcp_server::{HttpAccess, HttpError, IssuerKeys, OAuth, serve_http};
use ring::{
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair, RsaPublicKeyComponents},
};
use serde_json::{Value as Json, json};

use crate::bed::{Bed, Response, call, http, initialize, modern, modern_call, options};

pub(crate) const ISSUER: &str = "https://issuer.example";
pub(crate) const AUDIENCE: &str = "https://tools.example/mcp";

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A key of the authorization server.
pub(crate) enum Signer {
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    fn rsa() -> Self {
        // Made for this test, which is the only one to believe in it.
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(include_bytes!("rsa.pk8")).unwrap()))
    }

    fn ec() -> Self {
        let way = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(way, &SystemRandom::new()).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(way, document.as_ref(), &SystemRandom::new()).unwrap())
    }

    pub(crate) fn ed() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    /// The public key, as it is published.
    pub(crate) fn published(&self, id: &str) -> Json {
        match self {
            Self::Rsa(pair) => {
                let key = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "kid": id, "use": "sig", "n": encode(key.n), "e": encode(key.e)})
            }
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": encode(x), "y": encode(y)})
            }
            Self::Ed(pair) => json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": encode(pair.public_key())}),
        }
    }

    fn sign(&self, header: &Json, claims: &Json) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
            Self::Ec(pair) => pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(signature))
    }

    /// A token with these claims in place of good ones.
    pub(crate) fn token(&self, id: &str, changed: &Json) -> String {
        let header = json!({"alg": self.algorithm(), "kid": id, "typ": "at+jwt"});
        self.sign(&header, &claims(changed))
    }
}

/// Good claims, save what is changed; null takes one away.
fn claims(changed: &Json) -> Json {
    let now = now();
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 60, "nbf": now - 60, "scope": "tools:run other",
    });
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn bed(keys: IssuerKeys) -> Bed {
    let mut http = http();
    let scopes = vec!["tools:run".to_owned()];
    http.access = HttpAccess::OAuth(OAuth { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned(), keys, scopes });
    Bed::new(http)
}

pub(crate) fn write_keys(directory: &Path, keys: &[Json]) -> IssuerKeys {
    let path = directory.join("keys.json");
    std::fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
    IssuerKeys::File(path)
}

fn hello(bed: &Bed, token: &str) -> Response {
    let authorization = format!("Bearer {token}");
    let headers = [&modern("hello")[..], &[("Authorization", &authorization)]].concat();
    bed.post(&headers, &modern_call("hello", &json!({})))
}

#[test]
fn tokens_are_verified() {
    let directory = tempfile::tempdir().unwrap();
    let (rsa, ec, ed, stranger) = (Signer::rsa(), Signer::ec(), Signer::ed(), Signer::ed());
    let unknown = json!({"kty": "EC", "crv": "secp256k1", "kid": "odd", "x": "AA", "y": "AA"});
    let keys = [rsa.published("rsa"), unknown, ec.published("ec"), ed.published("ed")];
    let bed = bed(write_keys(directory.path(), &keys));

    for (signer, id) in [(&rsa, "rsa"), (&ec, "ec"), (&ed, "ed")] {
        let response = hello(&bed, &signer.token(id, &json!({})));
        assert_eq!(response.message()["result"]["content"][0]["text"], "hello\n", "{id}: {response:?}");
    }
    let good = |changed: Json| hello(&bed, &ed.token("ed", &changed)).status;
    assert_eq!(good(json!({"aud": ["https://else.example", AUDIENCE]})), 200);
    assert_eq!(good(json!({"scope": null, "scp": ["other", "tools:run"]})), 200);
    assert_eq!(good(json!({"sub": null, "client_id": "robot"})), 200);
    assert_eq!(good(json!({"exp": now() - 5})), 200, "clocks differ");
    assert_eq!(good(json!({"nbf": null})), 200);
    let header = |header: Json| hello(&bed, &ed.sign(&header, &claims(&json!({})))).status;
    assert_eq!(header(json!({"alg": "EdDSA"})), 200, "a key need not be named");
    assert_eq!(header(json!({"alg": "EdDSA", "kid": "ed", "typ": "JWT"})), 200);

    for changed in [
        json!({"iss": "https://issuer.example.evil"}),
        json!({"iss": null}),
        json!({"aud": "https://tools.example"}),
        json!({"aud": ["https://tools.example/mcp/"]}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"exp": now() - 120}),
        json!({"exp": null}),
        json!({"exp": "soon"}),
        json!({"nbf": now() + 120}),
        json!({"sub": null}),
    ] {
        let response = hello(&bed, &ed.token("ed", &changed));
        assert_eq!(response.status, 401, "{changed}");
        let challenge = response.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    for wrong in [
        json!({"alg": "none", "kid": "ed"}),
        json!({"alg": "HS256", "kid": "ed"}),
        json!({"alg": "RS256", "kid": "ed"}),
        json!({"alg": "EdDSA", "kid": "rsa"}),
        json!({"alg": "EdDSA", "kid": "nobody"}),
        json!({"alg": "EdDSA", "kid": "ed", "typ": "dpop+jwt"}),
        json!({"alg": "EdDSA", "kid": "ed", "crit": ["x"]}),
        json!({"kid": "ed"}),
    ] {
        assert_eq!(header(wrong.clone()), 401, "{wrong}");
    }
    let token = ed.token("ed", &json!({}));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (head, _) = signed.split_once('.').unwrap();
    let other = encode(claims(&json!({"sub": "bob"})).to_string());
    for wrong in [
        stranger.token("ed", &json!({})),
        format!("{head}.{other}.{signature}"),
        format!("{signed}."),
        signed.to_owned(),
        format!("{signed}.{signature}="),
        "x".repeat(20_000),
        "..".to_owned(),
    ] {
        assert_eq!(hello(&bed, &wrong).status, 401, "{wrong}");
    }
}

#[test]
fn a_token_that_does_not_reach_so_far_is_told_how_far() {
    let directory = tempfile::tempdir().unwrap();
    let ed = Signer::ed();
    let bed = bed(write_keys(directory.path(), &[ed.published("ed")]));
    for scope in ["other", "tools:runner", ""] {
        let response = hello(&bed, &ed.token("ed", &json!({"scope": scope})));
        assert_eq!(response.status, 403);
        let challenge = response.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"tools:run\""));
    }
}

#[test]
fn who_has_no_token_is_told_where_to_get_one() {
    let directory = tempfile::tempdir().unwrap();
    let bed = bed(write_keys(directory.path(), &[Signer::ed().published("ed")]));
    let refused = bed.post(&[], &initialize());
    assert_eq!(refused.status, 401);
    assert_eq!(
        refused.header("www-authenticate"),
        Some(
            "Bearer realm=\"cycod\", \
             resource_metadata=\"https://tools.example/.well-known/oauth-protected-resource/mcp\", scope=\"tools:run\""
        )
    );
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let metadata = bed.send("GET", path, &[("Host", "tools.example")], "");
        assert_eq!(metadata.status, 200, "the name in the audience is a name of the server");
        assert_eq!(metadata.header("content-type"), Some("application/json"));
        let expected = json!({
            "resource": AUDIENCE,
            "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["tools:run"],
        });
        assert_eq!(metadata.message(), expected);
    }
    assert_eq!(bed.send("GET", "/.well-known/oauth-protected-resource/x", &[], "").status, 404);
}

#[test]
fn a_session_belongs_to_who_made_it() {
    let directory = tempfile::tempdir().unwrap();
    let ed = Signer::ed();
    let bed = bed(write_keys(directory.path(), &[ed.published("ed")]));
    let bearer = |name: &str| format!("Bearer {}", ed.token("ed", &json!({"sub": name})));
    let (ann, bob) = (bearer("ann"), bearer("bob"));
    let id = bed.post(&[("Authorization", &ann)], &initialize()).header("mcp-session-id").unwrap().to_owned();
    let send = |who: &str, method: &str| {
        let headers = [("Authorization", who), ("Mcp-Session-Id", &id), ("Accept", "text/event-stream")];
        bed.send(method, "/mcp", &headers, "").status
    };
    let call =
        |who: &str| bed.post(&[("Authorization", who), ("Mcp-Session-Id", &id)], &call(1, "hello", &json!({}))).status;
    assert_eq!((call(&bob), send(&bob, "GET"), send(&bob, "DELETE")), (404, 404, 404));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(bed.post(&[("Authorization", &ann), ("Mcp-Session-Id", &id)], &initialized).status, 202);
    assert_eq!((call(&ann), send(&ann, "DELETE"), call(&ann)), (200, 204, 404));
}

/// Publishes keys at an address, and counts who asks.
fn publish(keys: Arc<Mutex<Vec<Json>>>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            count.fetch_add(1, Ordering::SeqCst);
            let keys = keys.lock().unwrap().clone();
            let (status, body) = match keys.is_empty() {
                true => ("302 Found\r\nLocation: /elsewhere", String::new()),
                false => ("200 OK", json!({"keys": keys}).to_string()),
            };
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            reader.get_mut().write_all((head + &body).as_bytes()).unwrap();
        }
    });
    (url, asked)
}

#[test]
fn keys_are_asked_for_when_they_are_needed_and_not_more_often() {
    let (old, new, stranger) = (Signer::ed(), Signer::ed(), Signer::ed());
    let keys = Arc::new(Mutex::new(Vec::new()));
    let (url, asked) = publish(Arc::clone(&keys));
    let bed = bed(IssuerKeys::Url(url));
    let count = || asked.load(Ordering::SeqCst);

    // Without keys nobody can tell, and no redirect is followed.
    assert_eq!(count(), 0);
    let unknown = hello(&bed, &old.token("old", &json!({})));
    assert_eq!((unknown.status, unknown.header("retry-after"), count()), (503, Some("1"), 1));

    *keys.lock().unwrap() = vec![old.published("old")];
    let send = |signer: &Signer, id: &str| hello(&bed, &signer.token(id, &json!({}))).status;
    assert_eq!((send(&old, "old"), send(&old, "old"), count()), (200, 200, 2));

    *keys.lock().unwrap() = vec![new.published("new")];
    assert_eq!((send(&new, "new"), send(&old, "old"), count()), (200, 401, 3));
    // Made-up names of keys do not make us ask for ever.
    for id in 0..10 {
        assert_eq!(send(&stranger, &format!("{id}")), 401);
    }
    assert_eq!((send(&new, "new"), count()), (200, 3));
}

#[test]
fn what_cannot_work_is_said_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let keys = write_keys(directory.path(), &[Signer::ed().published("ed")]);
    let good = OAuth { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned(), keys, scopes: Vec::new() };
    let serve = |oauth: OAuth| {
        let mut http = http();
        http.access = HttpAccess::OAuth(oauth);
        let stop = Stop::new().unwrap();
        stop.ask();
        serve_http(options(&directory), &http, &stop, &mut |_| {})
    };
    serve(good.clone()).unwrap();
    let url = |url: &str| IssuerKeys::Url(url.to_owned());
    for wrong in [
        OAuth { issuer: "issuer.example".to_owned(), ..good.clone() },
        OAuth { audience: "/mcp".to_owned(), ..good.clone() },
        OAuth { scopes: vec!["a b".to_owned()], ..good.clone() },
        OAuth { keys: url("http://issuer.example/keys"), ..good.clone() },
        OAuth { keys: url("ftp://issuer.example/keys"), ..good.clone() },
    ] {
        let served = serve(wrong.clone());
        assert!(matches!(served, Err(HttpError::Name { .. })), "{wrong:?}: {served:?}");
    }
    let empty = directory.path().join("empty.json");
    std::fs::write(&empty, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"}]}").unwrap();
    for path in [empty, directory.path().join("none.json")] {
        let served = serve(OAuth { keys: IssuerKeys::File(path), ..good.clone() });
        assert!(matches!(served, Err(HttpError::Keys { .. })), "{served:?}");
    }
}
