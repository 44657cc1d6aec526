use cycod_analysis::{Analysis, Analyzer, AnalyzerOutcome, ReportExtent, ReportFormat, html, json, sarif, text};
use expect_test::expect;

use crate::support::examined;

fn analysis() -> Analysis {
    let mut analysis = Analysis::default();
    for (path, content) in [
        ("b.py", "eval(x)\n"),
        ("a.sh", "curl -k https://a.b/c\n"),
        ("<script>alert(1)</script>.py", "def f(a):\n    if a:\n        return eval(a)\n"),
        ("notes ü.txt", "nothing\n"),
    ] {
        analysis.add(path, Ok(examined(path, content)));
    }
    analysis.add("large.js", Err(cycod_analysis::Unexamined::TooLarge));
    analysis.add_analyzer(
        Analyzer::Ruff,
        AnalyzerOutcome::Failed("it ended with exit code 2: <b>no</b>".to_owned()),
        Vec::new(),
    );
    analysis.add_analyzer(Analyzer::Bandit, AnalyzerOutcome::Missing, Vec::new());
    analysis.finished()
}

const SHOWN: ReportExtent<'_> =
    ReportExtent { place: "./src", prefix: "./src/", most: 500, metrics: true, security: true };

#[test]
fn as_text() {
    expect![[r#"
        ./src: 4 files

        Security: 3 errors, 0 warnings, 0 info
          ./src/<script>alert(1)</script>.py:3:16: error[cycod/dangerous-eval]: `eval` runs text as code
          ./src/a.sh:1:1: error[cycod/tls-verification-off]: `curl` believes any certificate
          ./src/b.py:1:1: error[cycod/dangerous-eval]: `eval` runs text as code

        Issues: 0 errors, 0 warnings, 0 info

        Metrics
                            files       code   comments      blank  functions cyclomatic  cognitive
          Bash                  1          1          0          0          0          1          0
          Python                2          4          0          0          1          4          1
          all                   3          5          0          0          1          5          1

        Hardest to follow
          ./src/<script>alert(1)</script>.py:1: f: cognitive 1, cyclomatic 2, 3 lines

        Analysers
          bandit     not installed
          ruff       failed: it ended with exit code 2: <b>no</b>

        passed over, too large: 1 file
    "#]]
    .assert_eq(&text(&analysis(), &SHOWN));
}

#[test]
fn as_json() {
    expect![[r#"
        {
          "success": true,
          "files_analyzed": 4,
          "summary": {
            "issues": {
              "error": 0,
              "warning": 0,
              "info": 0
            },
            "security_findings": {
              "error": 3,
              "warning": 0,
              "info": 0
            },
            "ignored": 0
          },
          "security_findings": [
            {
              "severity": "error",
              "file": "./src/<script>alert(1)</script>.py",
              "line": 3,
              "message": "`eval` runs text as code",
              "rule": "dangerous-eval",
              "analyzer": "cycod",
              "column": 16,
              "cwe": "CWE-95",
              "help": "read the data with a parser, or look the operation up in a table"
            },
            {
              "severity": "error",
              "file": "./src/a.sh",
              "line": 1,
              "message": "`curl` believes any certificate",
              "rule": "tls-verification-off",
              "analyzer": "cycod",
              "column": 1,
              "cwe": "CWE-295",
              "help": "leave verification on, and trust the certificate that is needed"
            },
            {
              "severity": "error",
              "file": "./src/b.py",
              "line": 1,
              "message": "`eval` runs text as code",
              "rule": "dangerous-eval",
              "analyzer": "cycod",
              "column": 1,
              "cwe": "CWE-95",
              "help": "read the data with a parser, or look the operation up in a table"
            }
          ],
          "issues": [],
          "metrics": {
            "totals": {
              "files": 3,
              "lines": 5,
              "code": 5,
              "comments": 0,
              "blank": 0,
              "functions": 1,
              "cyclomatic": 5,
              "cognitive": 1
            },
            "languages": {
              "Bash": {
                "files": 1,
                "lines": 1,
                "code": 1,
                "comments": 0,
                "blank": 0,
                "functions": 0,
                "cyclomatic": 1,
                "cognitive": 0
              },
              "Python": {
                "files": 2,
                "lines": 4,
                "code": 4,
                "comments": 0,
                "blank": 0,
                "functions": 1,
                "cyclomatic": 4,
                "cognitive": 1
              }
            },
            "worst_functions": [
              {
                "name": "f",
                "file": "./src/<script>alert(1)</script>.py",
                "line": 1,
                "lines": 3,
                "arguments": 1,
                "cyclomatic": 2,
                "cognitive": 1
              }
            ],
            "files": [
              {
                "file": "./src/<script>alert(1)</script>.py",
                "language": "Python",
                "lines": 3,
                "code": 3,
                "comments": 0,
                "blank": 0,
                "functions": 1,
                "cyclomatic": 3,
                "cognitive": 1,
                "maintainability": 78.29
              },
              {
                "file": "./src/a.sh",
                "language": "Bash",
                "lines": 1,
                "code": 1,
                "comments": 0,
                "blank": 0,
                "functions": 0,
                "cyclomatic": 1,
                "cognitive": 0,
                "maintainability": 95.12
              },
              {
                "file": "./src/b.py",
                "language": "Python",
                "lines": 1,
                "code": 1,
                "comments": 0,
                "blank": 0,
                "functions": 0,
                "cyclomatic": 1,
                "cognitive": 0,
                "maintainability": 95.12
              }
            ]
          },
          "analyzers": [
            {
              "name": "bandit",
              "status": "not-installed"
            },
            {
              "name": "ruff",
              "status": "failed",
              "reason": "it ended with exit code 2: <b>no</b>"
            }
          ],
          "skipped": [
            {
              "file": "./src/large.js",
              "reason": "too large"
            }
          ]
        }
    "#]]
    .assert_eq(&format!("{:#}\n", json(&analysis(), &SHOWN)));
    let cut = json(&analysis(), &ReportExtent { most: 1, ..SHOWN });
    assert_eq!(cut["left_off"].to_string(), r#"{"security_findings":2,"metrics.files":2}"#);
}

#[test]
fn as_sarif() {
    expect![[r#"
        {
          "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
          "version": "2.1.0",
          "runs": [
            {
              "tool": {
                "driver": {
                  "name": "cycod",
                  "rules": [
                    {
                      "id": "dangerous-eval",
                      "properties": {
                        "tags": [
                          "security",
                          "external/cwe/cwe-095"
                        ],
                        "security-severity": "8.5"
                      },
                      "shortDescription": {
                        "text": "text that is run as code"
                      },
                      "help": {
                        "text": "read the data with a parser, or look the operation up in a table"
                      }
                    },
                    {
                      "id": "tls-verification-off",
                      "properties": {
                        "tags": [
                          "security",
                          "external/cwe/cwe-295"
                        ],
                        "security-severity": "8.5"
                      },
                      "shortDescription": {
                        "text": "connections that believe any certificate"
                      },
                      "help": {
                        "text": "leave verification on, and trust the certificate that is needed"
                      }
                    }
                  ]
                }
              },
              "invocations": [
                {
                  "executionSuccessful": true,
                  "toolExecutionNotifications": []
                }
              ],
              "columnKind": "unicodeCodePoints",
              "results": [
                {
                  "ruleId": "dangerous-eval",
                  "ruleIndex": 0,
                  "level": "error",
                  "message": {
                    "text": "`eval` runs text as code"
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "src/%3Cscript%3Ealert%281%29%3C/script%3E.py"
                        },
                        "region": {
                          "startLine": 3,
                          "startColumn": 16
                        }
                      }
                    }
                  ]
                },
                {
                  "ruleId": "tls-verification-off",
                  "ruleIndex": 1,
                  "level": "error",
                  "message": {
                    "text": "`curl` believes any certificate"
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "src/a.sh"
                        },
                        "region": {
                          "startLine": 1,
                          "startColumn": 1
                        }
                      }
                    }
                  ]
                },
                {
                  "ruleId": "dangerous-eval",
                  "ruleIndex": 0,
                  "level": "error",
                  "message": {
                    "text": "`eval` runs text as code"
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "src/b.py"
                        },
                        "region": {
                          "startLine": 1,
                          "startColumn": 1
                        }
                      }
                    }
                  ]
                }
              ]
            },
            {
              "tool": {
                "driver": {
                  "name": "ruff",
                  "rules": []
                }
              },
              "invocations": [
                {
                  "executionSuccessful": false,
                  "toolExecutionNotifications": [
                    {
                      "level": "error",
                      "message": {
                        "text": "it ended with exit code 2: <b>no</b>"
                      }
                    }
                  ]
                }
              ],
              "columnKind": "unicodeCodePoints",
              "results": []
            }
          ]
        }
    "#]]
    .assert_eq(&format!("{:#}\n", sarif(&analysis(), &SHOWN)));
}

