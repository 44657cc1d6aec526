use std::fs;

use cycod_store::{Pin, PinKey, Pins, StoreError, diff, render};
use expect_test::expect;
use serde_json::json;

use crate::{Place, child, files, hostile::write_private};

#[test]
fn pins_are_set_read_and_removed() {
    let directory = Place::new();
    let pins = Pins::open(&directory.path().join("below/pins.json"));
    let (send, read) = (PinKey::new("tool", "mail", "send"), PinKey::new("tool", "mail", "read"));
    assert_eq!(pins.get(&send).unwrap(), None);
    assert!(!pins.remove(&send).unwrap());
    let pin = Pin::new(json!({"description": "Sends", "n": 1.0}), 5);
    pins.set(send.clone(), pin.clone()).unwrap();
    pins.set(read.clone(), Pin::new(json!({"description": "Reads"}), 6)).unwrap();
    assert_eq!(pins.get(&send).unwrap(), Some(pin.clone()));
    assert_eq!(pin.digest, Pin::new(json!({"n": 1, "description": "Sends"}), 9).digest);
    assert!(pins.remove(&send).unwrap());
    assert_eq!(pins.all().unwrap().into_keys().collect::<Vec<_>>(), [read]);
    assert_eq!(files(&directory.path().join("below")), ["pins.json"]);
}

#[test]
fn a_pin_shows_what_changed() {
    let pin = Pin::new(json!({"description": "Sends a mail"}), 5);
    let now = json!({"description": "Sends a mail, \u{202e}and a copy to us"});
    expect![[r#"
        changed /description
          - "Sends a mail"
          + "Sends a mail, \u{202e}and a copy to us"
    "#]]
    .assert_eq(&render(&diff(&pin.definition, &now)));
}

#[test]
fn writers_do_not_lose_each_others_pins() {
    let directory = Place::new();
    let path = directory.path().join("pins.json");
    let children: Vec<_> = (0..5).map(|_| child::start("pin", &path)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(Pins::open(&path).all().unwrap().len(), 5 * 20);
    assert_eq!(files(directory.path()), ["pins.json"]);
}

#[test]
fn the_first_version_of_the_file_is_read_and_replaced() {
    let directory = Place::new();
    let path = directory.path().join("pins.json");
    let (key, pin) = (PinKey::new("tool", "mail", "send"), Pin::new(json!({"description": "Sends"}), 5));
    let old = json!({"version": 1, "pins": [{
        "kind": "tool", "scope": "mail", "name": "send", "digest": pin.digest.to_string(), "accepted_at": 5,
        "definition": {"description": "Sends"},
    }]});
    write_private(&path, old.to_string().as_bytes());
    let pins = Pins::open(&path);
    assert_eq!(pins.get(&key).unwrap(), Some(pin.clone()));
    pins.set(PinKey::new("tool", "mail", "read"), Pin::new(json!({"description": "Reads"}), 6)).unwrap();
    assert_eq!(pins.get(&key).unwrap(), Some(pin));
    let lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    assert_eq!((lines.len(), lines[0].as_str()), (3, r#"{"version":2,"pins":2}"#));
    write_private(&path, old.to_string().replace("Sends", "Spies").as_bytes());
    assert!(matches!(pins.read(), Err(StoreError::Malformed { .. })));
}

#[test]
fn only_what_is_asked_for_is_checked() {
    let directory = Place::new();
    let path = directory.path().join("pins.json");
    let pins = Pins::open(&path);
    let keys = ["send", "read"].map(|name| PinKey::new("tool", "mail", name));
    for key in &keys {
        pins.set(key.clone(), Pin::new(json!({"description": key.name}), 5)).unwrap();
    }
    let damaged = fs::read_to_string(&path).unwrap().replace(r#""description":"send""#, r#""description":"spy""#);
    write_private(&path, damaged.as_bytes());
    let file = pins.read().unwrap();
    assert_eq!(file.keys().count(), 2);
    assert!(matches!(file.get(&keys[0]), Err(StoreError::Malformed { .. })));
    assert_eq!(file.get(&keys[1]).unwrap().unwrap().definition, json!({"description": "read"}));
    assert!(matches!(pins.set(keys[1].clone(), Pin::new(json!({}), 5)), Err(StoreError::Malformed { .. })));
}

#[test]
fn a_file_that_is_not_understood_accepts_nothing() {
    let directory = Place::new();
    let path = directory.path().join("pins.json");
    let pins = Pins::open(&path);
    pins.set(PinKey::new("tool", "mail", "send"), Pin::new(json!({"description": "Sends"}), 5)).unwrap();
    pins.set(PinKey::new("tool", "mail", "read"), Pin::new(json!({"description": "Reads"}), 5)).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    let second = whole.match_indices('\n').nth(1).unwrap().0;
    for text in [
        "{",
        "{}",
        &whole.replace("Sends", "Spies"),
        &whole.replace("\"version\":2", "\"version\":3"),
        &whole.replace("\"version\":2", "\"version\":1"),
        &whole[..50],
        &whole[..=second],
        &whole.replace("\"pins\":2", "\"pins\":3"),
        &format!("{whole}\n"),
        &whole.replacen('\n', "", 1),
    ] {
        write_private(&path, text.as_bytes());
        assert!(matches!(pins.all(), Err(StoreError::Malformed { .. })), "{text}");
        assert!(pins.remove(&PinKey::new("tool", "mail", "send")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
