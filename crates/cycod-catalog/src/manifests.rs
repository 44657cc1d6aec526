//! The programs that a project builds, as its own manifests name them.
//!
//! A manifest is read within the project only, up to a size, and what is wrong with one is for its own tools to say: then it names
//! nothing. What was read is remembered, also beside the indexes, for as long as the change times of all that was looked at stay as
//! they were.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cycod_definition::Built;
use cycod_file::{Look, Seen};
use serde_json::Value as Json;
use toml_edit::{Document, Item, TableLike};

use crate::{read, shelf::Cache};

/// What manifests are called.
pub(crate) const NAMES: [&str; 5] = ["go.mod", "Cargo.toml", "package.json", "pyproject.toml", "setup.cfg"];

/// The largest manifest that is read.
const LARGEST: u64 = 256 << 10;
/// How many manifests, and files that decide with them, are looked at.
const MOST_FILES: usize = 400;
/// How many directories one pattern of members may stand for.
const MOST_MEMBERS: usize = 100;
/// How many programs one project may build.
const MOST_BUILT: usize = 1000;
/// How many projects are remembered.
const MOST_REMEMBERED: usize = 8;

/// What the manifests of a project say, with what was looked at to learn it.
#[derive(Debug)]
struct Known {
    root: PathBuf,
    seen: Vec<Seen>,
    built: Arc<[Built]>,
}

/// The programs that the project in `root` builds, by name. `cache` remembers them for other processes.
#[cfg_attr(not(unix), expect(unused_variables, reason = "change times are not kept there"))]
pub(crate) fn built(root: &Path, look: &Look, cache: Option<&Cache>) -> Arc<[Built]> {
    static REMEMBERED: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let remembered = || REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = remembered().iter().find(|known| known.root == root)
        && known.seen.iter().all(|seen| seen.is_current_in(look))
    {
        return Arc::clone(&known.built);
    }
    #[cfg(unix)]
    let kept = || cache.and_then(|cache| kept::load(cache, root));
    #[cfg(unix)]
    let known = Known::without(root, look).or_else(kept).unwrap_or_else(|| {
        let known = Known::read(root);
        // Only time is lost when it cannot be written.
        _ = cache.and_then(|cache| kept::save(cache, &known));
        known
    });
    #[cfg(not(unix))]
    let known = Known::read(root);
    let built = Arc::clone(&known.built);
    let mut all = remembered();
    all.retain(|other| other.root != root);
    if all.len() >= MOST_REMEMBERED {
        all.remove(0);
    }
    all.push(known);
    built
}

impl Known {
    /// What a project says that has no manifest.
    #[cfg(unix)]
    fn without(root: &Path, look: &Look) -> Option<Self> {
        let seen = NAMES.map(|name| {
            let path = root.join(name);
            if look.may_be_there(&path) { look.seen(&path) } else { Seen::restored(path, None) }
        });
        let has_none = !seen.iter().any(Seen::is_there);
        has_none.then(|| Self { root: root.to_owned(), seen: seen.into(), built: Arc::default() })
    }

    fn read(root: &Path) -> Self {
        let mut reading = Reading { root: root.to_owned(), real: None, seen: Vec::new(), named: BTreeMap::new() };
        reading.go();
        reading.cargo("", true);
        reading.node("", true);
        reading.python();
        let built = reading.named.into_iter().map(|(name, manifest)| Built { name, manifest }).collect();
        Self { root: root.to_owned(), seen: reading.seen, built }
    }
}

/// One look at the manifests of a project.
struct Reading {
    /// Its directory.
    root: PathBuf,
    /// The same without links, once something is there.
    real: Option<PathBuf>,
    seen: Vec<Seen>,
    /// The programs, each with the manifest that names it.
    named: BTreeMap<String, String>,
}

impl Reading {
    /// Notes that a manifest names a program.
    fn name(&mut self, name: &str, manifest: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let is_plain = name.chars().all(is_name) && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if is_plain && name.len() <= 100 && self.named.len() < MOST_BUILT {
            self.named.entry(name.to_owned()).or_insert_with(|| manifest.to_owned());
        }
    }

    /// The place of a file or directory of the project, which is looked at from now on.
    fn look_at(&mut self, inside: &str) -> Option<PathBuf> {
        if self.seen.len() >= MOST_FILES {
            return None;
        }
        let path = self.root.join(inside);
        let seen = Seen::at(path.clone());
        let is_there = seen.is_there();
        self.seen.push(seen);
        if !is_there {
            return None;
        }
        if self.real.is_none() {
            self.real = fs::canonicalize(&self.root).ok();
        }
        let root = self.real.as_ref()?;
        fs::canonicalize(path).ok().filter(|real| real.starts_with(root))
    }

