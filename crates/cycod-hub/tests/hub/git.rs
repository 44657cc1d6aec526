//! Repositories as a source of proposals, with the real git: those of a team, and hostile ones.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use cycod_hub::{Hub, HubKey, SqliteStore};
use cycod_team::{ProposalDocument, ReviewVerdict};
use cycod_team_sync::{ReviewDesk as _, TeamHub};

use crate::{
    program::{begin, done, fails},
    support::{Signer, now, open, proposal_of, review, served, stable},
};

const TOOL: &str = "description: Deploy\nbash: echo deployed\n";

/// A hub in a directory, and a repository next to it.
struct Place {
    scratch: tempfile::TempDir,
    repository: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        begin(scratch.path(), &[]);
        let repository = scratch.path().join("repository");
        let place = Self { scratch, repository };
        place.git(&["init", "-q", "-b", "main", "repository"], b"");
        place.write("tools/deploy.yaml", TOOL);
        place.commit("Ada <ada@example.com>", "add deploy");
        place
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs the real git; returns what it printed.
    fn git(&self, words: &[&str], input: &[u8]) -> String {
        let at = if self.repository.exists() { &self.repository } else { self.scratch.path() };
        #[expect(clippy::disallowed_methods, reason = "repositories are those of the real program")]
        let mut command = Command::new("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]).args(words);
        command.current_dir(at).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("git starts");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "git {words:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repository.join(".cycod").join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn commit(&self, author: &str, subject: &str) {
        self.git(&["add", "-A"], b"");
        self.git(&["commit", "-q", "--author", author, "-m", subject], b"");
    }

    /// Makes a commit of these entries below `.cycod/tools`: mode, kind, name and object.
    fn commit_tree(&self, entries: &[(&str, &[u8], &str)]) {
        let mut tree = Vec::new();
        for (mode, name, object) in entries {
            let raw = (0..object.len()).step_by(2).map(|at| u8::from_str_radix(&object[at..at + 2], 16).expect("hex"));
            tree.extend_from_slice(format!("{mode} ").as_bytes());
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend(raw);
        }
        let tools = self.git(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &tree);
        let cycod = self.git(&["mktree"], format!("040000 tree {tools}\ttools\n").as_bytes());
        let root = self.git(&["mktree"], format!("040000 tree {cycod}\t.cycod\n").as_bytes());
        let commit = self.git(&["commit-tree", &root, "-m", "hostile"], b"");
        self.git(&["update-ref", "refs/heads/main", &commit], b"");
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.git(&["hash-object", "-w", "--stdin"], bytes)
    }

    fn import(&self) -> String {
        done(self.path(), &["import", "--data", "data", "--git", "repository"])
    }

    fn refused(&self, says: &str) {
        fails(self.path(), &["import", "--data", "data", "--git", "repository"], says);
        assert!(!self.path().join("pwned").exists(), "nothing of the repository ran: {says}");
    }

    /// Every file of the repository with what it has.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut files, mut waiting) = (BTreeMap::new(), vec![self.repository.clone()]);
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).expect("it is there") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => waiting.push(path),
                    false => _ = files.insert(path.clone(), fs::read(path).expect("a file")),
                }
            }
        }
        files
    }

    fn hub(&self) -> Hub {
        let store = SqliteStore::open(&self.path().join("data/hub.db")).expect("a database");
        Hub::new(Arc::new(store), HubKey::read(&self.path().join("data/release.key")).expect("a key"))
    }
}

