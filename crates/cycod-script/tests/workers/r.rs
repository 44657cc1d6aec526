use cycod_definition::Runtime;
use cycod_process::Ending;
use cycod_script::{
    Codec,
    protocol::{ArgumentType, SendError, ToWorker},
};
use expect_test::{Expect, expect};
use proptest::{prelude::Strategy as _, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

use crate::support::*;

fn r() -> Worker {
    Worker::start(Runtime::R)
}

/// R with the packages of these directories and of R itself, and no other.
fn r_with(libraries: &Path) -> Worker {
    Worker::start_with(Runtime::R, &["R_LIBS", "R_LIBS_SITE", "R_LIBS_USER"].map(|name| (name, libraries)))
}

/// A directory with a package `cli` and a package `rlang`, which raise errors as the real ones do: deep below the function that
/// was called.
fn packages() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let libraries = directory.path().join("library");
    std::fs::create_dir(&libraries).expect("a directory can be made");
    let rlang = "abort <- function(message, class = NULL, ..., call = parent.frame()) signal_abort(list(message = message, class = class))\n\
                 signal_abort <- function(about) {\n  cnd <- structure(class = c(about$class, 'rlang_error', 'error', 'condition'), \
                 list(message = about$message, call = NULL))\n  signalCondition(cnd)\n  stop(cnd)\n}\n\
                 try_fetch <- function(expr, error) withCallingHandlers(expr, error = function(e) error(e))\n";
    let cli = "cli_abort <- function(message, ..., .envir = parent.frame()) {\n  marks <- c(i = '\\u2139', x = '\\u2716')[names(message)]\n  \
               filled <- vapply(message, function(text) fill(text, .envir), '')\n  \
               rlang::abort(paste(ifelse(is.na(marks), filled, paste(marks, filled)), collapse = '\\n'))\n}\n\
               fill <- function(text, env) {\n  text <- gsub('[{][.]file ([{][^}]*[}])[}]', \"'\\\\1'\", text)\n  \
               found <- regmatches(text, gregexpr('[{][^}]*[}]', text))[[1]]\n  \
               for (one in found) text <- sub(one, as.character(eval(parse(text = one)[[1]], env)), text, fixed = TRUE)\n  text\n}\n";
    for (name, exports, imports, code) in
        [("rlang", "abort, try_fetch", "", rlang), ("cli", "cli_abort", "Imports: rlang\n", cli)]
    {
        let source = directory.path().join(name);
        std::fs::create_dir_all(source.join("R")).expect("a directory can be made");
        for (file, text) in [
            (
                "DESCRIPTION",
                format!("Package: {name}\nVersion: 1.0.0\nTitle: T\nDescription: D.\nLicense: MIT\n{imports}"),
            ),
            ("NAMESPACE", format!("export({exports})\n")),
            ("R/code.R", code.to_owned()),
        ] {
            std::fs::write(source.join(file), text).expect("a file can be written");
        }
        let install = "function(source, library) system2(file.path(R.home('bin'), 'R'), \
                       c('CMD', 'INSTALL', '--no-docs', '--no-test-load', paste0('--library=', library), source), stdout = FALSE, stderr = FALSE)";
        let installed =
            r_with(&libraries).value(install, json!({"source": utf8(&source), "library": utf8(&libraries)}));
        assert_eq!(installed, json!(0), "{name}");
    }
    directory
}

/// Each way in which packages that raise errors may be there: not at all, as this machine has them, and as the test has made them.
fn each_way(mut check: impl FnMut(&mut Worker)) {
    let nothing = tempfile::tempdir().expect("a directory can be made");
    let packages = packages();
    check(&mut r_with(nothing.path()));
    check(&mut r());
    check(&mut r_with(&packages.path().join("library")));
}