    fn text(&mut self, inside: &str) -> Option<String> {
        let path = self.look_at(inside)?;
        read::read_at_most(&path, LARGEST).ok()
    }

    fn is_file(&mut self, inside: &str) -> bool {
        self.look_at(inside).is_some_and(|path| path.is_file())
    }

    /// The names in a directory, each with whether it is a directory.
    fn names_in(&mut self, inside: &str) -> Vec<(String, bool)> {
        let Some(directory) = self.look_at(inside) else { return Vec::new() };
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names: Vec<(String, bool)> = entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())))
            .take(MOST_BUILT)
            .collect();
        names.sort();
        names
    }

    /// The directories that patterns of members stand for; `*` stands for a part of a name.
    fn members(&mut self, patterns: &[&str]) -> Vec<String> {
        let mut members = Vec::new();
        for pattern in patterns {
            let mut found = vec![String::new()];
            for part in pattern.trim_start_matches("./").split('/').filter(|part| !part.is_empty()) {
                let Some((head, tail)) = part.split_once('*') else {
                    found.iter_mut().for_each(|directory| directory.push_str(&format!("{part}/")));
                    continue;
                };
                let fits = |name: &str| {
                    name.len() >= head.len() + tail.len()
                        && name.starts_with(head)
                        && name.ends_with(tail)
                        && !name.starts_with('.')
                };
                let mut next = Vec::new();
                for directory in found {
                    let names = self.names_in(&directory).into_iter();
                    let names = names.filter(|(name, is_directory)| *is_directory && fits(name));
                    next.extend(names.map(|(name, _)| format!("{directory}{name}/")));
                }
                found = next;
                found.truncate(MOST_MEMBERS);
            }
            members.extend(found.into_iter().filter(|directory| !directory.split('/').any(|part| part == "..")));
        }
        members.retain(|directory| !directory.is_empty());
        members.truncate(MOST_MEMBERS);
        members
    }

    /// `go.mod`, and the directories of commands below `cmd`.
    fn go(&mut self) {
        const MANIFEST: &str = "go.mod";
        let Some(text) = self.text(MANIFEST) else { return };
        let module = text.lines().find_map(|line| line.trim().strip_prefix("module")?.split_whitespace().next());
        let Some(module) = module.map(|module| module.trim_matches(['"', '`'])) else { return };
        let mut parts = module.rsplit('/');
        let is_version = |part: &str| {
            part.strip_prefix('v')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
        };
        if let Some(name) = parts.find(|part| !is_version(part))
            && self.is_go_command("", name)
        {
            self.name(name, MANIFEST);
        }
        for (name, is_directory) in self.names_in("cmd") {
            if is_directory && self.is_go_command(&format!("cmd/{name}/"), &name) {
                self.name(&name, MANIFEST);
            }
        }
    }

    fn is_go_command(&mut self, directory: &str, name: &str) -> bool {
        [format!("{directory}main.go"), format!("{directory}{name}.go")].iter().any(|file| {
            let text = self.text(file);
            text.is_some_and(|text| {
                let package = text.lines().find_map(|line| line.strip_prefix("package "));
                package.and_then(|package| package.split_whitespace().next()) == Some("main")
            })
        })
    }

    /// `Cargo.toml` in a directory, with those of the members of its workspace.
    fn cargo(&mut self, directory: &str, with_members: bool) {
        let manifest = format!("{directory}Cargo.toml");
        let Some(document) = self.toml(&manifest) else { return };
        let text = |item: Option<&Item>| item.and_then(Item::as_str).map(str::to_owned);
        let bins = document.get("bin").and_then(Item::as_array_of_tables).into_iter().flatten();
        for name in bins.filter_map(|bin| text(bin.get("name"))) {
            self.name(&name, &manifest);
        }
        if let Some(package) = table(document.get("package")) {
            let is_found = package.get("autobins").and_then(Item::as_bool) != Some(false);
            if let Some(name) = text(package.get("name")).filter(|_| is_found)
                && self.is_file(&format!("{directory}src/main.rs"))
            {
                self.name(&name, &manifest);
            }
            let files = if is_found { self.names_in(&format!("{directory}src/bin")) } else { Vec::new() };
            for (file, is_directory) in files {
                let name = match file.strip_suffix(".rs") {
                    Some(name) if !is_directory => name,
                    None if is_directory && self.is_file(&format!("{directory}src/bin/{file}/main.rs")) => &file,
                    _ => continue,
                };
                self.name(name, &manifest);
            }
        }
        let members = table(document.get("workspace")).and_then(|workspace| workspace.get("members"));
        if let Some(members) = members.and_then(Item::as_array).filter(|_| with_members) {
            let patterns: Vec<&str> = members.iter().filter_map(|member| member.as_str()).collect();
            for member in self.members(&patterns) {
                self.cargo(&member, false);
            }
        }
    }

    /// `package.json` in a directory, with those of its workspaces.
    fn node(&mut self, directory: &str, with_members: bool) {
        let manifest = format!("{directory}package.json");
        let Some(package) = self.text(&manifest).and_then(|text| serde_json::from_str::<Json>(&text).ok()) else {
            return;
        };
        match &package["bin"] {
            Json::String(_) => {
                let name = package["name"].as_str().unwrap_or_default();
                self.name(name.rsplit('/').next().unwrap_or(name), &manifest);
            }
            Json::Object(named) => named.keys().for_each(|name| self.name(name, &manifest)),
            _ => {}
        }
        if with_members {
            let listed = package["workspaces"].as_array().or_else(|| package["workspaces"]["packages"].as_array());
            let patterns: Vec<&str> = listed.into_iter().flatten().filter_map(Json::as_str).collect();
            for member in self.members(&patterns) {
                self.node(&member, false);
            }
        }
    }

    /// `pyproject.toml` and `setup.cfg`.
    fn python(&mut self) {
        const MANIFEST: &str = "pyproject.toml";
        if let Some(document) = self.toml(MANIFEST) {
            let project = table(document.get("project"));
            let poetry = table(document.get("tool")).and_then(|tool| table(tool.get("poetry")));
            let lists = [(project, "scripts"), (project, "gui-scripts"), (poetry, "scripts")];
            for scripts in lists.into_iter().filter_map(|(of, key)| table(of?.get(key))) {
                scripts.iter().for_each(|(name, _)| self.name(name, MANIFEST));
            }
        }
        const SETUP: &str = "setup.cfg";
        let Some(text) = self.text(SETUP) else { return };
        let (mut is_entry_points, mut is_scripts) = (false, false);
        for line in text.lines() {
            let is_indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            if !is_indented {
                is_entry_points =
                    if line.starts_with('[') { line == "[options.entry_points]" } else { is_entry_points };
                let key = line.split('=').next().unwrap_or_default().trim();
                is_scripts = matches!(key, "console_scripts" | "gui_scripts");
            } else if is_entry_points
                && is_scripts
                && let Some((name, _)) = line.split_once('=')
            {
                self.name(name.trim(), SETUP);
            }
        }
    }

    fn toml(&mut self, inside: &str) -> Option<Document<String>> {
        Document::parse(self.text(inside)?).ok()
    }
}