#[test]
fn formats_have_names() {
    for (name, file) in
        [("text", "analysis.txt"), ("json", "analysis.json"), ("sarif", "analysis.sarif"), ("html", "analysis.html")]
    {
        assert_eq!(ReportFormat::named(name).map(ReportFormat::file_name), Some(file));
    }
    assert_eq!(ReportFormat::named("xml"), None);
}

#[test]
fn as_html() {
    let page = html(&analysis(), &SHOWN);
    assert!(!page.contains("<script"), "what comes from outside is escaped, and there is no program in it");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;.py"));
    assert!(
        !page.contains("http://") && !page.contains("https://") && !page.contains("src=") && !page.contains("<b>no")
    );
}

#[test]
fn secrets_are_taken_out_of_what_analysers_say() {
    let secret = ["hunter2", "q7Zt4Xw9Lm2Kc8Vb5Nd3"].concat();
    let mut analysis = Analysis::default();
    analysis.add("a.py", Ok(examined("a.py", format!("api_token = '{secret}'\n"))));
    analysis.add_analyzer(Analyzer::Ruff, AnalyzerOutcome::Failed(format!("cannot parse `{secret}`")), Vec::new());
    let analysis = analysis.finished();
    assert!(!format!("{:?}{}", analysis, json(&analysis, &SHOWN)).contains(&secret));
}