#[test]
fn values_of_r_become_json() {
    let mut worker = r();
    assert!(worker.version.starts_with("R "), "{}", worker.version);
    let mut check = |code: &str, expected: Value| {
        let value = worker.value(&format!("function() {{ {code} }}"), json!({}));
        assert_eq!(value, expected, "{code}");
    };
    check("NULL", json!(null));
    check("'a\"b\\n\\u00e9\\U1F600'", json!("a\"b\n\u{e9}\u{1f600}"));
    check("'caf\\xe9' -> x; Encoding(x) <- 'latin1'; x", json!("café"));
    check("c('a', NA)", json!(["a", null]));
    check("character(0)", json!([]));
    check("I('a')", json!(["a"]));
    check("5L", json!(5));
    check("5", json!(5));
    check("0.1 + 0.2", json!(0.1 + 0.2));
    check("c(1.5, NA, NaN, Inf, -Inf)", json!([1.5, null, null, "Infinity", "-Infinity"]));
    check("2^53", json!(9_007_199_254_740_992_i64));
    check("1e300", json!(1e300));
    check("1:3", json!([1, 2, 3]));
    check("c(TRUE, NA, FALSE)", json!([true, null, false]));
    check("3+2i", json!("3+2i"));
    check("charToRaw('raw text')", json!("raw text"));
    check("c(a = 1, b = 2)", json!({"a": 1, "b": 2}));
    check("list(1, 'b', NULL, list())", json!([1, "b", null, []]));
    check("list(a = 1, b = list(c = NULL, d = 'e'))", json!({"a": 1, "b": {"c": null, "d": "e"}}));
    check("list(a = 1, 2, a = 3)", json!({"a": 1, "2": 2, "a.1": 3}));
    check("setNames(list(), character(0))", json!({}));
    check("sapply(c('a', 'b'), identity)", json!(["a", "b"]));
    check("pairlist(a = 1, b = 'x')", json!({"a": 1, "b": "x"}));
    check("factor(c('lo', 'hi', NA), levels = c('lo', 'hi'))", json!(["lo", "hi", null]));
    check("as.Date('2024-02-29')", json!("2024-02-29"));
    check("as.Date(c('1969-12-31', NA))", json!(["1969-12-31", null]));
    check("as.POSIXct('2024-05-01 12:30:15.25', tz = 'UTC')", json!("2024-05-01T12:30:15.25Z"));
    check("as.POSIXlt('2024-05-01 12:30:15', tz = 'UTC')", json!("2024-05-01T12:30:15Z"));
    check("as.difftime(2, units = 'mins')", json!(120));
    check("numeric_version('4.2.10')", json!("4.2.10"));
    check("as.octmode('755')", json!("755"));
    check("matrix(1:6, nrow = 2)", json!([[1, 3, 5], [2, 4, 6]]));
    check(
        "matrix(1:4, 2, dimnames = list(c('r', 's'), c('x', 'y')))",
        json!({"r": {"x": 1, "y": 3}, "s": {"x": 2, "y": 4}}),
    );
    check("array(1:8, c(2, 2, 2))", json!([[[1, 5], [3, 7]], [[2, 6], [4, 8]]]));
    check("matrix(0, 0, 3)", json!([]));
    check("array(1, rep(1, 1000))", json!(1));
    check("table(c('b', 'a', 'b'))", json!({"a": 1, "b": 2}));
    check(
        "data.frame(n = 1:2, s = c('x', NA), f = factor(c('u', 'v')), d = as.Date('2024-01-01') + 0:1)",
        json!([
            {"n": 1, "s": "x", "f": "u", "d": "2024-01-01"},
            {"n": 2, "s": null, "f": "v", "d": "2024-01-02"},
        ]),
    );
    check("data.frame(a = 1:2)[0, , drop = FALSE]", json!([]));
    check("head(mtcars[, 1:2], 1)", json!([{"mpg": 21, "cyl": 6, "_row": "Mazda RX4"}]));
    check(
        "x <- data.frame(a = 1:2); x$l <- list(1:2, 'z'); x$m <- matrix(1:4, 2); x",
        json!([{"a": 1, "l": [1, 2], "m": [1, 3]}, {"a": 2, "l": "z", "m": [2, 4]}]),
    );
    // What hangs on a value and is no data is passed over: calls, environments, functions, compiled code.
    check(
        "f <- function(x) { for (i in 1:3) x <- x + i; x }; f <- compiler::cmpfun(f); \
         structure(1:2, formula = y ~ x + z, home = environment(), code = f, s = as.name('s'), t = as.name('s'))",
        json!([1, 2]),
    );
    check("summary(c(1, 3))", json!({"Min.": 1, "1st Qu.": 1.5, "Median": 2, "Mean": 2, "3rd Qu.": 2.5, "Max.": 3}));
    check("invisible('seen')", json!("seen"));
}

