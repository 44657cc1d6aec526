//! The report as a page that needs nothing else: no program, no address, and everything from outside escaped.

use std::fmt::{self, Write as _};

use cycod_diagnostic::entity;

use super::{ReportExtent, counted, counts, of_kind};
use crate::{Analysis, AnalyzerOutcome, Finding, FindingKind, FindingSeverity, Totals, Unexamined};

/// How many of the functions that are hardest to follow are named.
const WORST: usize = 20;

const STYLE: &str = include_str!("style.css");

/// A page that needs nothing beside itself: no program, no address, and everything from outside escaped.
pub fn html(analysis: &Analysis, shown: &ReportExtent<'_>) -> String {
    let mut page = String::new();
    // Writing into a text cannot fail.
    _ = write_page(&mut page, analysis, shown);
    page
}

fn write_page(page: &mut String, analysis: &Analysis, shown: &ReportExtent<'_>) -> fmt::Result {
    let place = Escaped(shown.place);
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Analysis of {place}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>Analysis of <code>{place}</code></h1>"
    )?;
    cards(page, analysis, shown)?;
    page.push_str("</header>\n");
    for (id, title, kind) in
        [("security", "Security", FindingKind::Security), ("issues", "Issues", FindingKind::Quality)]
    {
        if kind == FindingKind::Quality || shown.security {
            findings(page, id, title, &of_kind(analysis, kind), shown)?;
        }
    }
    if shown.metrics {
        metrics(page, analysis, shown)?;
    }
    analyzers(page, analysis)?;
    passed_over(page, analysis, shown)?;
    page.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

/// The numbers at a glance.
fn cards(page: &mut String, analysis: &Analysis, shown: &ReportExtent<'_>) -> fmt::Result {
    let (all, _) = Totals::of(analysis.files.values().flatten());
    let findings = |severity| analysis.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    page.push_str("<ul class=\"cards\">\n");
    let mut numbers = vec![(analysis.files.len() as u64, "files", "")];
    if shown.metrics {
        numbers.extend([(all.code, "lines of code", ""), (all.functions, "functions", "")]);
    }
    numbers.extend([
        (findings(FindingSeverity::Error), "errors", "error"),
        (findings(FindingSeverity::Warning), "warnings", "warning"),
        (findings(FindingSeverity::Info), "notes", "info"),
    ]);
    for (number, what, class) in numbers {
        let class = if number == 0 { "" } else { class };
        writeln!(page, "<li class=\"{class}\"><b>{}</b> {what}</li>", grouped(number))?;
    }
    page.push_str("</ul>\n");
    Ok(())
}

/// The findings of a kind, by rule, the worst first.
fn findings(page: &mut String, id: &str, title: &str, found: &[&Finding], shown: &ReportExtent<'_>) -> fmt::Result {
    let [errors, warnings, notes] = counts(found);
    writeln!(page, "<section id=\"{id}\">\n<h2>{title}</h2>")?;
    if found.is_empty() {
        return writeln!(page, "<p class=\"none\">Nothing was found.</p>\n</section>");
    }
    writeln!(
        page,
        "<p>{}, {}, {}</p>",
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings"),
        counted(notes, "note", "notes")
    )?;
    let mut rules: Vec<Vec<&Finding>> = Vec::new();
    for finding in found {
        let is_same = |group: &&mut Vec<&Finding>| {
            (group[0].severity, group[0].analyzer, &group[0].rule)
                == (finding.severity, finding.analyzer, &finding.rule)
        };
        match rules.iter_mut().find(is_same) {
            Some(group) => group.push(finding),
            None => rules.push(vec![finding]),
        }
    }
    rules.sort_by_key(|group| (group[0].severity, std::cmp::Reverse(group.len())));
    for group in rules {
        let first = group[0];
        let cwe = first.cwe.map(|cwe| format!(" <span class=\"tag\">CWE-{cwe}</span>")).unwrap_or_default();
        // What is bad is seen at once; the rest is one click away.
        let open = if first.severity == FindingSeverity::Error { " open" } else { "" };
        writeln!(
            page,
            "<details{open}>\n<summary><span class=\"tag {severity}\">{severity}</span> <strong>{rule}</strong> \
             <span class=\"by\">{by}</span>{cwe} <span class=\"count\">{count}</span></summary>",
            severity = first.severity,
            rule = Escaped(&first.rule),
            by = first.analyzer,
            count = group.len(),
        )?;
        if let Some(help) = &first.help {
            writeln!(page, "<p class=\"help\">{}</p>", Escaped(help))?;
        }
        page.push_str("<div class=\"wide\"><table>\n<thead><tr><th>Place</th><th>Message</th></tr></thead>\n<tbody>\n");
        for finding in group.iter().take(shown.most) {
            let place = format!("{}:{}", shown.path(&finding.file), finding.line);
            let also: String =
                finding.also.iter().map(|(analyzer, rule)| format!(" (also {analyzer}/{rule})")).collect();
            let message = format!("{}{also}", finding.message);
            writeln!(page, "<tr><td><code>{}</code></td><td>{}</td></tr>", Escaped(&place), Escaped(&message))?;
        }
        page.push_str("</tbody>\n</table></div>\n</details>\n");
    }
    page.push_str("</section>\n");
    Ok(())
}