#[test]
fn a_branch_becomes_proposals_and_nothing_goes_back() {
    let place = Place::new();
    let before = place.bytes();
    let said = place.import();
    assert!(said.contains(": add deploy, from commit ") && said.contains(" by Ada <ada@example.com>"), "{said}");
    assert!(said.contains("\n  tools/deploy.yaml\n"), "{said}");
    assert!(place.import().contains("It waits as proposal "));

    // The branch moves on: the proposal of before is closed, and the new one names everyone who wrote since.
    place.write("policy.yaml", "rules:\n  - deny: other\n");
    place.write("tools/scripts/run.sh", "echo run\n");
    place.write("tools/.editor", "kept by an editor");
    place.write("../README", "no part of a release");
    fs::set_permissions(place.repository.join(".cycod/tools/scripts/run.sh"), fs::Permissions::from_mode(0o755))
        .expect("permissions");
    place.commit("Eve <eve@example.com>", "add rules");
    let changed = place.bytes();
    let said = place.import();
    assert!(said.contains("by Eve <eve@example.com>") && said.contains("\n  policy.yaml\n"), "{said}");
    assert!(changed == place.bytes() && before != changed, "the repository is as it was");
    let paths: Vec<&str> = said.lines().skip(1).map(str::trim).collect();
    assert_eq!(paths, ["policy.yaml", "tools/deploy.yaml", "tools/scripts/run.sh"]);

    // It is reviewed as others are. Who wrote the commit may be a reviewer, so it needs one more of them.
    let hub = place.hub();
    hub.add_member("ben", &Signer::new("ben").key(), false, now()).expect("a member");
    let source = served(place.hub());
    let device = |name: &str| -> TeamHub {
        let device = cycod_team_sync::DeviceKey::generate().expect("a key");
        let client = open(&source, &device);
        let token = hub.token(name, 1, now()).expect("a token");
        client.enrol(&cycod_team_sync::EnrolmentProof::Token(token)).expect("it is enrolled");
        client
    };
    let [ada, ben, dana] = ["ada@example.com", "ben", "dana"].map(device);
    let waiting = ben.proposals().expect("a list");
    let [proposal] = &waiting[..] else { panic!("one proposal waits: {waiting:?}") };
    let digest = proposal.proposal.digest();
    let document: ProposalDocument = serde_json::from_str(&proposal.proposal.document).expect("a proposal");
    let from = document.source.expect("a commit");
    assert_eq!(
        (from.authors, from.commit),
        (vec!["Eve <eve@example.com>".to_owned()], place.git(&["rev-parse", "main"], b""))
    );
    ben.review(digest, &review("ben", digest, ReviewVerdict::Approve)).expect("a review");
    assert_eq!(dana.release(&stable(), 1).expect("a release").applied, []);
    dana.review(digest, &review("dana", digest, ReviewVerdict::Approve)).expect("a review");
    assert_eq!(dana.release(&stable(), 2).expect("a release").applied, [digest]);
    assert!(place.import().contains("The team has all of commit "));

    // What the branch loses goes, and what people proposed elsewhere stays.
    let other = proposal_of("ada", "tools/other.yaml", None, TOOL.as_bytes());
    ada.propose(&other, &[TOOL.as_bytes()]).expect("a proposal");
    ben.review(other.digest(), &review("ben", other.digest(), ReviewVerdict::Approve)).expect("a review");
    assert_eq!(dana.release(&stable(), 3).expect("a release").applied, [other.digest()]);
    fs::remove_file(place.repository.join(".cycod/tools/deploy.yaml")).expect("removed");
    place.commit("Ada <ada@example.com>", "remove deploy");
    let said = place.import();
    assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), ["  tools/deploy.yaml"], "{said}");
    assert!(hub.audit().expect("as written").iter().any(|row| row.action == "import"));

    // Packed, without a working tree, and with the other kind of digests.
    place.git(&["clone", "-q", "--bare", ".", "../bare.git"], b"");
    let bare = ["import", "--data", "data", "--git", "bare.git"];
    assert!(done(place.path(), &bare).contains("It waits as proposal "));
    let wrong = |words: &[&str], says: &str| fails(place.path(), &[&bare[..], words].concat(), says);
    wrong(&["--branch", "other"], "no branch `other`");
    wrong(&["--branch", "../../HEAD"], "is no name of a branch");
    wrong(&["--branch=--upload-pack=touch pwned"], "is no name of a branch");
    wrong(&["--path", "../x"], "no path within a repository");
    wrong(&["--path", "nowhere"], "has no directory `nowhere`");
    wrong(&["--channel", "beta"], "the hub has no channel `beta`");
    fails(place.path(), &["import", "--data", "data", "--git", "data"], "is no repository");
}

