//! Reads what analyzers print: findings and notes, or why the start was of no use.

use serde_json::Value as Json;

use super::{Analyzer, AnalyzerJob};
use crate::{Finding, FindingKind, FindingSeverity};

/// The longest message that is passed on.
const LONGEST: usize = 600;

/// How many notes of one start are passed on.
const MOST_NOTES: usize = 20;

/// Why a start of an analyser is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalyzerFailed {
    /// It did not do its work.
    #[error("it ended with exit code {exit_code}{}{said}", if said.is_empty() { "" } else { ": " })]
    Ended {
        /// Its exit code.
        exit_code: i32,
        /// The last line that it wrote to standard error.
        said: String,
    },
    /// It printed something else than was agreed.
    #[error("{why}")]
    Unreadable {
        /// What is wrong with it.
        why: String,
    },
}

/// What a start of an analyser printed: findings and notes, or what is wrong with it.
type Read = Result<(Vec<Finding>, Vec<String>), String>;

/// Reads one start; what is not as it should be fails as a whole.
pub(super) fn read(
    analyzer: Analyzer,
    job: &AnalyzerJob,
    root: &str,
    exit_code: i32,
    stdout: &[u8],
    stderr: &[u8],
) -> Result<(Vec<Finding>, Vec<String>), AnalyzerFailed> {
    let reading = Reading { analyzer, job, root };
    let read = match analyzer {
        Analyzer::Clippy => reading.clippy(stdout),
        _ => reading.json(stdout).and_then(|said| match analyzer {
            Analyzer::Bandit => reading.bandit(&said),
            Analyzer::Eslint => reading.eslint(&said),
            Analyzer::Ruff => reading.ruff(&said),
            Analyzer::Semgrep => reading.semgrep(&said),
            Analyzer::Shellcheck | Analyzer::Clippy => reading.shellcheck(&said),
        }),
    };
    let is_good = match analyzer {
        Analyzer::Bandit | Analyzer::Ruff => exit_code == 0,
        Analyzer::Eslint | Analyzer::Shellcheck | Analyzer::Semgrep => exit_code == 0 || exit_code == 1,
        // Code that does not compile is a finding, not a failure of the analyser.
        Analyzer::Clippy => exit_code == 0 || matches!(&read, Ok((found, _)) if !found.is_empty()),
    };
    if is_good {
        return read.map_err(|why| AnalyzerFailed::Unreadable { why });
    }
    Err(AnalyzerFailed::Ended { exit_code, said: last_line(stderr) })
}

struct Reading<'a> {
    analyzer: Analyzer,
    job: &'a AnalyzerJob,
    root: &'a str,
}

