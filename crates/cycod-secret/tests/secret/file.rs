use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};

use cycod_secret::{PassphrasePrompt, SecretChange, SecretError, Store, VaultKey, Zeroizing, is_name};

use crate::{NOTHING_ELSE, get, set, store};

/// Writes a file that only we can read.
fn write_private(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn what_is_set_is_there_until_it_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let secrets = store(&home.path().join("new"), &[]);
    assert_eq!(get(&secrets, "A").unwrap(), None);
    assert!(!secrets.remove("A").unwrap());
    assert!(!home.path().join("new").exists(), "asking makes nothing");
    set(&secrets, "A", "correct horse\n\"battery\" ünd");
    set(&secrets, "b.c-d", "staple");
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("correct horse\n\"battery\" ünd"));
    let names: Vec<String> = secrets.list().unwrap().into_iter().map(|kept| kept.name).collect();
    assert_eq!(names, ["A", "b.c-d"]);
    assert!(secrets.remove("A").unwrap());
    assert_eq!(get(&secrets, "A").unwrap(), None);
    assert_eq!(get(&secrets, "b.c-d").unwrap().as_deref(), Some("staple"));
}

#[test]
fn files_are_private_and_hold_no_value() {
    let home = tempfile::tempdir().unwrap();
    set(&store(home.path(), &[]), "A_NAME", "correct horse");
    for file in ["secrets.age", "secrets.key"] {
        let path = home.path().join(file);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
        let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!content.contains("correct") && !content.contains("A_NAME"), "{content}");
    }
    assert!(fs::read(home.path().join("secrets.age")).unwrap().starts_with(b"age-encryption.org/v1\n"));
}

#[test]
fn values_that_cannot_be_masked_or_carried_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let secrets = store(home.path(), &[]);
    let set = |value: &str| secrets.set("A", &Zeroizing::new(value.to_owned()), NOTHING_ELSE);
    for value in ["ab\0cd", &"x".repeat(129 << 10)] {
        let refused = set(value);
        assert!(matches!(refused, Err(SecretError::Value(_))), "{refused:?}");
    }
    for value in ["", "abc", "abc\n", "true", "false", "null", "True", "NULL", " false\n"] {
        let refused = set(value);
        assert!(matches!(refused, Err(SecretError::Unmaskable(_))), "{value:?}: {refused:?}");
    }
    assert!(!home.path().join("secrets.age").exists());
}

#[test]
fn names() {
    for (name, fine) in [("A", true), ("a.b-c_D9", true), ("", false), ("_A", false), ("a/b", false), ("ä", false)] {
        assert_eq!(is_name(name), fine, "{name}");
    }
    assert!(is_name(&"x".repeat(64)) && !is_name(&"x".repeat(65)));
}

#[test]
fn a_secret_may_be_for_some_tools() {
    let home = tempfile::tempdir().unwrap();
    let secrets = store(home.path(), &[]);
    let value = Zeroizing::new("correct horse".to_owned());
    let issues = || Some(vec!["issues".to_owned()]);
    secrets.set("A", &value, SecretChange { vault: None, tools: issues(), now: 1 }).unwrap();
    assert!(secrets.values(&["A"], Some("issues")).unwrap()[0].is_some());
    let refused = secrets.values(&["A"], Some("other")).unwrap_err();
    assert_eq!(refused.to_string(), "the secret `A` is limited to `issues`, not available for `other`");
    // A new value does not widen who may have it.
    set(&secrets, "A", "another value");
    assert_eq!(secrets.list().unwrap()[0].tools, ["issues"]);
    secrets.set("A", &value, SecretChange { vault: None, tools: Some(Vec::new()), now: 1 }).unwrap();
    assert!(secrets.values(&["A"], Some("other")).unwrap()[0].is_some());
}

/// Every way to ask or change gives this error, and the file stays as it is.
#[track_caller]
fn refuses(secrets: &Store, expect: &str) {
    let before = fs::read(secrets.path()).unwrap();
    let value = Zeroizing::new("another secret".to_owned());
    let errors = [
        get(secrets, "A").unwrap_err(),
        secrets.list().unwrap_err(),
        secrets.set("A", &value, NOTHING_ELSE).unwrap_err(),
        secrets.remove("A").unwrap_err(),
    ];
    for error in errors {
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let said = format!("{error} {source} {error:?} {}", error.attempt());
        assert!(said.contains(expect), "{said}");
        assert!(!said.contains("correct horse") && !said.contains("another secret"), "{said}");
    }
    assert_eq!(fs::read(secrets.path()).unwrap(), before);
}

#[test]
fn what_cannot_be_read_is_an_error_and_never_empty() {
    let home = tempfile::tempdir().unwrap();
    let (file, key) = (home.path().join("secrets.age"), home.path().join("secrets.key"));
    set(&store(home.path(), &[]), "A", "correct horse");
    let (content, identity) = (fs::read(&file).unwrap(), fs::read(&key).unwrap());
    let secrets = store(home.path(), &[]);

    fs::remove_file(&key).unwrap();
    refuses(&secrets, "its key");
    let other = tempfile::tempdir().unwrap();
    set(&store(other.path(), &[]), "A", "correct horse");
    fs::copy(other.path().join("secrets.key"), &key).unwrap();
    refuses(&secrets, "cannot be decrypted with the key");
    write_private(&key, "AGE-SECRET-KEY-1NONSENSE");
    refuses(&secrets, "holds no age identity");
    write_private(&key, "DPAPI:AQAAANCMnd8BFdERjHoAwE/Cl+s=");
    refuses(&secrets, "Windows");
    write_private(&key, &identity);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    refuses(&secrets, "is open to others");
    write_private(&key, &identity);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    refuses(&secrets, "is open to others");
    write_private(&file, &content[..content.len() - 1]);
    refuses(&secrets, "secrets.age`");
    let mut changed = content.clone();
    *changed.last_mut().unwrap() ^= 1;
    write_private(&file, &changed);
    refuses(&secrets, "secrets.age`");
    write_private(&file, "{}");
    refuses(&secrets, "is damaged");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(other.path().join("secrets.age"), &file).unwrap();
    refuses(&secrets, "failed to open");
    fs::remove_file(&file).unwrap();
    write_private(&file, &content);
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("correct horse"));
}