#[test]
fn a_repository_with_other_digests_is_read() {
    let place = Place::new();
    fs::remove_dir_all(&place.repository).expect("removed");
    place.git(&["init", "-q", "-b", "main", "--object-format=sha256", "repository"], b"");
    place.write("tools/deploy.yaml", TOOL);
    place.commit("Ada <ada@example.com>", "add deploy");
    assert!(place.import().contains("add deploy"));
}

/// What a tree can have and a release can't.
#[test]
fn files_that_lead_elsewhere_are_refused() {
    let place = Place::new();
    let tool = place.blob(TOOL.as_bytes());
    let link = place.blob(b"/etc/passwd");
    let large = place.blob(&vec![b'x'; (1 << 20) + 1]);
    let commit = place.git(&["rev-parse", "main"], b"");
    let tree = place.git(&["rev-parse", "main:.cycod/tools"], b"");
    let one = |mode, name, object: &str, says: &str| {
        place.commit_tree(&[(mode, name, object)]);
        place.refused(says);
    };
    one("120000", b"deploy.yaml", &link, "`tools/deploy.yaml` is a link");
    one("160000", b"vendor", &commit, "`tools/vendor` is a submodule");
    one("100644", b"..", &tool, "`tools/..` is not a path");
    one("40000", b"..", &tree, "`tools/../deploy.yaml` is not a path");
    one("100644", b"a\nb.yaml", &tool, "is not a path");
    one("100644", b"\x1b[2Ja.yaml", &tool, "is not a path");
    one("100644", b"\xff.yaml", &tool, "is not a path");
    one("100644", b"a\\b.yaml", &tool, "is not a path");
    one("100644", b"-rf", &tool, "is not a path");
    one("100644", b"large.txt", &large, "is larger than");
    one("100644", b"deploy.yaml", &"1".repeat(40), "has no size");
    one("100644", b"deploy.yaml", &place.blob(b"description: [\n"), "has a mistake");
    place.commit_tree(&[("100644", b"a.yaml", &tool), ("100644", b"A.yaml", &tool)]);
    place.refused("in another case");
    // Rules by which no tool would run.
    let rules = place.blob(b"rules:\n  - deny: [\n");
    let root = place.git(&["mktree"], format!("100644 blob {rules}\tpolicy.yaml\n").as_bytes());
    let root = place.git(&["mktree"], format!("040000 tree {root}\t.cycod\n").as_bytes());
    let wrong = place.git(&["commit-tree", &root, "-m", "rules"], b"");
    place.git(&["update-ref", "refs/heads/main", &wrong], b"");
    place.refused("`policy.yaml` has a mistake");
    // A directory that is a link, or a submodule.
    for (mode, object) in [("120000", &link), ("160000", &commit)] {
        let kind = if mode == "120000" { "blob" } else { "commit" };
        let root = place.git(&["mktree", "--missing"], format!("{mode} {kind} {object}\t.cycod\n").as_bytes());
        let commit = place.git(&["commit-tree", &root, "-m", "x"], b"");
        place.git(&["update-ref", "refs/heads/main", &commit], b"");
        place.refused("has no directory `.cycod`");
    }
    // A few objects that are billions of files.
    let mut tree = place.git(&["mktree"], format!("100644 blob {tool}\tf.yaml\n").as_bytes());
    for _ in 0..9 {
        let entries: String = (0..10).map(|name| format!("040000 tree {tree}\td{name}\n")).collect();
        tree = place.git(&["mktree"], entries.as_bytes());
    }
    place.commit_tree(&[("40000", b"bomb", &tree)]);
    place.refused("git answers more than");
    assert!(place.hub().audit().expect("as written").iter().all(|row| row.action != "import"), "nothing was proposed");
}

