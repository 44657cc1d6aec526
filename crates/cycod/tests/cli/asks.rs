use expect_test::expect;

use crate::support::Place;

const RELEASE: &str = "description: Release\ntags: [read]\nbash: 'echo \"{name} {channel} [{notes}] {sure}\"'\nasks:\n  form:\n    person: What is it called?\n    fields:\n      name: {description: The name, required: true, validation: {minLength: 2}}\n      channel: {type: string, validation: {enum: [stable, beta]}, default: beta}\n      notes: {}\n  sure: {person: 'Release {name}?'}\n";

fn place() -> Place {
    Place::with_tool("release", RELEASE)
}

#[test]
fn without_a_terminal_it_says_what_to_give() {
    let place = place();
    let mut blocks = String::new();
    for arguments in
        [&[][..], &["name=ash"], &["name=ash", "sure=yes"], &["name=ash", "sure=no"], &["name=a", "sure=y"]]
    {
        blocks.push_str(&place.run(&[&["tool", "run", "release"], arguments].concat()).block());
    }
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[question-unanswered]: `release` asks “What is it called?”, and there is no terminal
          try: cycod run release name=... sure=true
          more: cycod explain question-unanswered
        exit: 1
        --- stdout
        --- stderr
        error[question-unanswered]: `release` asks “Release ash?”, and there is no terminal
          try: cycod run release name=ash sure=true
          more: cycod explain question-unanswered
        exit: 0
        --- stdout
        ash beta [] true
        --- stderr
        exit: 1
        --- stdout
        --- stderr
        error[question-declined]: the question `sure` was declined
          try: ask the user what they want instead; do not repeat the same call
          more: cycod explain question-declined
        exit: 2
        --- stdout
        --- stderr
        error[invalid-argument]: `name`: has 1 character, needs at least 2
          also: `sure`: expected a boolean, found `y`
          help: use `true` or `false` (also 1/0, yes/no, on/off)
          try: cycod run release name=... sure=true
          more: cycod explain invalid-argument
    "#]]
    .assert_eq(&blocks);
}

#[test]
fn a_model_is_asked_nowhere_and_roots_are_the_workspace() {
    let place = Place::with_tool(
        "t",
        "description: x\ntags: [read]\nbash: 'echo {idea} {roots}'\nasks: {idea: {model: An idea?}, roots: {roots: true}}\n",
    );
    let mut blocks = place.run(&["tool", "run", "t"]).block();
    blocks.push_str(&place.run(&["tool", "run", "t", "idea=ash"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[question-unanswered]: `t` asks a model “An idea?”, and a host with one is needed
          try: cycod run t idea=...
          more: cycod explain question-unanswered
        exit: 0
        --- stdout
        ash file://[PLACE]/project
        --- stderr
    "#]]
    .assert_eq(&blocks);
}

#[test]
fn a_dry_run_asks_nobody() {
    let place = place();
    let ran = place.run(&["tool", "run", "release", "--dry-run", "name=ash", "sure=yes"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    expect![[r#"
        exit: 0
        --- stdout
        release (level read, timeout 60000 ms, in [PLACE]/project)
          would be refused: `sure` is the answer to a question that was not answered
          name: data: `echo` takes it as text
          notes: data: `echo` takes it as text

          release
            $ echo "ash beta [] "
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "run", "release", "--dry-run", "name=ash"]).block());
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_person_is_asked() {
    let place = place();
    let ask = |answers: &str| {
        let ran = place.shell(&format!("printf '{answers}' | script -qec 'cycod run release' /dev/null"));
        ran.stdout().replace('\r', "")
    };
    let said = ask("\\nash\\n\\n\\ny\\n");
    for line in [
        "What is it called?\n",
        "  The name: ",
        "  channel (stable, beta) [beta]: ",
        "Release ash?\n",
        "ash beta [] true\n",
    ] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
    let said = ask("ash\\nstable\\nsome notes\\nn\\n");
    assert!(said.contains("question-declined") && !said.contains("true"), "{said}");
    let said = ask("ash\\nalpha\\n\\n");
    assert!(said.contains("`alpha` is not one of `stable`, `beta`"), "{said}");
}

#[test]
fn what_is_asked_is_told_beforehand() {
    let ran = place().run(&["tool", "get", "release", "--detail"]);
    let page = ran.stdout();
    let from = page.find("ASKS").unwrap_or_default();
    expect![[r#"
        ASKS
          form  the user
              What is it called?
              name  string, required
                  The name
                  must: have at least 2 characters
                  placed as: data: `echo` takes it as text
              channel  string, default beta
                  must: be one of stable, beta
                  placed as: free: its values are numbers, booleans or texts of the author
              notes  string, optional
                  placed as: data: `echo` takes it as text
          sure  the user
              Release {name}?"#]]
    .assert_eq(page[from..].split("\n\n").next().unwrap_or_default());
    assert!(page.contains("cycod run release\n") && !page.contains("PARAMETERS"), "{page}");
}

#[test]
fn what_it_gives_back_is_told() {
    let place = Place::with_tool(
        "t",
        "title: A title\ngroup: things\ndescription: x\ntags: [read]\nbash: echo '{}'\nreturns: {type: object}\noffer: {resource: 'a:b'}\nhints: {idempotent: true, open-world: false}\nreports: true\ntask: offered\n",
    );
    let ran = place.run(&["tool", "get", "t", "--detail"]);
    let facts: Vec<String> = ran.stdout().lines().map(str::to_owned).collect();
    let told = ["title", "group", "gives back", "offered as", "hints", "reports", "as a task"];
    let told: Vec<&str> =
        facts.iter().map(|line| line.trim()).filter(|line| told.iter().any(|label| line.starts_with(label))).collect();
    expect![[r#"
        title          A title
        group          things
        gives back     one JSON value that fits {"type":"object"}
        offered as     the resource a:b
        hints          idempotent, not open-world
        reports        its progress, while it runs
        as a task      where the host knows them"#]]
    .assert_eq(&told.join("\n"));
}