#[test]
fn a_document_of_another_form_is_no_document() {
    let home = tempfile::tempdir().unwrap();
    set(&store(home.path(), &[]), "A", "correct horse");
    let key = fs::read_to_string(home.path().join("secrets.key")).unwrap();
    let identity: age::x25519::Identity = key.lines().last().unwrap().parse().unwrap();
    for (text, expect) in [
        (r#"{"version": 1, "secrets": {"A": "correct horse"}}"#, "another form at line 1"),
        (r#"{"version": 2, "secrets": {}}"#, "newer version"),
        (r#"{"version":1,"secrets":{"A":{"vault":"file","set_at":1,"tools":[],"value":null}}}"#, ""),
    ] {
        let secrets = store(home.path(), &[]);
        write_private(secrets.path(), age::encrypt(&identity.to_public(), text.as_bytes()).unwrap());
        match expect {
            "" => assert!(matches!(get(&secrets, "A"), Err(SecretError::Damaged { .. }))),
            expect => refuses(&secrets, expect),
        }
    }
}

#[test]
fn an_identity_of_the_users_own() {
    let home = tempfile::tempdir().unwrap();
    let mine = home.path().join("mine.txt");
    let identity = age::x25519::Identity::generate();
    let text = age::secrecy::ExposeSecret::expose_secret(&identity.to_string()).to_owned();
    write_private(&mine, format!("# created: today\n{text}\n"));
    let named = [("CYCOD_SECRET_IDENTITY_FILE", mine.to_str().unwrap())];
    let secrets = store(home.path(), &named);
    set(&secrets, "A", "correct horse");
    assert!(!home.path().join("secrets.key").exists());
    let text = age::decrypt(&identity, &fs::read(secrets.path()).unwrap()).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("correct horse"), "anybody who has the identity can read it");
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("correct horse"));
    refuses(&store(home.path(), &[]), "its key");
}

#[test]
fn a_passphrase() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("passphrase");
    write_private(&file, "open sesame\n");
    let named = [("CYCOD_SECRET_PASSPHRASE_FILE", file.to_str().unwrap())];
    set(&store(home.path(), &named), "A", "correct horse");
    assert!(!home.path().join("secrets.key").exists());
    assert_eq!(get(&store(home.path(), &named), "A").unwrap().as_deref(), Some("correct horse"));
    refuses(&store(home.path(), &[]), "locked by a passphrase");
    let asked = || VaultKey::default().asking(PassphrasePrompt::by(|_| Some(Zeroizing::new("open sesame".to_owned()))));
    let secrets = Store::open(home.path(), asked(), &Default::default());
    set(&secrets, "B", "battery staple");
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("correct horse"));
    write_private(&file, "close sesame");
    refuses(&store(home.path(), &named), "cannot be decrypted with this passphrase");
    write_private(&file, "\n");
    refuses(&store(home.path(), &named), "holds no passphrase");
}

#[test]
fn a_file_with_a_key_can_be_locked_by_a_passphrase() {
    let home = tempfile::tempdir().unwrap();
    let secrets = store(home.path(), &[]);
    set(&secrets, "A", "correct horse");
    secrets.lock(Zeroizing::new("open sesame".to_owned())).unwrap();
    set(&secrets, "B", "battery staple");
    let asked = || VaultKey::default().asking(PassphrasePrompt::by(|_| Some(Zeroizing::new("open sesame".to_owned()))));
    let again = Store::open(home.path(), asked(), &Default::default());
    assert_eq!(get(&again, "A").unwrap().as_deref(), Some("correct horse"));
    refuses(&store(home.path(), &[]), "locked by a passphrase");
}

#[test]
fn several_at_once_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for writer in 0..8 {
            let home = &home;
            scope.spawn(move || {
                for round in 0..10 {
                    set(&store(home.path(), &[]), &format!("w{writer}.{round}"), &format!("value {writer} {round}"));
                }
            });
        }
    });
    let secrets = store(home.path(), &[]);
    assert_eq!(secrets.list().unwrap().len(), 80);
    assert_eq!(get(&secrets, "w7.9").unwrap().as_deref(), Some("value 7 9"));
}

#[test]
fn no_value_is_shown_by_what_is_printed_for_debugging() {
    let home = tempfile::tempdir().unwrap();
    let secrets = store(home.path(), &[]);
    secrets.lock(Zeroizing::new("open sesame".to_owned())).unwrap();
    set(&secrets, "A", "correct horse");
    let said = format!("{secrets:?} {:?}", secrets.list());
    assert!(!said.contains("correct") && !said.contains("sesame"), "{said}");
}
