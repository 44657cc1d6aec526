use expect_test::expect;

use crate::support::check_bind;

#[test]
fn texts() {
    let parameters = r"
L: {type: string, description: d, validation: {minLength: 2, maxLength: 4}}
P: {type: string, description: d, validation: {pattern: 'b$'}}
E: {type: string, description: d, validation: {enum: [celsius, kelvin, '5']}}
";
    check_bind(
        parameters,
        &[
            &["L=ab", "P=ab", "E=celsius"],
            &["L=é\u{301}🦀x", "E=5"],
            &["L=a", "P=b\n", "E=Celsius"],
            &["L=abcde", "P=bc", "E="],
        ],
        &expect![[r#"
            [L=ab | P=ab | E=celsius]
            L = "ab" (given)
            P = "ab" (given)
            E = "celsius" (given)
            [L=é́🦀x | E=5]
            L = "é́🦀x" (given)
            P = - (absent)
            E = "5" (given)
            [L=a | P=b
             | E=Celsius]
            invalid-argument: `L`: has 1 character, needs at least 2
            invalid-argument: `P`: `b\n` does not match the pattern `b$`
            invalid-argument: `E`: `Celsius` is not one of `celsius`, `kelvin`, `5`
              help: did you mean `celsius`?
            [L=abcde | P=bc | E=]
            invalid-argument: `L`: has 5 characters, may have at most 4
            invalid-argument: `P`: `bc` does not match the pattern `b$`
            invalid-argument: `E`: an empty text is not one of `celsius`, `kelvin`, `5`
        "#]],
    );
}

#[test]
fn numbers_are_compared_exactly() {
    let parameters = "
A: {type: integer, description: d, validation: {minimum: -5, maximum: 9007199254740993}}
B: {type: number, description: d, validation: {exclusiveMinimum: 0, exclusiveMaximum: 1}}
C: {type: number, description: d, validation: {multipleOf: 0.1}}
E: {type: number, description: d, validation: {enum: [1, 2.50]}}
";
    check_bind(
        parameters,
        &[
            &["A=9007199254740993", "B=1e-400", "C=0.3", "E=2.5"],
            &["A=9007199254740994", "B=0", "C=0.35", "E=3"],
            &["A=-6", "B=1.0", "C=1e300", "E=1.0"],
        ],
        &expect![[r#"
            [A=9007199254740993 | B=1e-400 | C=0.3 | E=2.5]
            A = 9007199254740993 (given)
            B = 1e-400 (given)
            C = 0.3 (given)
            E = 2.5 (given)
            [A=9007199254740994 | B=0 | C=0.35 | E=3]
            invalid-argument: `A`: `9007199254740994` is more than the maximum 9007199254740993
            invalid-argument: `B`: `0` must be more than 0
            invalid-argument: `C`: `0.35` is not a multiple of 0.1
            invalid-argument: `E`: `3` is not one of `1`, `2.50`
            [A=-6 | B=1.0 | C=1e300 | E=1.0]
            invalid-argument: `A`: `-6` is less than the minimum -5
            invalid-argument: `B`: `1.0` must be less than 1
        "#]],
    );
}

#[test]
fn lists_and_objects_are_checked_inside() {
    let parameters = "
A:
  type: array
  description: d
  validation:
    minItems: 1
    maxItems: 3
    uniqueItems: true
    items: {type: integer, minimum: 0}
O:
  type: object
  description: d
  validation:
    properties:
      name: {type: string, minLength: 1}
      tags: {type: array, items: {type: string, enum: [a, b]}}
    required: [name]
";
    check_bind(
        parameters,
        &[
            &["A:=[1, \"2\", 3.0]", "O:={\"name\": 5, \"extra\": [null]}"],
            &["A:=[]", "O:={}"],
            &["A:=[1, 1.0, -1, 4]", "O:={\"name\": \"\", \"tags\": [\"a\", \"c\"]}"],
            &["A:=[\"x\", 1]", "O:={\"name\": []}"],
        ],
        &expect![[r#"
            [A:=[1, "2", 3.0] | O:={"name": 5, "extra": [null]}]
            A = [1,2,3] (given)
            O = {"name":"5","extra":[null]} (given)
            [A:=[] | O:={}]
            invalid-argument: `A`: has 0 elements, needs at least 1
            invalid-argument: `O`: lacks the property `name`
            [A:=[1, 1.0, -1, 4] | O:={"name": "", "tags": ["a", "c"]}]
            invalid-argument: `A`: has 4 elements, may have at most 3
            invalid-argument: `A`: holds `1` more than once
            invalid-argument: `A[2]`: `-1` is less than the minimum 0
            invalid-argument: `O.name`: has 0 characters, needs at least 1
            invalid-argument: `O.tags[1]`: `c` is not one of `a`, `b`
            [A:=["x", 1] | O:={"name": []}]
            wrong-argument-type: `A[0]`: expected an integer, found `x`
              help: write it in digits, such as `42`
            wrong-argument-type: `O.name`: expected a string, found an array
              help: give an object or array as JSON text in a string
        "#]],
    );
}