impl Reading<'_> {
    fn json(&self, stdout: &[u8]) -> Result<Json, String> {
        serde_json::from_slice(stdout).map_err(|error| format!("what it printed cannot be read: {error}"))
    }

    fn bandit(&self, said: &Json) -> Read {
        let findings = list(said, "results")?.iter().map(|result| {
            let rule = text(result, "test_id")?;
            // These say which password they have found.
            let message = match rule {
                "B105" | "B106" | "B107" => "a password that is written out",
                _ => text(result, "issue_text")?,
            };
            let severity = match text(result, "issue_severity")? {
                "HIGH" => FindingSeverity::Error,
                "MEDIUM" => FindingSeverity::Warning,
                _ => FindingSeverity::Info,
            };
            let cwe = result["issue_cwe"]["id"].as_u64().and_then(|id| u32::try_from(id).ok());
            let place = (text(result, "filename")?, &result["line_number"], &result["col_offset"]);
            // It counts columns from 0.
            let column = place.2.as_u64().map(|column| column + 1);
            self.finding(place.0, place.1, column, severity, rule, message, cwe)
        });
        Ok((
            collect(findings)?,
            notes(&said["errors"], |error| {
                Some(format!("{}: {}", error["filename"].as_str()?.trim_start_matches("./"), error["reason"].as_str()?))
            }),
        ))
    }

    fn eslint(&self, said: &Json) -> Read {
        let mut findings = Vec::new();
        for file in said.as_array().ok_or("it printed no list")? {
            let path = text(file, "filePath")?;
            for message in list(file, "messages")? {
                let severity = if message["severity"].as_u64() == Some(2) {
                    FindingSeverity::Error
                } else {
                    FindingSeverity::Warning
                };
                // A file that cannot be parsed breaks no rule.
                let rule = message["ruleId"].as_str().unwrap_or("syntax");
                findings.push(self.finding(
                    path,
                    &message["line"],
                    message["column"].as_u64(),
                    severity,
                    rule,
                    text(message, "message")?,
                    None,
                ));
            }
        }
        Ok((collect(findings.into_iter())?, Vec::new()))
    }

    fn ruff(&self, said: &Json) -> Read {
        let findings = said.as_array().ok_or("it printed no list")?.iter().map(|result| {
            let rule = result["code"].as_str().unwrap_or("syntax");
            // What does not parse or names what is not there fails when it is run.
            let is_error = rule.starts_with("E9")
                || rule.starts_with("F8")
                || rule.starts_with("PLE")
                || matches!(rule, "syntax" | "invalid-syntax");
            let severity = if is_error && rule != "F841" { FindingSeverity::Error } else { FindingSeverity::Warning };
            let place = &result["location"];
            self.finding(
                text(result, "filename")?,
                &place["row"],
                place["column"].as_u64(),
                severity,
                rule,
                text(result, "message")?,
                None,
            )
        });
        Ok((collect(findings)?, Vec::new()))
    }

    fn semgrep(&self, said: &Json) -> Read {
        let findings = list(said, "results")?.iter().map(|result| {
            let extra = &result["extra"];
            let severity = match text(extra, "severity")? {
                "ERROR" => FindingSeverity::Error,
                "WARNING" => FindingSeverity::Warning,
                _ => FindingSeverity::Info,
            };
            let cwe = extra["metadata"]["cwe"].as_str().and_then(|cwe| cwe.strip_prefix("CWE-")?.parse().ok());
            let place = &result["start"];
            self.finding(
                text(result, "path")?,
                &place["line"],
                place["col"].as_u64(),
                severity,
                text(result, "check_id")?,
                text(extra, "message")?,
                cwe,
            )
        });
        let findings = collect(findings)?;
        let errors =
            notes(&said["errors"], |error| error["message"].as_str().or(error["type"].as_str()).map(str::to_owned));
        if said["paths"]["scanned"].as_array().is_none_or(Vec::is_empty) && !errors.is_empty() {
            return Err(errors.join("; "));
        }
        Ok((findings, errors))
    }

    fn shellcheck(&self, said: &Json) -> Read {
        let findings = list(said, "comments")?.iter().map(|comment| {
            let severity = match text(comment, "level")? {
                "error" => FindingSeverity::Error,
                "warning" => FindingSeverity::Warning,
                _ => FindingSeverity::Info,
            };
            let code = comment["code"].as_u64().ok_or("a comment has no `code`")?;
            self.finding(
                text(comment, "file")?,
                &comment["line"],
                comment["column"].as_u64(),
                severity,
                &format!("SC{code}"),
                text(comment, "message")?,
                None,
            )
        });
        Ok((collect(findings)?, Vec::new()))
    }

    fn clippy(&self, stdout: &[u8]) -> Read {
        let (mut findings, mut is_finished) = (Vec::new(), false);
        for line in stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
            let said = self.json(line)?;
            is_finished |= said["reason"] == "build-finished";
            if said["reason"] != "compiler-message" {
                continue;
            }
            let message = &said["message"];
            let severity = match text(message, "level")? {
                "error" => FindingSeverity::Error,
                "warning" => FindingSeverity::Warning,
                _ => continue,
            };
            let Some(span) = message["spans"].as_array().into_iter().flatten().find(|span| span["is_primary"] == true)
            else {
                // A summary such as "3 warnings emitted".
                continue;
            };
            let rule = message["code"]["code"].as_str().unwrap_or("rustc");
            let file = text(span, "file_name")?;
            let target = said["target"]["src_path"].as_str().unwrap_or_default();
            // A package has files beside those that are analysed, and so has what it is built of.
            let Some(path) = self.of_package(file, target) else { continue };
            let found = self.finding(
                &path,
                &span["line_start"],
                span["column_start"].as_u64(),
                severity,
                rule,
                text(message, "message")?,
                None,
            )?;
            if !findings.contains(&found) {
                findings.push(found);
            }
        }
        if !is_finished {
            return Err("it ended in the middle of what it had to say".to_owned());
        }
        Ok((findings, Vec::new()))
    }

    /// Where a file is that the compiler names: from the root of its workspace, which is somewhere above `target`.
    fn of_package(&self, file: &str, target: &str) -> Option<String> {
        let above = std::path::Path::new(target).ancestors().skip(1);
        let places = above.filter_map(|above| self.below(above.join(file).to_str()?));
        places.into_iter().find(|place| self.job.files.contains(place))
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a finding, as they were read")]
    fn finding(
        &self,
        path: &str,
        line: &Json,
        column: Option<u64>,
        severity: FindingSeverity,
        rule: &str,
        message: &str,
        cwe: Option<u32>,
    ) -> Result<Finding, String> {
        let file = self.below(path).filter(|file| self.job.files.contains(file));
        let file = file.ok_or_else(|| format!("it names `{}`, which it was not given", clean(path)))?;
        let line = line.as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0).max(1);
        Ok(Finding {
            file,
            line,
            column: column.and_then(|column| u32::try_from(column).ok()).filter(|column| *column > 0),
            severity,
            kind: if self.analyzer.is_for_security() { FindingKind::Security } else { FindingKind::Quality },
            analyzer: self.analyzer.name(),
            also: Vec::new(),
            rule: clean(rule),
            message: clean(message),
            cwe,
            help: None,
        })
    }

    /// What a path is called below the place that is analysed.
    fn below(&self, path: &str) -> Option<String> {
        let inside = match path.strip_prefix(self.root) {
            Some(rest) if path.starts_with('/') => rest.strip_prefix('/')?,
            _ => path,
        };
        let parts: Vec<&str> = inside.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let stays = !inside.starts_with('/') && !parts.contains(&"..");
        stays.then(|| parts.join("/"))
    }
}

fn collect(findings: impl Iterator<Item = Result<Finding, String>>) -> Result<Vec<Finding>, String> {
    findings.collect()
}

fn list<'j>(said: &'j Json, field: &str) -> Result<&'j Vec<Json>, String> {
    said[field].as_array().ok_or_else(|| format!("what it printed has no list `{field}`"))
}

fn text<'j>(said: &'j Json, field: &str) -> Result<&'j str, String> {
    said[field].as_str().ok_or_else(|| format!("one of its findings has no `{field}`"))
}

fn notes(errors: &Json, say: impl Fn(&Json) -> Option<String>) -> Vec<String> {
    let errors = errors.as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(say).take(MOST_NOTES).map(|note| clean(&note)).collect()
}

/// A text on one line, without control characters, of a bearable length.
fn clean(text: &str) -> String {
    let mut clean: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clean.retain(|c| !c.is_control());
    if let Some((end, _)) = clean.char_indices().nth(LONGEST) {
        clean.truncate(end);
        clean.push('…');
    }
    clean
}

fn last_line(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(8 << 10)..]).into_owned();
    clean(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
}
