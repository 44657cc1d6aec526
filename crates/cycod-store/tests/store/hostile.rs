//! Directories in which somebody else had a hand.

use std::{io::Write, path::Path};

use cycod_file::PrivateOptions;

/// Writes a file that only we can read.
pub(crate) fn write_private(path: &Path, content: &[u8]) {
    let mut file = PrivateOptions::default().write(true).create(true).open(path).unwrap();
    file.set_len(0).and_then(|()| file.write_all(content)).unwrap();
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
        path::Path,
        time::Duration,
    };

    use cycod_store::{Outputs, Pin, PinKey, Pins, Retention, StoreError, bearer_token, secret_key};
    use serde_json::json;

    use super::write_private;
    use crate::{Place, id, store};

    const NOTHING: Retention = Retention { max_age: Duration::ZERO, max_bytes: 0, max_one: 0 };

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn everything_is_ours_alone() {
        let store = store();
        let directory = store.outputs.directory();
        store.keep(b"x", 0);
        let mut spool = store.outputs.spool(id("stdout"), crate::maker(), 0);
        spool.write(b"x").unwrap();
        assert_eq!(mode(directory), 0o700);
        for name in store.files() {
            assert_eq!(mode(&directory.join(name)), 0o600);
        }
        let [key, token, pins] = ["key", "token", "pins"].map(|name| store.directory.path().join(name));
        secret_key(&key).unwrap();
        bearer_token(&token).unwrap();
        Pins::open(&pins).set(PinKey::new("tool", "s", "t"), Pin::new(json!({}), 0)).unwrap();
        assert_eq!([key, token, pins].map(|path| mode(&path)), [0o600; 3]);
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let store = store();
        let path = store.directory.path().join("key");
        for bits in [0o604, 0o640, 0o610] {
            write_private(&path, &[7; 32]);
            fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
            assert!(matches!(secret_key(&path), Err(StoreError::NotPrivate { .. })));
            assert!(matches!(bearer_token(&path), Err(StoreError::NotPrivate { .. })));
            assert!(matches!(Pins::open(&path).all(), Err(StoreError::NotPrivate { .. })));
            fs::remove_file(&path).unwrap();
        }
        fs::set_permissions(store.outputs.directory(), Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(Outputs::open(store.outputs.directory(), NOTHING), Err(StoreError::NotPrivate { .. })));
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused() {
        let directory = Place::new();
        let path = directory.path().join("key");
        write_private(&path, &[7; 32]);
        // Only the administrator can give a file away.
        if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
            assert!(matches!(secret_key(&path), Err(StoreError::NotPrivate { why: "belongs to another user", .. })));
        }
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let store = store();
        let aside = store.directory.path().join("aside");
        fs::create_dir(&aside).unwrap();
        let target = aside.join("target");
        write_private(&target, &[7; 32]);
        let link = store.directory.path().join("link");
        symlink(&target, &link).unwrap();
        assert!(matches!(secret_key(&link), Err(StoreError::Io { .. })));
        assert!(matches!(Pins::open(&link).all(), Err(StoreError::Io { .. })));
        let id = id("stdout");
        let name = id.to_string().replace('/', ".");
        symlink(&target, store.outputs.directory().join(name.clone() + ".part")).unwrap();
        symlink(&target, store.outputs.directory().join(name)).unwrap();
        assert!(store.outputs.get(&id).is_err());
        assert!(store.outputs.spool(id, crate::maker(), 0).write(b"x").is_err());
        Outputs::open(store.outputs.directory(), NOTHING).unwrap();
        assert_eq!(fs::read(&target).unwrap(), [7; 32]);
        symlink(&aside, store.directory.path().join("elsewhere")).unwrap();
        assert!(Outputs::open(&store.directory.path().join("elsewhere"), NOTHING).is_err());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let store = store();
        let notes = store.outputs.directory().join("notes.txt");
        write_private(&notes, b"mine");
        fs::create_dir(store.outputs.directory().join(id("stdout").to_string().replace('/', "."))).unwrap();
        store.keep(b"x", 0);
        Outputs::open(store.outputs.directory(), NOTHING).unwrap();
        assert_eq!(store.files().len(), 2);
        assert_eq!(fs::read(notes).unwrap(), b"mine");
    }

    #[test]
    fn a_fifo_in_the_place_of_a_file_does_not_hold_us_up() {
        let directory = Place::new();
        let path = directory.path().join("key");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(secret_key(&path), Err(StoreError::NotPrivate { why: "is not a file", .. })));
    }
}
