use std::fs;

use crate::support::{Place, Ran};

const STATUS: &str = "description: Show the state of the shop\nbash: ./scripts/status.sh {SHOP}\nparameters: {SHOP: {description: Which, required: true}}\ntags: [read]\n";

/// A shop with a tool and what that starts, all of it committed.
fn shop(place: &Place) {
    place.tool("status", STATUS);
    place.write("scripts/status.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nannounce \"$1\"\n");
    place.write("scripts/lib.sh", "announce() { echo \"$1 is open\"; }\n");
    place.write("notes.txt", "nothing of it\n");
    place.write(".env", "KEY=hunter2\n");
    place.write(".gitignore", ".env\n");
    let ran = place.shell("chmod +x scripts/status.sh; git init -q && git add . && git -c user.name=A -c user.email=a@example.com commit -qm x");
    assert_eq!(ran.code(), 0, "{}", ran.block());
}

fn bundle(place: &Place, more: &[&str]) -> Ran {
    place.run(&[&["mcp", "bundle", "--name", "shop", "--bundle-version", "1.2.3", "--author", "Ada"], more].concat())
}

#[test]
fn a_bundle_has_what_its_tools_start_and_nothing_else() {
    let place = Place::new();
    shop(&place);
    let ran = bundle(&place, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let list = place.shell("python3 -c 'import zipfile; z = zipfile.ZipFile(\"shop-1.2.3.mcpb\"); print(z.testzip()); [print(i.filename, oct(i.external_attr >> 16)) for i in z.infolist()]'");
    expect_test::expect![[r#"
        None
        README.md 0o100644
        manifest.json 0o100644
        project/.cycod/tools/status.yaml 0o100644
        project/scripts/lib.sh 0o100644
        project/scripts/status.sh 0o100755
        server/index.cjs 0o100755
    "#]]
    .assert_eq(&list.stdout());
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let (one, other) = (Place::new(), Place::new());
    let bytes = [&one, &other].map(|place| {
        shop(place);
        let npm = ["--npm", "@ada/shop", "--pypi", "ada-shop", "--registry", "io.github.ada/shop", "--out", "../tmp"];
        let ran = bundle(place, &npm);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        ["shop-1.2.3.mcpb", "shop-1.2.3.tgz", "ada_shop-1.2.3-py3-none-any.whl", "server.json"]
            .map(|name| fs::read(place.path("tmp").join(name)).expect("the file"))
    });
    assert_eq!(bytes[0], bytes[1]);
}

/// Every problem is listed at once, and nothing is written.
#[test]
fn what_cannot_work_elsewhere_is_refused() {
    let place = Place::new();
    shop(&place);
    let home = place.home();
    place.tool("gone", "description: x\nbash: ./scripts/gone.sh\ntags: [run]\n");
    place.tool("home", "description: x\nbash: ~/bin/notify\ntags: [run]\n");
    place.tool("path", &format!("description: x\nbash: cat {}/notes\ntags: [run]\n", home.display()));
    place.tool("ours", "description: x\nuse-tool: theirs\ntags: [run]\n");
    fs::create_dir_all(home.join(".cycod/tools")).expect("a directory");
    fs::write(home.join(".cycod/tools/theirs.yaml"), "description: x\nbash: echo\ntags: [read]\n").expect("a tool");
    place.write("keys/id_ed25519", "secret\n");
    let linked = place.shell("ln -s /etc/hostname linked; git add .cycod keys linked");
    assert_eq!(linked.code(), 0, "{}", linked.block());
    place.write("later.sh", "echo\n");
    place.tool("later", "description: x\nbash: sh later.sh\ntags: [run]\n");
    let ran = bundle(
        &place,
        &["--include", ".env", "--include", "keys/id_ed25519", "--include", "linked", "--include", "none"],
    );
    expect_test::expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[not-portable]: the tools can't be bundled: 10 problems
          `ours` uses `theirs`, which is outside the project: [PLACE]/home/.cycod/tools/theirs.yaml
          `gone` starts `scripts/gone.sh`, which does not exist
          `home` starts `[PLACE]/home/bin/notify`, which is outside the project: copy it into the project
          `.cycod/tools/path.yaml` contains the path `[PLACE]/home`, which only this machine has: write a path relative to the project
          `linked` is outside the project, or a link that leads out of it
          `.cycod/tools/later.yaml` is not under version control: git add .cycod/tools/later.yaml
          `.env` is not under version control: git add .env
          `later.sh` is not under version control: git add later.sh
          `keys/id_ed25519` is never packed: such files hold keys and passwords
          `none` cannot be read: No such file or directory (os error 2)
          more: cycod explain not-portable
    "#]].assert_eq(&ran.block());
    assert!(!place.project().join("shop-1.2.3.mcpb").exists());
}

#[test]
fn mistakes() {
    let place = Place::new();
    shop(&place);
    let ran = place.shell(
        r#"cycod mcp bundle --bundle-version 1 --author Ada
cycod mcp bundle --bundle-version 1.0.0 --author Ada --name 'A b'
cycod mcp bundle --bundle-version 1.0.0 --author Ada --npm 'Not A Package'
cycod mcp bundle --bundle-version 1.0.0 --author Ada --pypi shop-
cycod mcp bundle --bundle-version 1.0.0-rc.1 --author Ada --pypi shop
cycod mcp bundle --bundle-version 1.0.0 --author Ada --registry io.github.ada/shop
cycod mcp bundle --bundle-version 1.0.0 --author Ada --registry shop --npm shop
cycod mcp bundle --bundle-version 1.0.0 --author Ada --registry a/b --url http://x/y
cycod mcp bundle --bundle-version 1.0.0 --author Ada --include ../x
cycod mcp bundle nothing --bundle-version 1.0.0 --author Ada
cd scripts; cycod mcp bundle --bundle-version 1.0.0 --author Ada --include lib.sh --include ../notes.txt
cd ..; rm -r .cycod; cycod mcp bundle --bundle-version 1.0.0 --author Ada"#,
    );
    expect_test::expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: --bundle-version 1: a version is written MAJOR.MINOR.PATCH
        error: --name A b: a name has lowercase letters, digits, `-`, `_` and `.`, at most 64 characters
        error: --npm Not A Package: a package is called `name` or `@scope/name`, in lowercase
        error: --pypi shop-: a package has lowercase letters and digits, and `-`, `_` and `.` between them
        error: --bundle-version 1.0.0-rc.1: PyPI writes versions before a release in another way; use MAJOR.MINOR.PATCH alone
        error: --registry io.github.ada/shop: say where the server can be had: --npm PACKAGE, --pypi PACKAGE or --url URL
        error: --registry shop: a name in the registry is written `io.github.USER/NAME`
        error: --url http://x/y: it is the address of the `.mcpb` file, and begins with `https://`
        error: --include ../x: it is not a path below the project
        error[unknown-tool]: no tool is called `nothing`
          try: cycod list
          more: cycod explain unknown-tool
        Wrote project-1.0.0.mcpb
          1 tool with 4 files:
            .cycod/tools/status.yaml
            notes.txt
            scripts/lib.sh
            scripts/status.sh
        warning: cycod can't follow what `announce` starts or loads: no table describes it; if it needs files of the project, add them with --include
        The tools run elsewhere once they are trusted there: cycod help guide mcp-bundles
        error: this project has no tools
          cycod help guide getting-started
    "#]].assert_eq(&ran.block());
}

/// Nothing is trusted because it is in a bundle; what its user trusts already is, wherever it lies.
#[test]
fn an_installed_bundle_waits_for_trust() {
    let place = Place::cloned();
    shop(&place);
    assert_eq!(bundle(&place, &[]).code(), 0);
    let ran = place.shell(
        "python3 -c 'import zipfile; zipfile.ZipFile(\"shop-1.2.3.mcpb\").extractall(\"../installed\")'; cd ../installed/project; chmod +x scripts/status.sh
cycod run status SHOP=ours; cycod trust --all --yes; cycod run status SHOP=ours",
    );
    assert!(
        ran.stderr().contains("error[untrusted-tool]") && ran.stdout().ends_with("ours is open\n"),
        "{}",
        ran.block()
    );
    let project = place.run(&["run", "status", "SHOP=theirs"]);
    assert_eq!(project.stdout(), "theirs is open\n", "{}", project.block());
}