#[test]
fn arguments_become_what_they_are_declared_as() {
    let mut worker = r();
    let mut check = |value: Value, declared: Option<ArgumentType>, expected: &str| {
        let mut call = worker.call("function(x) paste(deparse(x), collapse = '')", json!({ "x": value }));
        if let Some(declared) = declared {
            call.types = types([("x", declared)]);
        }
        assert_eq!(worker.answer(call).map_err(|failure| failure.message), Ok(json!(expected)), "{value} {declared:?}");
    };
    check(json!("a\"\\\n"), Some(ArgumentType::Text), r#""a\"\\\n""#);
    check(json!(5), Some(ArgumentType::Double), "5");
    check(json!(5), Some(ArgumentType::Integer), "5L");
    check(json!(5.0), Some(ArgumentType::Integer), "5L");
    check(json!(5), None, "5L");
    check(json!(5.5), None, "5.5");
    check(json!(3_000_000_000_u64), None, "3e+09");
    check(json!(true), Some(ArgumentType::Logical), "TRUE");
    check(json!(null), None, "NULL");
    check(json!(["a", "b"]), Some(ArgumentType::Text), r#"c("a", "b")"#);
    check(json!([]), Some(ArgumentType::Text), "character(0)");
    check(json!([]), Some(ArgumentType::Double), "numeric(0)");
    check(json!([]), None, "list()");
    check(json!([1, 2, null]), Some(ArgumentType::Integer), "c(1L, 2L, NA)");
    check(json!([1, 2.5]), None, "c(1, 2.5)");
    check(json!([true, null]), None, "c(TRUE, NA)");
    check(json!(["a", 1]), None, r#"list("a", 1L)"#);
    check(json!(["a"]), Some(ArgumentType::List), r#"list("a")"#);
    check(json!({"a": 1, "b c": {"d": [1]}}), Some(ArgumentType::List), r#"list(a = 1L, "b c" = list(d = 1L))"#);
    check(json!({}), Some(ArgumentType::List), "structure(list(), names = character(0))");

    let holds = "function(e) identical(e, '\\u00e9\\U1F600') && Encoding(e) == 'UTF-8' && nchar(e) == 2";
    assert_eq!(worker.value(holds, json!({"e": "é😀"})), json!(true));
    let call = worker.call("function(x) x", json!({"x": ["a\0b"]}));
    let refused = Codec::R.encode(&ToWorker::Call { id: 1, call: call.into() });
    assert!(matches!(refused, Err(SendError::Unfit { why }) if why.contains("argument `x`") && why.contains("NUL")));
}

#[test]
fn json_comes_back_from_r_as_it_went() {
    // R knows no scalars: a vector of one and its only element are the same. `NA` alone is a missing truth value.
    fn as_r_has_it(value: &mut Value) {
        match value {
            Value::Array(items) => {
                if let [Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Null] = items.as_slice() {
                    *value = items.swap_remove(0);
                } else {
                    items.iter_mut().for_each(as_r_has_it);
                }
            }
            Value::Object(entries) => entries.values_mut().for_each(as_r_has_it),
            _ => {}
        }
    }
    let mut worker = r();
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any_json(), 300);
    let Value::Array(mut values) = Value::from(strategy.new_tree(&mut runner).expect("there are values").current())
    else {
        unreachable!("an array was asked for")
    };
    // Each of its own, in one call.
    values.retain(|value| !has_empty_or_twin_names(value));
    assert!(values.len() > 100, "{}", values.len());
    let args: serde_json::Map<_, _> =
        values.iter().enumerate().map(|(at, value)| (format!("v{at}"), value.clone())).collect();
    let back = worker.value("function(...) list(...)", Value::Object(args));
    for (at, mut value) in values.into_iter().enumerate() {
        let original = value.clone();
        plain_numbers(&mut value);
        as_r_has_it(&mut value);
        assert_eq!(back[format!("v{at}")], value, "{original}");
    }
}

/// Names that R keeps, but that it has no use for: none, and numbers that stand for a place.
fn has_empty_or_twin_names(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.iter().any(|(name, value)| name.is_empty() || has_empty_or_twin_names(value)),
        Value::Array(items) => items.iter().any(has_empty_or_twin_names),
        _ => false,
    }
}

fn failure(worker: &mut Worker, code: &str, args: Value, expected: &Expect) {
    let failure = worker.failure(code, args);
    let line = failure.line.map_or("no line".to_owned(), |line| format!("line {line}"));
    expected.assert_eq(&format!("{}\n-- {line}\n{}\n", failure.message, failure.trace.unwrap_or_default()));
}

#[test]
fn errors_of_r_say_where_in_the_file() {
    each_way(errors_say_where);
}

fn errors_say_where(worker: &mut Worker) {
    let nested = "helper <- function(x) {\n  log(x)\n  stop('too ', x)\n}\n\nfunction(x) {\n  y <- x\n  helper(y)\n}";
    for _ in 0..3 {
        // The same also when R has compiled it.
        worker.failure(nested, json!({"x": 1}));
    }
    failure(
        worker,
        nested,
        json!({"x": 1}),
        &expect![[r#"
        too 1
        -- line 13
        stop("too ", x) at <tool>:13
        helper(y) at <tool>:18
        handler(x = x)
    "#]],
    );
    failure(
        worker,
        "function(x) x + 'a'",
        json!({"x": 1}),
        &expect![[r#"
        non-numeric argument to binary operator
        -- line 11
        handler(x = x)
    "#]],
    );
    failure(
        worker,
        "function(x) {\n  x[[\n}",
        json!({}),
        &expect![[r#"
        the code is not R: unexpected '}'
        12:   x[[
        13: }
            ^
        -- line 13

    "#]],
    );
    failure(
        worker,
        "x <- 1",
        json!({}),
        &expect![[r#"
        the code yields double and no function; its last expression must be `function(...) { ... }`
        -- no line

    "#]],
    );
    failure(
        worker,
        "function(x) x",
        json!({"y": 1}),
        &expect![[r#"
        unused argument (y = y)
        -- line 11

    "#]],
    );
    failure(
        worker,
        "function(path) {\n  tryCatch(stop('no'), error = function(e) {\n    cli::cli_abort(c('cannot read {.file {path}}', i = 'because: {e$message}'))\n  })\n}",
        json!({"path": "/x y"}),
        &expect![[r#"
            cannot read '/x y'
            ℹ because: no
            -- line 13
            cli::cli_abort(c("cannot read {.file {path}}", i = "because: {e$message}")) at <tool>:13
            value[[3L]](cond)
            tryCatch(stop("no"), error = function(e) { at <tool>:12
            handler(path = path)
        "#]],
    );
    failure(
        worker,
        "function(x) {\n  lapply(x, function(one) {\n    rlang::abort('no')\n  })\n}",
        json!({"x": [1]}),
        &expect![[r#"
            no
            -- line 13
            rlang::abort("no") at <tool>:13
            FUN(X[[i]], ...)
            lapply(x, function(one) { at <tool>:12
            handler(x = x)
        "#]],
    );
    let endless = worker.failure("function() {\n  f <- function() f()\n  f()\n}", json!({}));
    assert!(endless.message.contains("infinite recursion"), "{endless:?}");
    let trace = endless.trace.expect("it has one");
    assert!(
        trace.starts_with("f() at <tool>:12 (") && trace.ends_with(" times)\nf() at <tool>:13\nhandler()"),
        "{trace}"
    );
    for (code, says) in [
        ("function() quit(status = 3)", "`quit()` is not for a handler"),
        ("function() function(x) x", "`result` is a function"),
        ("function() list(a = 1, list(environment()))", "`result[[2]][[1]]` is an environment"),
        (
            "function() { methods::setClass('P', representation(x = 'numeric')); methods::new('P', x = 1) }",
            "S4 object of class `P`",
        ),
        ("function() quote(a + b)", "`result` is a call"),
        ("function() lm(mpg ~ wt, mtcars)", "`result$"),
        ("function() '\\xff\\xfe'", "no text in UTF-8"),
        ("function() { x <- 1; for (i in 1:300) x <- list(x); x }", "more than 100 levels"),
        ("function() { x <- 1; for (i in 1:3000) x <- list(x); x }", "nested"),
        ("function() invokeRestart('abort')", "aborted"),
        ("function() nopackage::f()", "nopackage"),
        ("function() raw(70 * 1024^2)", "MiB"),
        // What is small in R and would be endless in JSON.
        (
            "function() structure(list(a = 1), class = 'data.frame', row.names = c(NA, -2e9L))",
            "1 values for 2000000000 rows",
        ),
        ("function() factor(rep(1, 1e4), labels = strrep('x', 1e5))", "larger than 64 MiB"),
        ("function() matrix(0, 1e4, 1, dimnames = list(NULL, strrep('x', 1e5)))", "larger than 64 MiB"),
        ("function() setNames(data.frame(1:1e4), strrep('x', 1e5))", "larger than 64 MiB"),
        (
            "function() stop(structure(class = c('odd', 'error', 'condition'), list(message = 'odd', call = NULL)))",
            "odd",
        ),
    ] {
        let failure = worker.failure(code, json!({}));
        assert!(failure.message.contains(says), "{code}: {failure:?}");
    }
    assert_eq!(worker.value("function() 'still here'", json!({})), json!("still here"));
}

#[test]
fn r_keeps_what_calls_leave_and_nothing_disturbs_the_channel() {
    let mut worker = r();
    let directory = utf8(worker.directory.path());
    assert_eq!(worker.value("function() { data(mtcars, envir = globalenv()); getwd() }", json!({})), json!(directory));
    assert_eq!(worker.value("function() nrow(get('mtcars', envir = .GlobalEnv))", json!({})), json!(32));
    // A tool has a place of its own too.
    let counter = "count <- 0\nfunction() { count <<- count + 1; count }";
    assert_eq!([1, 2, 3].map(|_| worker.value(counter, json!({}))), [json!(1), json!(2), json!(3)]);
    assert_eq!(worker.value("function() exists('count')", json!({})), json!(false));

    let mut call = worker
        .call("function() { setwd('/'); c(Sys.getenv('CYCOD_TEST_NEW'), Sys.getenv('CYCOD_TEST_OLD')) }", json!({}));
    let both = [("CYCOD_TEST_NEW", "né w"), ("CYCOD_TEST_OLD", "else")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    call.context.environment = Some(both.into());
    assert_eq!(worker.answer(call).expect("it works"), json!(["né w", "else"]));
    let after = "function() list(getwd(), Sys.getenv('CYCOD_TEST_NEW', NA), Sys.getenv('CYCOD_TEST_OLD'))";
    assert_eq!(worker.value(after, json!({})), json!([directory, null, "from the start"]));

    let noise = r#"function() {
        print('printed')
        message('told')
        warning('warned')
        cat('to the error stream\n', file = stderr())
        system('echo from a child; echo also >&2')
        sink(tempfile()); sink(file(tempfile(), 'w'), type = 'message')
        on.exit(cat('left\n', file = stderr()))
        options(error = quote(stop('worse')), warn = 0)
        plot(1:3)
        list(readline('? '), readLines(file('stdin')), readLines(stdin()), interactive(), file.exists('Rplots.pdf'))
    }"#;
    assert_eq!(worker.value(noise, json!({})), json!(["", [], [], false, false]));
    assert_eq!(worker.value("function() { print('again'); 'fine' }", json!({})), json!("fine"));
    for printed in
        ["printed", "told", "Warning in handler(): warned", "to the error stream", "from a child", "also", "again"]
    {
        worker.logs(printed);
    }
    let mut nowhere = worker.call("function() 1", json!({}));
    nowhere.context.directory = "/nowhere/at/all".to_owned();
    assert_eq!(
        worker.answer(nowhere).expect_err("it cannot").message,
        "the working directory /nowhere/at/all is not there"
    );
    assert_eq!(worker.value("function() { browser(); 'went on' }", json!({})), json!("went on"));
    assert_eq!(worker.value("function() { closeAllConnections(); 'open' }", json!({})), json!("open"));
    assert_eq!(
        worker.value("function() unlist(parallel::mclapply(1:2, function(i) i * 10))", json!({})),
        json!([10, 20])
    );
    // A reader of the log is all that a flood needs.
    assert_eq!(
        worker.value("function() { for (i in 1:20000) cat(strrep('x', 100), '\\n'); 'done' }", json!({})),
        json!("done")
    );
    let big = "é\"\n".repeat(3 << 20);
    assert_eq!(worker.value("function(x) x", json!({ "x": big })), json!(big));
    assert_eq!(worker.value("function() nrow(data.frame(x = runif(1e5)))", json!({})), json!(100_000));
    assert_eq!(worker.leave(), Ending::Exited(0));
}

#[test]
fn a_worker_of_r_that_is_killed_or_writes_garbage_is_seen() {
    let mut worker = r();
    let call = worker.call("function() tools::pskill(Sys.getpid(), 9)", json!({}));
    assert!(worker.try_answer(call).is_none());
    assert_eq!(worker.ends(), Ending::Signaled(9));

    let mut worker = r();
    let call = worker.call("function() { system('echo garbage >&3'); 1 }", json!({}));
    worker.send(call);
    let garbage = worker.heard().expect_err("it is no frame").to_string();
    assert_eq!(garbage, "`garbage` is written where only messages may be");
}

#[test]
fn a_package_that_is_installed_brings_its_own_methods() {
    let libraries = tempfile::tempdir().expect("a directory can be made");
    let prints = "function() !is.null(utils::getS3method('print', 'fs_path', optional = TRUE))";
    let is_here =
        json!(true) == r_with(libraries.path()).value("function() nzchar(system.file(package = 'fs'))", json!({}));
    assert_eq!(r_with(libraries.path()).value(prints, json!({})), json!(!is_here));
    let package = libraries.path().join("fs");
    std::fs::create_dir(&package).expect("a directory can be made");
    std::fs::write(package.join("DESCRIPTION"), "Package: fs\nVersion: 1.0.0\n").expect("a file can be written");
    // R would say that the package replaces a method.
    assert_eq!(r_with(libraries.path()).value(prints, json!({})), json!(false));
}

#[test]
fn the_functions_that_stand_in_for_packages_do_what_these_do() {
    let nothing = tempfile::tempdir().expect("a directory can be made");
    let mut worker = r_with(nothing.path());
    if worker.value("function() any(c('rlang', 'cli', 'fs') %in% rownames(installed.packages(.Library)))", json!({}))
        == json!(true)
    {
        // Where they are part of R itself nothing ever stands in for them.
        return;
    }
    let missing = worker.failure("function() fs::nowhere('x')", json!({}));
    assert!(missing.message.contains("apt install r-cran-fs"), "{missing:?}");
    let mut check = |code: &str, expected: Value| {
        let value = worker.value(&format!("function() {{ {code} }}"), json!({}));
        assert_eq!(value, expected, "{code}");
    };
    check(
        "c(rlang::is_string('a'), rlang::is_string(c('a', 'b')), rlang::is_string(NA_character_))",
        json!([true, false, false]),
    );
    check("c(rlang::is_installed('stats'), rlang::is_installed('nopackage'))", json!([true, false]));
    check("rlang::`%||%`(NULL, 2)", json!(2));
    check("rlang::set_names(1:2, c('a', 'b'))", json!({"a": 1, "b": 2}));
    check("f <- function(kind = c('one', 'two')) rlang::arg_match(kind); c(f(), f('two'))", json!(["one", "two"]));
    check("tryCatch(rlang::abort('no', class = 'mine'), mine = conditionMessage)", json!("no"));
    check(
        "tryCatch(rlang::abort(c('no', x = 'bad', i = 'hint')), error = conditionMessage)",
        json!("no\n✖ bad\nℹ hint"),
    );
    let fill = |text: &str| format!("n <- 2; files <- c('a', 'b', 'c'); cli::format_inline(\"{text}\")");
    check(&fill("{n} file{?s}: {.file {files}}"), json!("2 files: 'a', 'b', and 'c'"));
    check(&fill("Found {no(0)} file{?s}, {qty(1)}{?it/they} {?is/are}"), json!("Found no files, it is"));
    check(
        &fill("{.pkg fs} {.fn mean} {.cls {class(n)}} {.val {files[1]}} {{}}"),
        json!("fs `mean()` <numeric> \"a\" {}"),
    );
    check(&fill("file{?s} {.val {n}} {.emph {.code x}}"), json!("files 2 `x`"));
    check("path <- 'x y'; tryCatch(cli::cli_abort('no {.file {path}}'), error = conditionMessage)", json!("no 'x y'"));
    check(
        "withCallingHandlers({ cli::cli_warn('w {1 + 1}'); 'on' }, warning = function(w) invokeRestart('muffleWarning'))",
        json!("on"),
    );
    check("cli::cli_alert_success('did {1}'); cli::cli_ul(c('a', 'b')); cli::cli_progress_bar('x'); 1", json!(1));
    check("fs::path('a', 'b/', 'c', ext = 'txt')", json!("a/b/c.txt"));
    check(
        "c(fs::path_file('a/b.c'), fs::path_dir('a/b.c'), fs::path_ext('a/b.c'), fs::path_ext_set('a/b.c', 'd'))",
        json!(["b.c", "a", "c", "a/b.d"]),
    );
    check(
        "c(fs::path_norm('a/../b/./c'), fs::path_abs('/x/../y'), fs::path_rel('/a/b/c', '/a/d'), fs::path_norm('../../x'))",
        json!(["b/c", "/y", "../b/c", "../../x"]),
    );
    check("fs::path_split('/a/b')[[1]]", json!(["/", "a", "b"]));
    check(
        "fs::dir_create('d/e'); fs::file_create(c('d/one.txt', 'd/e/two.md')); cat('hello', file = 'd/one.txt'); \
         fs::file_copy('d/one.txt', 'd/e'); fs::file_move('d/one.txt', 'd/1.txt'); \
         list(fs::dir_ls('d', recurse = TRUE), fs::dir_ls('d', glob = '*.txt'), fs::dir_ls('d', type = 'directory'), \
         unname(fs::file_exists('d/1.txt')), fs::file_info('d/1.txt')$size, unname(fs::dir_exists('d/nothing')))",
        json!([["d/1.txt", "d/e", "d/e/one.txt", "d/e/two.md"], "d/1.txt", "d/e", true, 5, false]),
    );
    check("fs::file_delete('d/1.txt'); fs::dir_delete('d'); unname(fs::dir_exists('d'))", json!(false));
    check("tryCatch(fs::file_delete('nowhere'), error = conditionMessage)", json!("[ENOENT] cannot delete 'nowhere'"));
    check("requireNamespace('cli', quietly = TRUE)", json!(true));
}

#[test]
fn the_last_call_of_r_is_finished_when_nothing_more_is_said() {
    let worker = r();
    let call = worker.call("function() { Sys.sleep(0.1); 'late' }", json!({}));
    assert_eq!(worker.last_answer(call), json!("late"));
}
