use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use cycod_secret::{SecretChange, Vault, Zeroizing};

use crate::{get, set, store};

/// A stand-in for `secret-tool`: items are files, and how it was called is written down.
const SECRET_TOOL: &str = r#"#!/bin/sh
cd "$KEYRING" || exit 9
echo "$*" >>calls
verb=$1; shift
case "$1" in --label=*) shift ;; esac
item=$(echo "$*" | tr ' /' '__')
case "$verb" in
store) cat >"$item" ;;
lookup) [ -e "$item" ] || exit 1; cat "$item" ;;
clear) rm -f "$item" ;;
esac
"#;

fn keyring(directory: &Path, program: &str) -> Vec<(&'static str, String)> {
    let bin = directory.join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(directory.join("ring")).unwrap();
    fs::write(bin.join("secret-tool"), program).unwrap();
    fs::set_permissions(bin.join("secret-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    vec![
        ("PATH", format!("{}:/usr/bin:/bin", bin.display())),
        ("KEYRING", directory.join("ring").to_str().unwrap().to_owned()),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere".to_owned()),
    ]
}

fn borrowed<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

const TO_KEYRING: SecretChange = SecretChange { vault: Some(Vault::Keyring), tools: None, now: 7 };

#[test]
#[cfg(target_os = "linux")]
fn a_value_goes_in_and_out_by_streams() {
    let home = tempfile::tempdir().unwrap();
    let variables = keyring(home.path(), SECRET_TOOL);
    let secrets = store(home.path(), &borrowed(&variables));
    let value = Zeroizing::new("correct \"horse\"\n".to_owned());
    secrets.set("A", &value, TO_KEYRING).unwrap();
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("correct \"horse\"\n"));
    assert_eq!(secrets.list().unwrap()[0].vault, Vault::Keyring);
    // A new value stays where it was kept.
    set(&secrets, "A", "battery staple");
    assert_eq!(get(&secrets, "A").unwrap().as_deref(), Some("battery staple"));
    let calls = fs::read_to_string(home.path().join("ring/calls")).unwrap();
    assert!(calls.starts_with("store --label=cycod: A service cycod home "), "{calls}");
    assert!(!calls.contains("correct") && !calls.contains("staple") && !calls.contains("Y29ycm"), "{calls}");
    // Moving it to the file takes it out of the keyring.
    secrets.set("A", &value, SecretChange { vault: Some(Vault::File), tools: None, now: 7 }).unwrap();
    assert_eq!(fs::read_dir(home.path().join("ring")).unwrap().count(), 1, "only the calls are left");
    secrets.set("A", &value, TO_KEYRING).unwrap();
    assert!(secrets.remove("A").unwrap());
    assert_eq!(fs::read_dir(home.path().join("ring")).unwrap().count(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_keyring_that_does_not_answer_is_told() {
    let home = tempfile::tempdir().unwrap();
    let check = |variables: &[(&str, &str)], expect: &str| {
        let secrets = store(home.path(), variables);
        let value = Zeroizing::new("correct horse".to_owned());
        let error = secrets.set("A", &value, TO_KEYRING).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
        assert_eq!(get(&secrets, "A").unwrap(), None, "nothing was kept");
    };
    let without_bus = keyring(home.path(), SECRET_TOOL);
    check(&borrowed(&without_bus[..2]), "there is no session bus");
    check(&[("PATH", "/nowhere"), ("DBUS_SESSION_BUS_ADDRESS", "x")], "`secret-tool` is not installed");
    let broken = keyring(home.path(), "#!/bin/sh\necho 'secret-tool: Cannot autolaunch D-Bus' >&2; exit 1\n");
    check(&borrowed(&broken), "`secret-tool` says: secret-tool: Cannot autolaunch D-Bus");
    let forgetful = keyring(home.path(), "#!/bin/sh\n[ $1 = lookup ] && exit 1; cat >/dev/null\n");
    check(&borrowed(&forgetful), "it did not take `A`");
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_gone_from_the_keyring_is_not_empty() {
    let home = tempfile::tempdir().unwrap();
    let variables = keyring(home.path(), SECRET_TOOL);
    let secrets = store(home.path(), &borrowed(&variables));
    secrets.set("A", &Zeroizing::new("correct horse".to_owned()), TO_KEYRING).unwrap();
    for entry in fs::read_dir(home.path().join("ring")).unwrap().flatten() {
        fs::write(entry.path(), "%%%").unwrap();
    }
    assert!(get(&secrets, "A").unwrap_err().to_string().contains("was not put there by us"));
    for entry in fs::read_dir(home.path().join("ring")).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    assert!(get(&secrets, "A").unwrap_err().to_string().contains("it has nothing as `A`"));
}