fn metrics(page: &mut String, analysis: &Analysis, shown: &ReportExtent<'_>) -> fmt::Result {
    let (all, languages) = Totals::of(analysis.files.values().flatten());
    if all.files == 0 {
        return Ok(());
    }
    page.push_str("<section id=\"metrics\">\n<h2>Metrics</h2>\n");
    table(
        page,
        &["Language", "Files", "Code", "Comments", "Blank", "Functions", "Cyclomatic", "Cognitive"],
        &mut |page| {
            for (name, sums) in languages.iter().map(|(name, sums)| (*name, sums)).chain([("All", &all)]) {
                let class = if name == "All" { " class=\"all\"" } else { "" };
                write!(page, "<tr{class}><td>{name}</td>")?;
                let Totals { files, code, comments, blank, functions, cyclomatic, cognitive, .. } = *sums;
                numbers(page, &[files, code, comments, blank, functions, cyclomatic, cognitive])?;
                page.push_str("</tr>\n");
            }
            Ok(())
        },
    )?;
    let worst = analysis.worst(WORST);
    if !worst.is_empty() {
        page.push_str("<h3>Hardest to follow</h3>\n");
        table(page, &["Function", "Cognitive", "Cyclomatic", "Lines", "Arguments"], &mut |page| {
            for (file, function) in &worst {
                let place = format!("{}:{}", shown.path(file), function.line);
                let name = function.name.as_deref().unwrap_or("(anonymous)");
                write!(page, "<tr><td><strong>{}</strong><br><code>{}</code></td>", Escaped(name), Escaped(&place))?;
                numbers(page, &[function.cognitive, function.cyclomatic, function.lines, function.arguments])?;
                page.push_str("</tr>\n");
            }
            Ok(())
        })?;
    }
    let mut files: Vec<_> =
        analysis.files.iter().filter_map(|(file, metrics)| Some((file, metrics.as_ref()?))).collect();
    files.sort_by(|(one, of_one), (other, of_other)| {
        let index = |metrics: &crate::FileMetrics| metrics.maintainability.unwrap_or(f64::INFINITY);
        index(of_one).total_cmp(&index(of_other)).then_with(|| one.cmp(other))
    });
    writeln!(
        page,
        "<details>\n<summary><strong>Files</strong>, those that are hardest to maintain first <span class=\"count\">{}</span></summary>",
        files.len()
    )?;
    table(page, &["File", "Maintainability", "Code", "Functions", "Cyclomatic", "Cognitive"], &mut |page| {
        for (file, metrics) in files.iter().take(shown.most) {
            let index = metrics.maintainability.map_or("–".to_owned(), |index| format!("{index:.0}"));
            let note = if metrics.is_sound { "" } else { " <span class=\"tag\">parsed in part</span>" };
            write!(page, "<tr><td><code>{}</code>{note}</td><td class=\"n\">{index}</td>", Escaped(&shown.path(file)))?;
            let Totals { code, functions, cyclomatic, cognitive, .. } = metrics.totals;
            numbers(page, &[code, functions, cyclomatic, cognitive])?;
            page.push_str("</tr>\n");
        }
        Ok(())
    })?;
    page.push_str("</details>\n</section>\n");
    Ok(())
}