fn table(item: Option<&Item>) -> Option<&dyn TableLike> {
    item.and_then(Item::as_table_like)
}

/// What a process leaves for the next one.
#[cfg(unix)]
mod kept {
    use std::{
        fs::{DirBuilder, File},
        os::{
            fd::AsFd as _,
            unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
        },
        path::{Path, PathBuf},
    };

    use cycod_definition::Built;
    use cycod_file::{Durability, FileAccess, Seen, Stamp, keeps_change_times, now};
    use serde_json::{Value as Json, json};

    use super::Known;
    use crate::{hash::hash, index::fingerprint, read, shelf::Cache};

    /// More than the longest that is written.
    const LARGEST: u64 = 1 << 20;

    fn path(cache: &Cache, root: &Path) -> PathBuf {
        cache.directory.join(format!("{:016x}.manifests.index", hash(root.as_os_str().as_bytes())))
    }

    /// The device of a project whose file system keeps change times.
    fn device(root: &Path) -> Option<u64> {
        let directory = File::open(root).ok()?;
        keeps_change_times(directory.as_fd()).then(|| Stamp::of(&directory))?.map(|stamp| stamp.device)
    }

    pub(super) fn load(cache: &Cache, root: &Path) -> Option<Known> {
        let text = read::read_at_most(&path(cache, root), LARGEST).ok()?;
        let kept: Json = serde_json::from_str(&text).ok()?;
        let is_ours = kept["program"] == json!(fingerprint()) && kept["root"] == json!(root.to_str()?);
        if !is_ours || kept["written"].as_i64()? > now() {
            return None;
        }
        device(root)?;
        let seen = kept["seen"].as_array()?.iter().map(|seen| {
            let stamp = match seen.get(1)? {
                Json::Null => None,
                stamp => Some(Stamp {
                    device: stamp.get(0)?.as_u64()?,
                    inode: stamp.get(1)?.as_u64()?,
                    size: stamp.get(2)?.as_u64()?,
                    modified: stamp.get(3)?.as_i64()?,
                    changed: stamp.get(4)?.as_i64()?,
                }),
            };
            Some(Seen::restored(seen.get(0)?.as_str()?.into(), stamp))
        });
        let seen: Vec<Seen> = seen.collect::<Option<_>>()?;
        let built = kept["built"].as_array()?.iter().map(|built| {
            let text = |at: usize| Some(built.get(at)?.as_str()?.to_owned());
            Some(Built { name: text(0)?, manifest: text(1)? })
        });
        let built = built.collect::<Option<Vec<_>>>()?;
        seen.iter().all(Seen::is_current).then(|| Known { root: root.to_owned(), seen, built: built.into() })
    }

