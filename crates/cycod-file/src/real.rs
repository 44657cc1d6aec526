//! Where paths lead to, without asking for the same directory twice.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

/// Real paths, as [`fs::canonicalize`] finds them. What was learnt of a directory holds for everything below it, so this is for one
/// look at many paths and not to be stored.
#[derive(Debug, Default)]
pub struct RealPaths(RefCell<BTreeMap<PathBuf, Option<PathBuf>>>);

impl RealPaths {
    /// Where a path leads to; nothing where it leads nowhere.
    pub fn of(&self, path: &Path) -> Option<PathBuf> {
        let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else {
            return fs::canonicalize(path).ok();
        };
        // A name after `..` does not lie where the path says.
        if cfg!(not(unix)) || !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return fs::canonicalize(path).ok();
        }
        if let Some(known) = self.0.borrow().get(path) {
            return known.clone();
        }
        let real = self.of(parent).and_then(|parent| {
            let path = parent.join(name);
            let is_link = fs::symlink_metadata(&path).ok()?.is_symlink();
            if is_link { fs::canonicalize(&path).ok() } else { Some(path) }
        });
        self.0.borrow_mut().insert(path.to_owned(), real.clone());
        real
    }

    /// The path with links followed as far as it leads somewhere.
    pub fn of_existing(&self, path: &Path) -> PathBuf {
        match path.ancestors().find_map(|existing| Some((existing, self.of(existing)?))) {
            Some((existing, real)) => match path.strip_prefix(existing) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            },
            None => path.to_owned(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_the_system_finds() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path();
        fs::create_dir_all(root.join("a/b")).expect("directories");
        fs::write(root.join("a/file"), "").expect("a file");
        for (link, target) in
            [("to_a", "a"), ("a/up", ".."), ("loop", "loop"), ("dangling", "nowhere"), ("a/b/deep", "../../to_a/b")]
        {
            std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
        }
        let names = [
            "",
            ".",
            "a",
            "a/b",
            "a/file",
            "a/file/x",
            "to_a",
            "to_a/b",
            "to_a/b/deep",
            "a/up",
            "a/up/a/up/to_a/b",
            "loop",
            "loop/x",
            "dangling",
            "dangling/x",
            "missing/x/y",
            "a/../a/b",
            "to_a/../a",
            "a/./b",
            "a//b/",
        ];
        let real = RealPaths::default();
        for name in names.into_iter().chain(names) {
            let path = root.join(name);
            assert_eq!(real.of(&path), fs::canonicalize(&path).ok(), "{name}");
        }
        let here = fs::canonicalize(root).expect("it is there");
        assert_eq!(real.of_existing(&root.join("to_a/b/new/file")), here.join("a/b/new/file"));
        assert_eq!(real.of(Path::new("/")), Some(PathBuf::from("/")));
    }
}
