//! States of runs: what was added comes back, and nothing else does.

use std::fs;

use cycod_store::{RunId, RunState, StoreError};
use proptest::prelude::*;

use crate::{Place, hostile::write_private};

fn run() -> String {
    RunId::random().unwrap().to_string()
}

#[test]
fn what_was_added_comes_back() {
    let place = Place::new();
    let (run, other) = (run(), run());
    let mut state = RunState::create(place.path(), &run).unwrap();
    state.add(b"one", true).unwrap();
    state.add(b"swordfish", false).unwrap();
    assert!(matches!(RunState::open(place.path(), &run), Err(StoreError::InUse { .. })), "somebody has it");
    drop(state);
    let (mut state, entries) = RunState::open(place.path(), &run).unwrap().unwrap();
    assert_eq!(entries, [b"one".to_vec(), b"swordfish".to_vec()]);
    state.add(b"three", true).unwrap();
    drop(state);
    let (state, entries) = RunState::open(place.path(), &run).unwrap().unwrap();
    assert_eq!(entries.len(), 3);
    let file = place.path().join(format!("{run}.state"));
    assert!(!fs::read(&file).unwrap().windows(9).any(|bytes| bytes == b"swordfish"));
    assert_eq!(RunState::list(place.path()).unwrap(), std::slice::from_ref(&run));
    drop(state);

    // Neither another machine nor another run can use it.
    write_private(&place.path().join(format!("{other}.state")), &fs::read(&file).unwrap());
    assert!(matches!(RunState::open(place.path(), &other), Err(StoreError::Malformed { .. })));
    let key = fs::read(place.path().join("key")).unwrap();
    fs::write(place.path().join("key"), [7; 32]).unwrap();
    assert!(matches!(RunState::open(place.path(), &run), Err(StoreError::Malformed { .. })));
    fs::write(place.path().join("key"), key).unwrap();
    RunState::open(place.path(), &run).unwrap().unwrap().0.remove().unwrap();
    assert!(RunState::open(place.path(), &run).unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_cut_leaves_the_entries_before_it_and_a_change_is_noticed(
        all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6),
        at in 0.0..1.0_f64,
    ) {
        let place = Place::new();
        let run = run();
        let mut state = RunState::create(place.path(), &run).unwrap();
        for entry in &all {
            state.add(entry, false).unwrap();
        }
        drop(state);
        let file = place.path().join(format!("{run}.state"));
        let whole = fs::read(&file).unwrap();
        let at = (whole.len() as f64 * at) as usize;

        fs::write(&file, &whole[..at]).unwrap();
        let (mut state, entries) = RunState::open(place.path(), &run).unwrap().unwrap();
        prop_assert!(entries.len() < all.len());
        prop_assert_eq!(&all[..entries.len()], &entries[..]);
        // What is added then is read after them.
        state.add(b"more", false).unwrap();
        drop(state);
        let (state, again) = RunState::open(place.path(), &run).unwrap().unwrap();
        prop_assert_eq!((again.len(), again.last().unwrap().as_slice()), (entries.len() + 1, &b"more"[..]));
        drop(state);

        let mut changed = whole;
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        match RunState::open(place.path(), &run) {
            Ok(Some((_, entries))) => prop_assert!(entries.len() < all.len() && entries[..] == all[..entries.len()]),
            Ok(None) => prop_assert!(false, "it is there"),
            Err(error) => {
                let is_told = matches!(error, StoreError::Malformed { .. });
                prop_assert!(is_told);
            }
        }
    }
}
