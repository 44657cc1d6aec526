use std::fs;
use std::os::unix::fs::PermissionsExt;

use cycod_process::{ProgramNotFound, find_program};

#[test]
fn follows_the_rules_of_execvp() {
    let directory = tempfile::tempdir().expect("temporary files work");
    let root = directory.path();
    let file = |name: &str, mode| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("the directory is ours");
        fs::write(&path, "").expect("the directory is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the file is ours");
    };
    file("plain/tool", 0o644);
    file("first/tool", 0o755);
    file("second/tool", 0o755);
    file("here", 0o755);
    fs::create_dir_all(root.join("first/folder")).expect("the directory is ours");
    let find = |name: &str, path: &str| {
        let path = path.replace('@', root.to_str().expect("the name is text"));
        match find_program(name.as_ref(), path.as_ref(), root) {
            Ok(path) => path.strip_prefix(root).expect("all of them are below the root").display().to_string(),
            Err(ProgramNotFound::Missing { name }) => format!("missing {}", name.display()),
            Err(ProgramNotFound::NotExecutable { path }) => {
                format!("refused {}", path.strip_prefix(root).expect("as above").display())
            }
        }
    };
    for (name, path, expect) in [
        ("tool", "@/first:@/second", "first/tool"),
        ("tool", "@/none:@/second:@/first", "second/tool"),
        ("tool", "@/plain:@/second", "second/tool"),
        ("tool", "@/plain:@/none", "refused plain/tool"),
        ("folder", "@/first", "refused first/folder"),
        ("tool", "", "missing tool"),
        ("here", "", "here"),
        ("here", "@/first:", "here"),
        ("tool", "first", "first/tool"),
        ("./here", "@/first", "here"),
        ("second/tool", "@/first", "second/tool"),
        ("./tool", "@/first", "missing ./tool"),
        ("", "@/first", "missing "),
        ("to\0ol", "@/first", "missing to\0ol"),
    ] {
        assert_eq!(find(name, path).replace("./", ""), expect.replace("./", ""), "{name:?} in {path:?}");
    }
}
