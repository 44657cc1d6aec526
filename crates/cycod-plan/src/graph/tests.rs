//! Graphs of workflows: which arrows there are, and how they are drawn as text and as a picture.

use cycod_definition::load;
use cycod_diagnostic::SourceFile;
use expect_test::{Expect, expect};

use super::*;

fn graph(steps: &str) -> Graph {
    let text = format!(
        "description: A test\nprograms: {{four: text, x: text}}\nparameters:\n  P: {{type: string, description: Any, default: x}}\nsteps:\n{steps}"
    );
    let loaded = load(&SourceFile::new("t.yaml", text), Some("t"));
    let tool = loaded.tool.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    Graph::of(&tool)
}

/// The arrows as `from>to`, with the reason.
fn arrows(graph: &Graph) -> String {
    let arrow = |edge: &Edge| {
        let why = match &edge.reason {
            EdgeReason::Uses(attributes) => format!("({})", attributes.join(",")),
            EdgeReason::WaitFor => "!".to_owned(),
            EdgeReason::Order => String::new(),
        };
        format!("{}>{}{why}", graph.nodes[edge.from].name, graph.nodes[edge.to].name)
    };
    graph.edges.iter().map(arrow).collect::<Vec<_>>().join(" ")
}

const DIAMOND: &str = "  - {name: a, run: one}
  - {name: b, run: two, wait-for: [a]}
  - {name: c, run: three, parallel: true, wait-for: [a], error-handling: {retry: {attempts: 2}, fallback: four}}
  - {name: d, run: 'four {b.output}', run-condition: '{c.exit-code} == 0', continue-on-error: true}
";

const BRAIDED: &str = "  - {name: a, run: x, parallel: true}
  - {name: b, run: x, parallel: true}
  - {name: c, run: x, parallel: true, wait-for: [a]}
  - {name: d, run: x, wait-for: [a, b]}
  - {name: e, run: x, wait-for: [b]}
  - {name: f, use-tool: other, wait-for: [c, e], with: {P: '{d.output}'}}
  - {name: g, run: x, parallel: true}
";

#[test]
fn only_the_arrows_that_are_needed() {
    for (steps, expect) in [
        ("  - {name: a, run: x}\n  - {name: b, run: x}\n  - {name: c, run: x}\n", "a>b b>c"),
        ("  - {name: a, run: x}\n  - {name: b, run: x, parallel: true}\n  - {name: c, run: x}\n", "a>c b>c"),
        (
            "  - {name: a, run: x}\n  - {name: b, run: x}\n  - {name: c, run: 'x {a.output} {b.error}'}\n",
            "a>b b>c(error)",
        ),
        ("  - {name: a, run: x, wait-for: [b]}\n  - {name: b, run: x, parallel: true}\n", "b>a!"),
        (DIAMOND, "a>b a>c! b>d(output) c>d(exit-code)"),
        (BRAIDED, "a>c! a>d! b>d! b>e! c>f d>f(output) e>f"),
    ] {
        assert_eq!(arrows(&graph(steps)), expect, "{steps}");
    }
}

#[test]
fn parallel_or_not() {
    assert!(!graph("  - {name: a, run: x}\n  - {name: b, run: x}\n").is_parallel());
    assert!(graph(DIAMOND).is_parallel());
}

#[test]
fn a_tool_without_steps_is_one_node() {
    let tool = |text: &str| Graph::of(&load(&SourceFile::new("t.yaml", text), Some("t")).tool.expect("it loads"));
    let check = |text: &str, expect: &str| assert_eq!(tool(text).text(Charset::Ascii), expect);
    check("description: x\nbash: \"# first\\necho hi\\n\"\n", "o  t  bash: # first…\n");
    check("description: x\nuse-tool: other\n", "o  t  use-tool: other\n");
    check("description: x\ntype: alias\nbase-tool: other\n", "o  t  use-tool: other\n");
}

#[track_caller]
fn check_text(steps: &str, charset: Charset, expect: &Expect) {
    expect.assert_eq(&graph(steps).text(charset));
}

