use super::{Subject, table};
use crate::syntax::{Invocation, is_constant, text};

pub(super) fn check(call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    let Some(call) = call else { return };
    let called = call.name.strip_prefix("std::").unwrap_or(&call.name);
    let given = |place: usize| call.argument(place).filter(|argument| !is_constant(*argument));
    match called {
        "gets" => subject.add(&table::BUFFER_OVERFLOW, call.node, "`gets` writes as much as it is sent"),
        "strcpy" | "strcat" | "wcscpy" | "wcscat" | "stpcpy" if given(1).is_some() => {
            subject.add(&table::BUFFER_OVERFLOW, call.node, format!("`{called}` writes as much as its source has"));
        }
        "sprintf" | "vsprintf"
            if call
                .argument(1)
                .is_none_or(|format| !is_constant(format) || text(format, subject.source).contains("%s")) =>
        {
            subject.add(
                &table::BUFFER_OVERFLOW,
                call.node,
                format!("`{called}` writes as much as comes of its format"),
            );
        }
        "scanf" | "fscanf" | "sscanf" => {
            let format = call.argument(usize::from(called != "scanf")).map(|format| text(format, subject.source));
            if format.is_some_and(|format| format.contains("%s")) {
                subject.add(
                    &table::BUFFER_OVERFLOW,
                    call.node,
                    format!("`{called}` with `%s` writes as much as it is sent"),
                );
            }
        }
        "system" | "popen" | "_popen" => {
            if given(0).is_some() {
                subject.add(
                    &table::SHELL_COMMAND,
                    call.node,
                    format!("`{called}` gives a shell a command line that is put together"),
                );
            } else if !call.arguments.is_empty() {
                subject.add(&table::SHELL_USED, call.node, format!("`{called}` goes through a shell"));
            }
        }
        "printf" | "vprintf" | "syslog" | "fprintf" | "snprintf" => {
            let place = match called {
                "printf" | "vprintf" => 0,
                "snprintf" => 2,
                _ => 1,
            };
            // A format without arguments is a text that somebody took for one.
            let is_alone = call.arguments.len() == place + 1;
            if given(place).is_some_and(|format| is_alone && format.kind() == "identifier") {
                subject.add(&table::FORMAT_STRING, call.node, format!("`{called}` reads a text as its format"));
            }
        }
        "mktemp" | "tmpnam" | "tempnam" | "tmpnam_r" => {
            subject.add(&table::INSECURE_TEMPORARY_FILE, call.node, format!("`{called}` only makes up a name"));
        }
        _ => {}
    }
}
