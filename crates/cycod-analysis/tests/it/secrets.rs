use expect_test::expect;

use crate::support::{check, examined, found};

/// Something that looks like nobody thought it up. Whole keys are put together so that none stands in this file.
const RANDOM: &str =
    "q7Zt4Xw9Lm2Kc8Vb5Nd3Rf6Hg1Jp0Ys7Ta4Ue9Wi2Oz8Qx5Mv3Bk6Dh1Fr0Gl7Cn4Pj9St2Yw8Ea5Iu3Xo6Zq1Lc0Vm7Kb4Nd9Rf2Hg8JpQq5Ss";

fn random(length: usize) -> &'static str {
    &RANDOM[..length]
}

#[test]
fn keys_of_services() {
    let upper = |length: usize| random(length).to_ascii_uppercase().replace(['0', '1', '8', '9'], "7");
    let keys = [
        format!("AKIA{}", upper(16)),
        format!("ghp_{}", random(36)),
        format!("github_pat_{}_{}", random(22), random(59)),
        format!("glpat-{}", random(20)),
        format!("xoxb-{}-{}-{}", "123456789012", "123456789013", random(24)),
        format!("https://hooks.slack.com/services/T{}/B{}/{}", "01ABCDEF2", "01ABCDEF3", random(24)),
        format!("sk_live_{}", random(24)),
        format!("AIza{}", random(35)),
        format!("sk-ant-api03-{}", random(95)),
        format!("sk-proj-{}", random(60)),
        format!("npm_{}", random(36)),
        format!("SG.{}.{}", random(22), random(43)),
    ];
    for key in &keys {
        for (path, text) in [
            ("a.py", format!("key = '{key}'\n")),
            (".env", format!("KEY={key}\n")),
            ("a.json", format!("{{\"k\": \"{key}\"}}\n")),
        ] {
            let found = examined(path, &text).findings;
            assert_eq!(found.len(), 1, "{key} in {path}: {found:?}");
            assert_eq!((found[0].rule.as_str(), found[0].cwe), ("secret-key", Some(798)));
            assert!(!format!("{found:?}").contains(key.as_str()), "a secret is never told");
        }
    }
}

#[test]
fn other_secrets() {
    let key = format!("-----BEGIN {} KEY-----\n{}\n", "RSA PRIVATE", random(64));
    let token = format!("eyJ{}.eyJ{}.{}", random(20), random(30), random(43));
    let text = format!(
        "{key}\nurl = postgres://me:{}@db.internal/x\ntoken: {token}\napi_key = \"{}\"\nconst dbPassword = '{}';\n",
        random(12),
        random(32),
        random(20)
    );
    check(
        "notes.txt",
        &text,
        &expect![[r#"
        2:1 error[secret-private-key] private key: 64 characters that end in `l7Cn`
        4:21 error[secret-password-in-url] password in an address: 12 characters
        5:8 warning[secret-token] signed token: 101 characters that end in `i2Oz`
        6:12 warning[secret-value] secret value: 32 characters that end in `0Ys7`
        7:21 warning[secret-value] secret value: 20 characters that end in `5Nd3`
    "#]],
    );
    let escaped = format!("key = \"-----BEGIN {} KEY-----\\n{}\"\n", "PRIVATE", random(64));
    assert!(found("a.py", &escaped).contains("secret-private-key"));
}

#[test]
fn what_only_looks_like_a_secret() {
    let harmless = r#"
key = "AKIAIOSFODNN7EXAMPLE"
password = os.environ["PASSWORD"]
password = "correct horse battery staple"
api_key = "your-api-key-goes-here-0123"
token = "${GITHUB_TOKEN}"
secret_name = "projects/prod/secrets/database-password"
SECRET_KEY = "aaaaaaaaaaaaaaaaaaaaaaaa"
token_url = "https://login.internal/oauth2/v2.0/token/1234567"
url = "postgres://postgres:postgres@localhost:5432/app"
url = "postgres://user:password@db/app"
url = "postgres://$USER:$PASSWORD@db/app"
url = "https://user:{password}@host.internal/"
header = "-----BEGIN PRIVATE KEY-----"
digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c0f0a1f8a3c"
commit = "3f2b1a9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a"
tokenizer = "cl100k_base_encoding"
password_field = "user_password_input_field_3"
"#;
    assert_eq!(found("a.py", harmless), "");
    assert_eq!(found("a.txt", harmless), "");
}

#[test]
fn only_what_is_long_shows_its_end() {
    let text = found("a.txt", &format!("x = https://me:{}@db.internal/\n", "tr0ub4dor"));
    assert!(text.contains("9 characters") && !text.contains("dor"), "{text}");
}