#[test]
fn rails() {
    check_text(
        "  - {name: a, run: x}\n  - {name: bb, run: x}\n",
        Charset::Unicode,
        &expect![[r#"
        ○  a   run: x
        │
        ○  bb  run: x
    "#]],
    );
    check_text(
        DIAMOND,
        Charset::Unicode,
        &expect![[r#"
        ○    a  run: one
        ├─╮
        ○ │  b  run: two
        │ ○  c  run: three
        │ │     2 retries, fallback
        ├─╯
        ○    d  run: four {b.output}
                if {c.exit-code} == 0, may fail
    "#]],
    );
    check_text(
        DIAMOND,
        Charset::Ascii,
        &expect![[r#"
        o    a  run: one
        +-.
        o |  b  run: two
        | o  c  run: three
        | |     2 retries, fallback
        +-'
        o    d  run: four {b.output}
                if {c.exit-code} == 0, may fail
    "#]],
    );
    check_text(
        BRAIDED,
        Charset::Unicode,
        &expect![[r#"
        ○          a  run: x
        ├─╮
        │ │ ○      b  run: x
        │ │ ├─╮
        │ │ │ │ ○  g  run: x
        ○ │ │ │    c  run: x
        │ ├─╯ │
        │ ○   │    d  run: x
        │ │   ○    e  run: x
        ├─┴───╯
        ○          f  use-tool: other
    "#]],
    );
    check_text(
        "  - {name: a, run: x, parallel: true}\n  - {name: b, run: x, parallel: true}\n",
        Charset::Unicode,
        &expect![[r#"
        ○    a  run: x
          ○  b  run: x
    "#]],
    );
}

#[test]
fn mermaid() {
    expect![[r#"
        flowchart TD
            s0["a<br/>run: one"]
            s1["b<br/>run: two"]
            s2["c<br/>run: three<br/>2 retries, fallback"]
            s3["d<br/>run: four #123;b.output#125;<br/>if #123;c.exit-code#125; == 0<br/>may fail"]
            s0 --> s1
            s0 --> s2
            s1 -->|"output"| s3
            s2 -->|"exit-code"| s3
    "#]]
    .assert_eq(&graph(DIAMOND).mermaid());
    let hostile = graph("  - {name: a, run: 'echo \"]; click s0 <b>` #quot; {P}\"'}\n").mermaid();
    expect![[r#"
        flowchart TD
            s0["a<br/>run: echo #34;#93;#59; click s0 #60;b#62;#96; #35;quot#59; #123;P#125;#34;"]
    "#]]
    .assert_eq(&hostile);
}

/// Every step stands below all it waits for, nothing overlaps, and arrows that can be straight do not cross.
#[test]
fn the_layout_keeps_its_promises() {
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or(0) % below
    };
    for _ in 0..60 {
        let count = 2 + random(14);
        let steps: String = (0..count)
            .map(|step| {
                let before: Vec<String> =
                    (0..step).filter(|_| random(3) == 0).map(|before| format!("s{before}")).collect();
                format!("  - {{name: s{step}, run: x, parallel: true, wait-for: [{}]}}\n", before.join(", "))
            })
            .collect();
        let graph = graph(&steps);
        let widths: Vec<f64> = (0..count).map(|_| 60.0 + random(200) as f64).collect();
        let row_of = graph.rows();
        for edge in &graph.edges {
            assert!(row_of[edge.from] < row_of[edge.to], "{steps}");
        }
        let rows = layers::layout(&graph, &widths);
        let nodes = rows.iter().flatten().filter(|cell| matches!(cell.what, layers::What::Node(_))).count();
        assert_eq!(nodes, count, "{steps}");
        for row in &rows {
            for pair in row.windows(2) {
                let between = (pair[1].x - pair[1].width / 2.0) - (pair[0].x + pair[0].width / 2.0);
                assert!(between > 9.9, "{between} in {steps}");
            }
            assert!(row.iter().all(|cell| cell.x - cell.width / 2.0 > -0.01), "{steps}");
        }
        // The text has each name once, and no rail ends nowhere.
        let text = graph.text(Charset::Unicode);
        for step in 0..count {
            assert_eq!(text.matches(&format!(" s{step} ")).count(), 1, "{text}");
        }
    }
}

#[test]
fn a_large_graph_takes_no_longer_than_looking_at_it() {
    let began = std::time::Instant::now();
    let chain: String = (0..1000).map(|step| format!("  - {{name: s{step}, run: x}}\n")).collect();
    let chain = graph(&chain);
    assert_eq!(chain.edges.len(), 999);
    assert_eq!(chain.text(Charset::Ascii).lines().last(), Some("s999 after s998"));
    assert!(chain.svg().ends_with("</svg>\n"));
    let fan: String =
        (0..1000).map(|step| format!("  - {{name: s{step}, run: x, parallel: {}}}\n", step % 100 != 0)).collect();
    let fan = graph(&fan);
    assert!(
        fan.mermaid().len() > 1000
            && fan.svg().ends_with("</svg>\n")
            && fan.text(Charset::Ascii).lines().count() == 1000
    );
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn the_picture_is_well_formed_whatever_names_hold() {
    let svg = graph("  - {name: a, run: 'echo \"<script>alert(1)</script>\" && echo \\u001b & {P}', run-condition: '{P} != \"<&>\"'}\n  - {name: b, use-tool: other, with: {P: '{a.output}'}}\n").svg();
    assert!(!svg.contains("<script"), "{svg}");
    assert!(
        svg.contains("&lt;script&gt;") && svg.contains("class=\"cg-label\"") && svg.contains("stroke-dasharray"),
        "{svg}"
    );
    // Tags nest, and no `&` stands alone.
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains(['<', '>']) || tag == "style", "{piece}");
        for entity in text.split('&').skip(1) {
            assert!(["lt;", "gt;", "amp;", "quot;"].iter().any(|known| entity.starts_with(known)), "{entity}");
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop().as_deref(), Some(name), "{svg}"),
            None if tag.ends_with('/') => {}
            None => open.push(name.to_owned()),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