    pub(super) fn save(cache: &Cache, known: &Known) -> Option<()> {
        // A project without manifests is looked at as fast as what would be remembered.
        known.seen.iter().any(Seen::is_there).then_some(())?;
        let device = device(&known.root)?;
        let seen = known.seen.iter().map(|seen| {
            let stamp = seen.settled()?;
            let is_here = stamp.is_none_or(|stamp| stamp.device == device);
            let words =
                stamp.map(|stamp| json!([stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed]));
            is_here.then_some(json!([seen.path().to_str()?, words]))
        });
        let seen: Vec<Json> = seen.collect::<Option<_>>()?;
        let built: Vec<Json> = known.built.iter().map(|built| json!([built.name, built.manifest])).collect();
        let root = known.root.to_str()?;
        let kept = json!({"program": fingerprint(), "root": root, "written": now(), "seen": seen, "built": built});
        DirBuilder::new().recursive(true).mode(0o700).create(&cache.directory).ok()?;
        let path = path(cache, &known.root);
        cycod_file::replace(&path, kept.to_string().as_bytes(), FileAccess::Usual, Durability::Process).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use tempfile::TempDir;

    use cycod_file::Look;

    use super::built;
    #[cfg(unix)]
    use crate::shelf::Cache;

    fn project(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        files.iter().for_each(|(path, text)| write(root.path(), path, text));
        root
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn named(root: &TempDir) -> String {
        let all = built(root.path(), &Look::default(), None);
        all.iter().map(|built| format!("{} by {}", built.name, built.manifest)).collect::<Vec<_>>().join(", ")
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &str) {
        assert_eq!(named(&project(files)), expected);
    }

    #[test]
    fn every_kind_of_manifest_names_programs() {
        check(
            &[
                ("go.mod", "module github.com/ada/n3dr/v7\n\ngo 1.24\n"),
                ("main.go", "// Says so.\npackage main\n"),
                ("cmd/n3drd/n3drd.go", "package main\n"),
                ("cmd/internal/internal.go", "package internal\n"),
                ("cmd/empty/README", ""),
            ],
            "n3dr by go.mod, n3drd by go.mod",
        );
        check(&[("go.mod", "module lib\n"), ("lib.go", "package lib\n")], "");
        check(
            &[
                (
                    "Cargo.toml",
                    "[package]\nname = 'top'\n[[bin]]\nname = 'other'\n[workspace]\nmembers = ['crates/*', 'x']",
                ),
                ("src/main.rs", ""),
                ("src/bin/small.rs", ""),
                ("src/bin/large/main.rs", ""),
                ("src/bin/large.d/help.rs", ""),
                ("crates/cli/Cargo.toml", "package.name = 'cli'"),
                ("crates/cli/src/main.rs", ""),
                ("crates/library/Cargo.toml", "package.name = 'library'"),
                ("x/Cargo.toml", "[package]\nname = 'quiet'\nautobins = false"),
                ("x/src/main.rs", ""),
                ("y/Cargo.toml", "[package]\nname = 'no-member'"),
                ("y/src/main.rs", ""),
            ],
            "cli by crates/cli/Cargo.toml, large by Cargo.toml, other by Cargo.toml, small by Cargo.toml, top by Cargo.toml",
        );
        check(&[("package.json", r#"{"name": "@ada/tool", "bin": "./cli.js"}"#)], "tool by package.json");
        check(
            &[
                ("package.json", r#"{"bin": {"one": "a.js", "-rf": "b.js"}, "workspaces": {"packages": ["./p/*"]}}"#),
                ("p/two/package.json", r#"{"name": "two", "bin": "x"}"#),
                ("p/file", ""),
            ],
            "one by package.json, two by p/two/package.json",
        );
        check(
            &[
                ("pyproject.toml", "[project.scripts]\na = 'm:f'\n[tool.poetry.scripts]\nb = {reference = 'm:f'}\n"),
                (
                    "setup.cfg",
                    "[options]\nx =\n  y = z\n[options.entry_points]\nconsole_scripts =\n    c = m:f\n    d=m:g\nplug.ins =\n    e = m:h\n",
                ),
            ],
            "a by pyproject.toml, b by pyproject.toml, c by setup.cfg, d by setup.cfg",
        );
    }

    #[test]
    fn what_is_wrong_with_a_manifest_is_nothing_special() {
        check(&[], "");
        check(&[("Cargo.toml", "[package"), ("package.json", "{"), ("pyproject.toml", "="), ("go.mod", "")], "");
        check(&[("package.json", "[1]"), ("Cargo.toml", "bin = 1\npackage = []\nworkspace = ''")], "");
        check(&[("package.json", r#"{"bin": 1, "workspaces": [1, "", "/", "..", "../*"]}"#)], "");
        check(&[("package.json", r#"{"bin": {"a b": "", "$(x)": "", "": "", "a/b": ""}}"#)], "");
        let large = format!(r#"{{"bin": {{"one": "x"}}, "_": "{}"}}"#, "x".repeat(300 << 10));
        check(&[("package.json", &large)], "");
        let missing = tempfile::tempdir().expect("a temporary directory").path().join("none");
        assert!(built(&missing, &Look::default(), None).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_manifest_outside_of_the_project_does_not_count() {
        let other = project(&[("package.json", r#"{"bin": {"one": "x"}}"#)]);
        let root = project(&[("sub/package.json", r#"{"bin": {"two": "x"}}"#)]);
        std::os::unix::fs::symlink(other.path().join("package.json"), root.path().join("package.json"))
            .expect("a link");
        assert_eq!(named(&root), "");
        fs::remove_file(root.path().join("package.json")).expect("it is there");
        std::os::unix::fs::symlink("sub/package.json", root.path().join("package.json")).expect("a link");
        assert_eq!(named(&root), "two by package.json");
    }

    #[test]
    fn a_change_counts_at_once() {
        let root = project(&[("package.json", r#"{"bin": {"one": "x"}}"#)]);
        assert_eq!(named(&root), "one by package.json");
        write(root.path(), "package.json", r#"{"bin": {"two": "x"}}"#);
        assert_eq!(named(&root), "two by package.json");
        write(root.path(), "go.mod", "module a/three");
        write(root.path(), "main.go", "package main");
        assert_eq!(named(&root), "three by go.mod, two by package.json");
        fs::remove_file(root.path().join("package.json")).expect("it is there");
        assert_eq!(named(&root), "three by go.mod");
        write(root.path(), "cmd/four/main.go", "package main");
        assert_eq!(named(&root), "four by go.mod, three by go.mod");
    }

    #[cfg(unix)]
    #[test]
    fn what_one_process_read_the_next_one_knows_until_something_changes() {
        use super::{Known, kept};
        let root = project(&[("package.json", r#"{"bin": {"one": "x"}}"#)]);
        let cache = Cache::new(root.path().join("cache"));
        let read = || Known::read(root.path());
        assert_eq!(kept::save(&cache, &read()), None, "it was changed just now");
        std::thread::sleep(cycod_file::SETTLING + std::time::Duration::from_millis(100));
        let known = read();
        assert_eq!(kept::save(&cache, &known), Some(()));
        let loaded = kept::load(&cache, root.path()).expect("nothing has changed");
        assert_eq!(loaded.built, known.built);
        // What was not there counts as well.
        write(root.path(), "setup.cfg", "");
        assert!(kept::load(&cache, root.path()).is_none());
        fs::remove_file(root.path().join("setup.cfg")).expect("it is there");
        assert!(kept::load(&cache, root.path()).is_some());
        write(root.path(), "package.json", r#"{"bin": {"two": "x"}}"#);
        assert!(kept::load(&cache, root.path()).is_none());
        let file =
            fs::read_dir(root.path().join("cache")).expect("it is there").flatten().next().expect("a file").path();
        for damage in ["", "{}", "[", "{\"program\": 1}"] {
            fs::write(&file, damage).expect("it can be written");
            assert!(kept::load(&cache, root.path()).is_none());
        }
    }
}