fn analyzers(page: &mut String, analysis: &Analysis) -> fmt::Result {
    if analysis.analyzers.is_empty() {
        return Ok(());
    }
    page.push_str("<section id=\"analyzers\">\n<h2>Analysers</h2>\n<ul class=\"plain\">\n");
    for (analyzer, outcome) in analysis.analyzers() {
        let (class, said) = match outcome {
            AnalyzerOutcome::Ran { files, findings, .. } => {
                ("", format!("{}, {}", counted(*files, "file", "files"), counted(*findings, "finding", "findings")))
            }
            AnalyzerOutcome::NothingToDo => ("none", "no files for it".to_owned()),
            AnalyzerOutcome::Missing => ("none", "not installed".to_owned()),
            AnalyzerOutcome::Failed(why) => ("failed", format!("failed: {why}")),
        };
        writeln!(page, "<li class=\"{class}\"><strong>{}</strong> {}</li>", analyzer.name(), Escaped(&said))?;
        if let AnalyzerOutcome::Ran { notes, .. } = outcome {
            for note in notes {
                writeln!(page, "<li class=\"note\">{}</li>", Escaped(note))?;
            }
        }
    }
    page.push_str("</ul>\n</section>\n");
    Ok(())
}

fn passed_over(page: &mut String, analysis: &Analysis, shown: &ReportExtent<'_>) -> fmt::Result {
    if analysis.skipped.is_empty() && analysis.ignored == 0 {
        return Ok(());
    }
    page.push_str("<section id=\"left\">\n<h2>Left out</h2>\n");
    if analysis.ignored > 0 {
        writeln!(page, "<p>{} left alone by comments.</p>", counted(analysis.ignored, "finding", "findings"))?;
    }
    for why in Unexamined::ALL {
        let files: Vec<_> = analysis.skipped.iter().filter(|skipped| skipped.why == why).collect();
        if files.is_empty() {
            continue;
        }
        writeln!(
            page,
            "<details>\n<summary>{} <span class=\"count\">{}</span></summary>\n<ul class=\"plain\">",
            why.name(),
            files.len()
        )?;
        for skipped in files.iter().take(shown.most) {
            writeln!(page, "<li><code>{}</code></li>", Escaped(&shown.path(&skipped.file)))?;
        }
        page.push_str("</ul>\n</details>\n");
    }
    page.push_str("</section>\n");
    Ok(())
}

/// A table whose first column has names and whose others have numbers.
fn table(page: &mut String, heads: &[&str], rows: &mut dyn FnMut(&mut String) -> fmt::Result) -> fmt::Result {
    page.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        let class = if at == 0 { "" } else { " class=\"n\"" };
        write!(page, "<th{class}>{head}</th>")?;
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    rows(page)?;
    page.push_str("</tbody>\n</table></div>\n");
    Ok(())
}

fn numbers(page: &mut String, numbers: &[u64]) -> fmt::Result {
    numbers.iter().try_for_each(|number| write!(page, "<td class=\"n\">{}</td>", grouped(*number)))
}

/// `1 234 567`, with spaces at which no line is broken.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A text in a page: nothing in it is markup, and nothing in it changes the direction of what is around it.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match (entity(c), c) {
                (Some(entity), _) => f.write_str(entity)?,
                (_, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => f.write_char(char::REPLACEMENT_CHARACTER)?,
                (_, c) if c.is_control() => f.write_char(char::REPLACEMENT_CHARACTER)?,
                (_, c) => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