/// A repository whose configuration, hooks and attributes run programs, if anything reads them.
#[test]
fn nothing_of_a_repository_runs() {
    let place = Place::new();
    let pwned = place.path().join("pwned");
    let program = format!("touch {} #", pwned.display());
    for hook in ["post-checkout", "pre-auto-gc", "post-index-change", "reference-transaction", "pre-commit"] {
        let path = place.repository.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, format!("#!/bin/sh\n{program}\n")).expect("a hook");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let config = format!(
        "[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\tworktree = /\n\
         \talternateRefsCommand = {program}\n[diff]\n\texternal = {program}\n[diff \"x\"]\n\ttextconv = {program}\n\
         [filter \"x\"]\n\tsmudge = {program}\n\tclean = {program}\n\tprocess = {program}\n[gpg]\n\tprogram = {program}\n\
         [log]\n\tshowSignature = true\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\
         \turl = ext::sh -c \"{}\"\n[protocol]\n\tallow = always\n",
        program.replace('"', "")
    );
    fs::write(place.repository.join(".cycod/tools/.gitattributes"), "* filter=x diff=x\n").expect("attributes");
    fs::write(place.repository.join(".gitattributes"), "* filter=x diff=x export-subst ident\n").expect("attributes");
    place.write("tools/deploy.yaml", "description: Deploy $Id$\nbash: echo deployed\n");
    place.commit("Ada <ada@example.com>", "attributes");
    let path = place.repository.join(".git/config");
    let plain = fs::read_to_string(&path).expect("it is there");
    // The configuration does run programs, where it is read.
    fs::write(&path, format!("{plain}{config}").replace("worktree = /", "")).expect("written");
    #[expect(clippy::disallowed_methods, reason = "the attack is tried with the real program")]
    let mut reads = Command::new("git");
    _ = reads.args(["status", "--short"]).current_dir(&place.repository).output().expect("git starts");
    assert!(pwned.exists(), "the attack works");
    fs::remove_file(&pwned).expect("removed");

    fs::write(&path, format!("{plain}{config}")).expect("written");
    let said = place.import();
    assert!(said.contains("attributes, from commit") && !pwned.exists(), "{said}");
    let hub = place.hub();
    let last = hub.last_import(&stable()).expect("a list").expect("a commit");

    // An object that is missing is not fetched, and one that replaces another doesn't.
    fs::write(&path, &plain).expect("written");
    place.commit_tree(&[("100644", b"deploy.yaml", &"1".repeat(40))]);
    // The hook of that commit ran, which the import is not to do.
    fs::remove_file(&pwned).expect("the attack works");
    fs::write(&path, format!("{plain}{config}")).expect("written");
    place.refused("has no size");
    fs::write(&path, &plain).expect("written");
    let other = place.blob(b"description: Other\nbash: echo owned\n");
    let tool = place.blob(TOOL.as_bytes());
    place.git(&["replace", &tool, &other], b"");
    place.commit_tree(&[("100644", b"deploy.yaml", &tool)]);
    fs::remove_file(&pwned).expect("the attack works");
    _ = place.import();
    let next = hub.last_import(&stable()).expect("a list").expect("a commit");
    assert_ne!(last, next);
    let store = rusqlite::Connection::open(place.path().join("data/hub.db")).expect("a database");
    let count = |text: &str| -> i64 {
        let select = "SELECT COUNT(*) FROM blobs WHERE CAST(bytes AS TEXT) = ?1";
        store.query_row(select, [text], |row| row.get(0)).expect("a number")
    };
    assert_eq!((count(TOOL), count("description: Other\nbash: echo owned\n")), (1, 0));

    // Objects of elsewhere, and a branch that is a link to something else.
    fs::create_dir_all(place.repository.join(".git/objects/info")).expect("a directory");
    fs::write(place.repository.join(".git/objects/info/alternates"), "/srv/private.git/objects\n").expect("written");
    place.refused("borrows the objects of another repository");
    fs::remove_file(place.repository.join(".git/objects/info/alternates")).expect("removed");
    let secret = place.path().join("secret");
    fs::write(&secret, "a secret\n").expect("a file");
    symlink(&secret, place.repository.join(".git/refs/heads/link")).expect("a link");
    let words = ["import", "--data", "data", "--git", "repository", "--branch", "link"];
    fails(place.path(), &words, "no branch `link` that can be read");
}
