use std::fs;

use cycod_store::{StoreError, bearer_token, secret_key};

use crate::{Place, child, hostile::write_private};

#[test]
fn a_key_is_made_once() {
    let directory = Place::new();
    let path = directory.path().join("deep/below/key");
    let key = secret_key(&path).unwrap();
    assert_eq!(secret_key(&path).unwrap(), key);
    assert_ne!(secret_key(&directory.path().join("other")).unwrap(), key);
    assert_eq!(fs::read(&path).unwrap(), key);
}

#[test]
fn processes_that_begin_together_get_the_same_key() {
    let directory = Place::new();
    for round in 0..5 {
        let path = directory.path().join(round.to_string());
        let children: Vec<_> = (0..6).map(|_| child::start("key", &path)).collect();
        let outputs =
            children.into_iter().map(|child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap());
        let keys: Vec<String> =
            outputs.map(|said| said.lines().find(|line| line.contains("key [")).unwrap().to_owned()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

#[test]
fn a_token_can_be_printed_and_edited() {
    let directory = Place::new();
    let path = directory.path().join("token");
    let token = bearer_token(&path).unwrap();
    assert_eq!(token.len(), 43);
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{token}\n"));
    assert_eq!(bearer_token(&path).unwrap(), token);
}

#[test]
fn another_file_is_refused_and_left_alone() {
    let directory = Place::new();
    let path = directory.path().join("notes");
    for content in [b"buy milk".as_slice(), &[b'x'; 44], &[0xff; 43], &[b'x'; 100_000]] {
        write_private(&path, content);
        assert!(matches!(secret_key(&path), Err(StoreError::Malformed { .. })));
        assert!(matches!(bearer_token(&path), Err(StoreError::Malformed { .. })));
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}
