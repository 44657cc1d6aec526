//! An authorization server (OAuth 2.1) for tests, never part of the product: it publishes its metadata and its keys, sends every
//! browser back at once, and gives access tokens for codes. A test can also have any token signed.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value as Json, json};

/// The only client that it knows.
pub const CLIENT: &str = "cycod-of-acme";
/// The subject of its only user.
pub const SUBJECT: &str = "248289 o'hara";

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The parameters of a request.
pub type Form = BTreeMap<String, String>;

/// The server.
#[derive(Clone)]
pub struct ScriptedIssuer(Arc<Inner>);

struct Inner {
    url: String,
    key: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    /// What it was asked for, by the code that it gave.
    asked: Mutex<BTreeMap<String, Form>>,
}

impl ScriptedIssuer {
    /// Runs until the process ends.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let issuer = Self::at(&format!("http://{}", listener.local_addr().expect("an address")));
        let served = issuer.clone();
        let serve = move || listener.incoming().for_each(|stream| served.answer(&stream.expect("a client")));
        cycod_thread::Thread::named("issuer").detach(serve).expect("a thread");
        issuer
    }

    /// One with keys of its own that says that it is at this address.
    pub fn at(url: &str) -> Self {
        let random = SystemRandom::new();
        let key = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        Self(Arc::new(Inner {
            url: url.to_owned(),
            key: Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).expect("a key"),
            asked: Mutex::default(),
        }))
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Its user, as `ISSUER#SUBJECT`.
    pub fn user(&self) -> String {
        format!("{}#{SUBJECT}", self.url())
    }

    /// What it was asked for at each login.
    pub fn asked(&self) -> Vec<Form> {
        self.0.asked.lock().expect("whole").values().cloned().collect()
    }

    fn signed_part(&self, algorithm: &str, audience: &str, changed: &Json) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now").as_secs();
        let mut random = [0; 8];
        ring::rand::SecureRandom::fill(&SystemRandom::new(), &mut random).expect("random numbers");
        let mut claims = json!({
            "iss": self.url(), "aud": audience, "sub": SUBJECT, "iat": now, "exp": now + 60, "jti": encode(random),
        });
        for (name, value) in changed.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        claims.as_object_mut().expect("claims").retain(|_, value| !value.is_null());
        let header = json!({"alg": algorithm, "kid": algorithm, "typ": "at+jwt"});
        format!("{}.{}", encode(header.to_string()), encode(claims.to_string()))
    }

    /// A token with these claims in place of good ones; null takes one away.
    pub fn token(&self, audience: &str, changed: &Json) -> String {
        let signed = self.signed_part("EdDSA", audience, changed);
        format!("{signed}.{}", encode(self.0.key.sign(signed.as_bytes())))
    }

    /// A token, and another text that is the same token: of each signature of ECDSA, a second one follows.
    pub fn twins(&self, audience: &str) -> [String; 2] {
        let signed = self.signed_part("ES256", audience, &json!({}));
        let signature = self.0.ec.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        let mut other = signature.as_ref().to_owned();
        let mut borrow = 0;
        for (byte, order) in other[32..].iter_mut().zip(P256_ORDER).rev() {
            let difference = i16::from(order) - i16::from(*byte) - borrow;
            borrow = i16::from(difference < 0);
            *byte = u8::try_from(difference.rem_euclid(256)).expect("a byte");
        }
        [signature.as_ref(), &other].map(|signature| format!("{signed}.{}", encode(signature)))
    }

    fn answer(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        _ = reader.read_line(&mut line);
        let (mut length, mut header) = (0, String::new());
        while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
            header.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let target = line.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let answer = match path {
            "/.well-known/oauth-authorization-server" => Ok(self.metadata()),
            "/keys" => Ok(self.keys()),
            "/authorize" => Err(self.authorize(form(query))),
            "/token" => Ok(self.exchange(&form(&String::from_utf8(body).expect("text")))),
            _ => Ok(Json::Null),
        };
        let text = match answer {
            Err(back) => {
                format!("HTTP/1.1 302 Found\r\nlocation: {back}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            }
            Ok(Json::Null) => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
            Ok(json) => {
                let (json, status) = (json.to_string(), if json["error"].is_null() { 200 } else { 400 });
                let length = json.len();
                format!(
                    "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{json}"
                )
            }
        };
        _ = (&mut &*stream).write_all(text.as_bytes());
    }

    fn metadata(&self) -> Json {
        let url = self.url();
        json!({
            "issuer": url, "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/keys"), "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
            "scopes_supported": ["everything", "offline_access", "openid"],
        })
    }

    fn keys(&self) -> Json {
        let (x, y) = self.0.ec.public_key().as_ref()[1..].split_at(32);
        json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "EdDSA", "x": encode(self.0.key.public_key())},
            {"kty": "EC", "crv": "P-256", "kid": "ES256", "x": encode(x), "y": encode(y)},
        ]})
    }

    /// Where the browser of its user ends.
    fn authorize(&self, asked: Form) -> String {
        let mut all = self.0.asked.lock().expect("whole");
        let code = format!("code-{}", all.len());
        let back = format!("{}?code={code}&state={}", asked["redirect_uri"], asked["state"]);
        all.insert(code, asked);
        back
    }

    fn exchange(&self, given: &Form) -> Json {
        let asked = self.0.asked.lock().expect("whole").get(&given["code"]).cloned().expect("a code of ours");
        let is_same = |name: &str| asked.contains_key(name) && asked.get(name) == given.get(name);
        let challenge = encode(digest(&SHA256, given["code_verifier"].as_bytes()));
        let is_good = asked["client_id"] == CLIENT
            && ["client_id", "redirect_uri", "resource"].into_iter().all(is_same)
            && (&*asked["code_challenge_method"], &asked["code_challenge"]) == ("S256", &challenge);
        match is_good {
            true => {
                json!({"access_token": self.token(&given["resource"], &json!({})), "token_type": "Bearer", "expires_in": 60})
            }
            false => json!({"error": "invalid_grant"}),
        }
    }
}

/// The order of the curve P-256.
const P256_ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7,
    0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

fn form(text: &str) -> Form {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).expect("text")
}

/// Does what a browser does; returns where it is sent next.
pub fn browse(address: &str) -> Option<String> {
    let (host, path) = address.strip_prefix("http://").expect("an address").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    // What it did not read makes it a reset.
    _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned)
}
