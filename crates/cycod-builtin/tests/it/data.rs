//! The tools in R, by the R of this machine.

use cycod_engine::BuiltIns as _;
use expect_test::{Expect, expect};
use serde_json::json;

use crate::support::Place;

/// Calls handlers in one session, as a worker does, and prints what they return.
#[track_caller]
fn check(place: &Place, calls: &str, expect: &Expect) {
    let handler = |name: &str| {
        let tool =
            cycod_builtin::Toolbox.tools().into_iter().find(|tool| tool.name.as_str() == name).expect("it is there");
        match tool.body {
            cycod_engine::definition::Body::Handler(handler) => handler.code,
            other => panic!("{name} is no handler: {other:?}"),
        }
    };
    let script = format!(
        "execute_code <- (function() {{\n{}\n}})()\ndescribe_data <- (function() {{\n{}\n}})()\n\
         run <- function(...) cat(tryCatch(execute_code(...), error = function(e) paste('failed:', conditionMessage(e))), '\\n')\n\
         describe <- function(...) cat(tryCatch(describe_data(...), error = function(e) paste('failed:', conditionMessage(e))), '\\n')\n\
         {calls}\n",
        handler("execute_code"),
        handler("describe_data"),
    );
    place.file("script.R", script);
    let report = place
        .call("bash_execution", json!({"command": "Rscript", "args": ["--vanilla", "script.R"], "timeout": 120_000}));
    expect.assert_eq(&place.shown(&report).replace(" \n", "\n"));
}

#[test]
fn code_runs_as_in_a_console() {
    let place = Place::new();
    check(
        &place,
        r#"
        run("x <- 1:3; x * 2; invisible(4); cat('no end')")
        run("message('told'); warning('careful'); print(sum(x)); if (TRUE) 'é'")
        run("y <- 5")
        run("y + 1; stop('gone wrong'); y + 2")
        run("1 +")
        run("sink('elsewhere'); print(1)")
        run("2"); cat(sink.number(), '\n')
        run("plot(1); TRUE"); cat(list.files(), '\n')
        long <- execute_code("cat(strrep('a', 300000))"); cat(nchar(long), substr(long, 99995, 100040), "\n")
        "#,
        &expect![[r#"
            [1] 2 4 6
            no end
            told
            Warning: careful
            [1] 6
            [1] "é"
            (nothing was printed)
            failed: [1] 6
            Error: gone wrong
            failed: the code is not R: line 2:0: unexpected end of input
            1: 1 +
               ^
            (nothing was printed)
            [1] 2
            0
            [1] TRUE
            elsewhere script.R
            200037 aaaaaa
            ... 100,000 characters left out ...
            aaa
        "#]],
    );
}

#[test]
fn data_is_described() {
    let place = Place::new();
    check(
        &place,
        r#"
        describe("people")
        people <- data.frame(name = c("Ada", "Bob", NA, "Ada"), age = c(36, 41.5, 29, NA), left = as.Date("2024-01-01") + c(0:2, NA),
          kind = factor(c("a", "b", "a", "a")), ok = c(TRUE, FALSE, NA, TRUE), stringsAsFactors = FALSE)
        attr(people$age, "label") <- "Age in years"
        for (method in c("basic", "skim", "codebook")) { describe("people", method); cat("\n") }
        empty <- people[0, ]; describe("empty")
        wide <- as.data.frame(matrix(1:300, 2)); cat(substr(describe_data("wide", "codebook"), 1, 60), "\n")
        numbers <- list(a = 1); describe("numbers")
        describe("other")
        "#,
        &expect![[r#"
            failed: there is no object `people`; there is no data frame here yet. Make it with execute_code first.
            `people`: 4 rows, 5 columns

            name: <character> 1 missing; 2 distinct: Ada (2), Bob (1)
            age: <numeric> 1 missing; 29 to 41.5, mean 35.5; label "Age in years"
            left: <Date> 1 missing; 2024-01-01 to 2024-01-03
            kind: <factor> 2 distinct: a (3), b (1)
            ok: <logical> 1 missing; 2 distinct: TRUE (2), FALSE (1)

             name  age       left kind    ok
              Ada 36.0 2024-01-01    a  TRUE
              Bob 41.5 2024-01-02    b FALSE
              NA  29.0 2024-01-03    a    NA
              Ada   NA       <NA>    a  TRUE

            `people`: 4 rows, 5 columns

            name: <character> 1 missing; 2 distinct: Ada (2), Bob (1)
            age: <numeric> 1 missing; 29 to 41.5, mean 35.5, sd 6.265, quartiles 32.5 / 36 / 38.75, 3 distinct; label "Age in years"
            left: <Date> 1 missing; 2024-01-01 to 2024-01-03
            kind: <factor> 2 distinct: a (3), b (1)
            ok: <logical> 1 missing; 2 distinct: TRUE (2), FALSE (1)

            duplicated rows: 0

            `people`: 4 rows, 5 columns

            name: <character> 1 missing; 2 distinct: Ada (2), Bob (1)
            age: <numeric> 1 missing; 29 (1), 36 (1), 41.5 (1); label "Age in years"
            left: <Date> 1 missing; 2024-01-01 to 2024-01-03
            kind: <factor> 2 distinct: a (3), b (1)
            ok: <logical> 1 missing; 2 distinct: TRUE (2), FALSE (1)

            `empty`: 0 rows, 5 columns

            name: <character> nothing else
            age: <numeric> nothing else
            left: <Date> nothing else
            kind: <factor> nothing else
            ok: <logical> nothing else
            `wide`: 2 rows, 150 columns

            V1: <integer> 1 (1), 2 (1)
            V2: 
            `numbers` is no data frame:
            List of 1
             $ a: num 1
            failed: there is no object `other`; data frames here: empty, people, wide. Make it with execute_code first.
        "#]],
    );
}

#[test]
fn what_one_call_makes_is_there_for_the_next() {
    let place = Place::new();
    place.check(
        "execute_code",
        json!({"code": "people <- data.frame(age = c(36, 41)); nrow(people)"}),
        &expect!["[1] 2"],
    );
    place.check(
        "describe_data",
        json!({"name": "people", "method": "skim"}),
        &expect![[r#"
        `people`: 2 rows, 1 column

        age: <numeric> 36 to 41, mean 38.5, sd 3.536, quartiles 37.25 / 38.5 / 39.75, 2 distinct

        duplicated rows: 0"#]],
    );
    // What follows the message is where in the handler it was raised.
    let said = place.said("describe_data", json!({"name": "poeple"}));
    let expect = "exit 1\nthere is no object `poeple`; data frames here: people. Make it with execute_code first.\n";
    assert!(said.starts_with(expect), "{said}");
    let said = place.said("execute_code", json!({"code": "print(1)\nstop('gone wrong')"}));
    assert!(said.starts_with("exit 1\n[1] 1\nError: gone wrong\n"), "{said}");
}