#[test]
fn a_name_does_nothing_to_a_terminal() {
    let mut analysis = Analysis::default();
    analysis.add("a\u{1b}[2J.py", Ok(examined("a.py", "eval(x)\n")));
    analysis.add("b\u{1b}]0;x\u{7}.py", Ok(examined("b\u{1b}.py", "eval(x)\ndef f():\n    if x: pass\n")));
    let said = text(&analysis.finished(), &SHOWN);
    assert!(!said.contains('\u{1b}') && said.contains("b\u{fffd}.py:1:1"), "{said:?}");
}

#[test]
fn what_several_analysers_say_is_one_finding_and_the_worst_comes_first() {
    let mut analysis = Analysis::default();
    for path in ["a.py", "tests/test_a.py"] {
        analysis.add(path, Ok(examined(path, "import hashlib\nhashlib.md5(x)\neval(x)\n")));
    }
    let of = |analyzer: Analyzer, file: &str, line, rule: &str, severity, cwe| cycod_analysis::Finding {
        file: file.to_owned(),
        line,
        column: Some(1),
        severity,
        kind: cycod_analysis::FindingKind::Security,
        analyzer: analyzer.name(),
        also: Vec::new(),
        rule: rule.to_owned(),
        message: "something".to_owned(),
        cwe,
        help: None,
    };
    let ran = |findings| AnalyzerOutcome::Ran { files: 2, findings, notes: Vec::new() };
    use cycod_analysis::FindingSeverity::{Error, Info, Warning};
    let bandit = vec![
        of(Analyzer::Bandit, "a.py", 3, "B307", Warning, Some(78)),
        of(Analyzer::Bandit, "a.py", 2, "B324", Error, Some(327)),
        of(Analyzer::Bandit, "tests/test_a.py", 1, "B101", Info, Some(703)),
        of(Analyzer::Bandit, "a.py", 1, "B101", Info, Some(703)),
    ];
    analysis.add_analyzer(Analyzer::Bandit, ran(4), bandit);
    let semgrep = vec![of(Analyzer::Semgrep, "a.py", 3, "eval-detected", Warning, Some(95))];
    analysis.add_analyzer(Analyzer::Semgrep, ran(1), semgrep);
    let analysis = analysis.finished();
    let shown = ReportExtent { most: 2, metrics: false, ..SHOWN };
    let said = text(&analysis, &shown);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("  ./src/")).collect();
    assert_eq!(
        lines,
        [
            "  ./src/a.py:2:1: error[cycod/weak-hash, bandit/B324]: `hashlib.md5` can be forged",
            "  ./src/a.py:3:1: error[cycod/dangerous-eval, bandit/B307, semgrep/eval-detected]: `eval` runs text as code",
        ],
        "{said}"
    );
    assert!(said.contains("Security: 3 errors, 0 warnings, 2 info"), "{said}");
    let value = json(&analysis, &shown);
    assert_eq!(value["security_findings"][0]["also"][0]["analyzer"], "bandit");
    let order: Vec<&String> = value.as_object().expect("an object").keys().collect();
    let at = |name: &str| order.iter().position(|key| *key == name).expect("it is there");
    assert!(at("summary") < at("security_findings") && at("security_findings") < at("metrics"), "{order:?}");
}
