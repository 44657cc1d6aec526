use cycod_definition::Runtime;
use cycod_process::Ending;
use expect_test::{Expect, expect};
use proptest::{prelude::Strategy as _, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::support::*;

fn python() -> Worker {
    Worker::start(Runtime::Python)
}

#[test]
fn values_of_python_become_json() {
    let mut worker = python();
    assert!(worker.version.starts_with("Python 3."), "{}", worker.version);
    let mut check = |code: &str, expected: Value| {
        let imports =
            "import collections, dataclasses, datetime, decimal, enum, fractions, pathlib, types, typing, uuid, array";
        let value =
            worker.value(&format!("{imports}\ndef handler():\n    {}", code.replace('\n', "\n    ")), json!({}));
        assert_eq!(value, expected, "{code}");
    };
    check("pass", json!(null));
    check("return 'a\"b\\n\\u00e9\\U0001F600\\0'", json!("a\"b\né😀\0"));
    check(
        "return [1, 2.5, -0.1 - 0.2, True, None, 'x', (1,), {}]",
        json!([1, 2.5, -0.1 - 0.2, true, null, "x", [1], {}]),
    );
    check("return 5.0", json!(5.0));
    check("return float('nan')", json!(null));
    check(
        "return [float('inf'), -float('inf'), float('nan'), {'a': float('nan')}]",
        json!(["Infinity", "-Infinity", null, {"a": null}]),
    );
    check(
        "return [2**64 - 1, -2**63, 2**64, 10**30]",
        json!([u64::MAX, i64::MIN, "18446744073709551616", format!("1{}", "0".repeat(30))]),
    );
    check(
        "return {1: 'a', True and 2.5: 'b', None: 'c', (1, 'x'): 'd'}",
        json!({"1": "a", "2.5": "b", "null": "c", "1, x": "d"}),
    );
    check("return b'caf\\xc3\\xa9'", json!("café"));
    check("return {3, 1, 2}", json!([1, 2, 3]));
    check(
        "return [pathlib.PurePosixPath('/a/b'), uuid.UUID(int=1)]",
        json!(["/a/b", "00000000-0000-0000-0000-000000000001"]),
    );
    check(
        "return [datetime.date(2024, 2, 29), datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc), datetime.timedelta(minutes=2)]",
        json!(["2024-02-29", "2024-05-01T12:00:00+00:00", 120.0]),
    );
    check("return [decimal.Decimal('1.10'), fractions.Fraction(1, 3), 1+2j]", json!(["1.10", "1/3", "(1+2j)"]));
    check("class C(enum.Enum):\n    A = 'a'\nclass I(enum.IntEnum):\n    B = 2\nreturn [C.A, I.B]", json!(["a", 2]));
    check("P = collections.namedtuple('P', 'x y')\nreturn [P(1, 2), [P(3, {4})]]", json!([[1, 2], [[3, [4]]]]));
    check(
        "@dataclasses.dataclass\nclass D:\n    a: int\n    b: 'list'\nreturn D(1, [D(2, set())])",
        json!({"a": 1, "b": [{"a": 2, "b": []}]}),
    );
    check("return types.SimpleNamespace(a=1, b={2})", json!({"a": 1, "b": [2]}));
    check(
        "return [range(3), (x for x in 'ab'), {'a': 1}.items(), {'a': 1}.keys(), collections.deque([1]), array.array('i', [1, 2])]",
        json!([[0, 1, 2], ["a", "b"], [["a", 1]], ["a"], [1], [1, 2]]),
    );
    // By what values can do, not by where they come from.
    check(
        "class Array:\n    def tolist(self): return [[1, 2], [3, float('nan')]]\nreturn Array()",
        json!([[1, 2], [3, null]]),
    );
    check("class Scalar:\n    def item(self): return 7\nreturn {'n': Scalar()}", json!({"n": 7}));
    check(
        "class RangeIndex: pass\nclass Frame:\n    columns = ['a']\n    index = RangeIndex()\n    def to_dict(self, orient=None): return [{'a': 1, 'how': orient}]\nreturn Frame()",
        json!([{"a": 1, "how": "records"}]),
    );
    check("class Polars:\n    def to_dicts(self): return [{'a': 1}]\nreturn Polars()", json!([{"a": 1}]));
    check("class Model:\n    def model_dump(self): return {'a': {1}}\nreturn Model()", json!({"a": [1]}));
    check("return list('[' * 200)", json!(vec!["["; 200]));
}

#[test]
fn json_comes_back_from_python_as_it_went() {
    let mut worker = python();
    let strategy = proptest::collection::vec(any_json(), 400);
    let values = Value::from(strategy.new_tree(&mut TestRunner::deterministic()).expect("there are values").current());
    assert_eq!(worker.value("def handler(x):\n    return x", json!({ "x": values })), values);
    // The other way of writing, which knows more kinds of values.
    assert_eq!(worker.value("def handler(x):\n    return [x, {1}]", json!({ "x": values })), json!([values, [1]]));
}

fn failure(worker: &mut Worker, code: &str, args: Value, expected: &Expect) {
    let failure = worker.failure(code, args);
    let line = failure.line.map_or("no line".to_owned(), |line| format!("line {line}"));
    expected.assert_eq(&format!("{}\n-- {line}\n{}\n", failure.message, failure.trace.unwrap_or_default()));
}

#[test]
fn errors_of_python_say_where_in_the_file() {
    let mut worker = python();
    let nested =
        "import json\n\ndef helper(x):\n    return json.loads(x)[0]['a']\n\ndef handler(x):\n    return helper(x)";
    failure(
        &mut worker,
        nested,
        json!({"x": "[{}]"}),
        &expect![[r#"
        KeyError: 'a'
        -- line 14
        File "<tool>", line 14, in helper
            return json.loads(x)[0]['a']
        File "<tool>", line 17, in handler
            return helper(x)
    "#]],
    );
    failure(
        &mut worker,
        "def handler(:\n    pass",
        json!({}),
        &expect![[r#"
        the code is not Python: invalid syntax
        -- line 11

    "#]],
    );
    failure(
        &mut worker,
        "import nosuchmodule",
        json!({}),
        &expect![[r#"
        ModuleNotFoundError: No module named 'nosuchmodule'
        -- line 11
        File "<tool>", line 11, in <module>
            import nosuchmodule
    "#]],
    );
    failure(
        &mut worker,
        "def one(): pass\ndef two(): pass",
        json!({}),
        &expect![[r#"
        the code has several functions (`one`, `two`); one must be called `handler`
        -- no line

    "#]],
    );
    failure(
        &mut worker,
        "x = 1",
        json!({}),
        &expect![[r#"
        the code has no function; one must be called `handler`
        -- no line

    "#]],
    );
    failure(
        &mut worker,
        "def handler(x):\n    return x",
        json!({"y": 1}),
        &expect![[r#"
        TypeError: handler() got an unexpected keyword argument 'y'
        -- no line

    "#]],
    );
    failure(
        &mut worker,
        "def handler():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise ValueError('worse') from e",
        json!({}),
        &expect![[r#"
        ValueError: worse
        -- line 15
        File "<tool>", line 15, in handler
            raise ValueError('worse') from e
        caused by ZeroDivisionError: division by zero
    "#]],
    );
    for (code, says) in [
        ("import sys\ndef handler():\n    sys.exit(3)", "`sys.exit(3)` is not for a handler"),
        ("def handler():\n    raise KeyboardInterrupt", "interrupted"),
        ("def handler():\n    raise BaseException('odd')", "odd"),
        ("def handler():\n    return handler()", "RecursionError"),
        ("def handler():\n    return {'a': [object()]}", "`result['a'][0]` is of type `object`"),
        ("def handler():\n    return handler", "is of type `function`"),
        ("def handler():\n    x = []\n    x.append(x)\n    return x", "nested more than 100"),
        ("def handler():\n    x = 1\n    for _ in range(300): x = [x]\n    return x", "nested more than 100"),
        ("def handler():\n    return b'\\xff'", "no text in UTF-8"),
        ("def handler():\n    return ['\\ud800']", "`result[0]` holds half of a surrogate"),
        ("def handler():\n    return 'x' * (70 << 20)", "70.0 MiB"),
        ("def handler():\n    class E(Exception):\n        def __str__(self): raise ValueError\n    raise E", "E"),
    ] {
        let failure = worker.failure(code, json!({}));
        assert!(failure.message.contains(says), "{code}: {failure:?}");
    }
    assert_eq!(worker.value("def handler():\n    return 'still here'", json!({})), json!("still here"));
}

#[test]
fn python_keeps_what_calls_leave_and_nothing_disturbs_the_channel() {
    let mut worker = python();
    let directory = utf8(worker.directory.path());
    let counter =
        "count = 0\ndef handler(n=1):\n    global count\n    count += n\n    session['seen'] = count\n    return count";
    assert_eq!([1, 2, 3].map(|_| worker.value(counter, json!({}))), [json!(1), json!(2), json!(3)]);
    assert_eq!(worker.value("def only(): return session", json!({})), json!({"seen": 3}));
    assert_eq!(
        worker.value("import asyncio\nasync def handler(x):\n    await asyncio.sleep(0)\n    return [x, asyncio.get_running_loop() is not None]", json!({"x": 1})),
        json!([1, true]),
    );
    assert_eq!(worker.value("async def handler():\n    yield 1\n    yield 2", json!({})), json!([1, 2]));
    assert_eq!(
        worker.value(
            "from os.path import join\ndef _helper(): return 1\ndef tool(): return join('a', str(_helper()))",
            json!({})
        ),
        json!(format!("a{}1", std::path::MAIN_SEPARATOR))
    );

    let mut call = worker.call("import os\ndef handler():\n    where = os.getcwd()\n    os.chdir('/')\n    return [where, os.environ['CYCOD_TEST_NEW'], os.environ['CYCOD_TEST_OLD']]", json!({}));
    let both = [("CYCOD_TEST_NEW", "né w"), ("CYCOD_TEST_OLD", "else")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    call.context.environment = Some(both.into());
    assert_eq!(worker.answer(call).expect("it works"), json!([directory, "né w", "else"]));
    let after = "import os\ndef handler(): return [os.getcwd(), os.environ.get('CYCOD_TEST_NEW'), os.environ['CYCOD_TEST_OLD']]";
    assert_eq!(worker.value(after, json!({})), json!([directory, null, "from the start"]));

    // A module beside the tool is found; one that is called as a module of Python is not taken for it.
    let tools = worker.directory.path().join("tools");
    std::fs::create_dir(&tools).expect("it can be made");
    std::fs::write(tools.join("beside.py"), "def double(x): return x * 2").expect("it can be written");
    std::fs::write(tools.join("colorsys.py"), "raise SystemExit('not the real one')").expect("it can be written");
    let mut call = worker.call("import beside, colorsys\ndef handler(): return [beside.double(4), colorsys.__name__, __file__.endswith('tool.md')]", json!({}));
    call.file = Some(utf8(&tools.join("tool.md")));
    assert_eq!(worker.answer(call).expect("it works"), json!([8, "colorsys", true]));
    assert_eq!(
        worker.value("import sys\ndef handler(): return [p for p in sys.path if 'tools' in p or p == '']", json!({})),
        json!([])
    );

    let noise = "import os, sys, subprocess, threading, time, warnings, multiprocessing\n\
                 def child(x): return x * 10\n\
                 def handler():\n    \
                     print('printed')\n    \
                     print('to the error stream', file=sys.stderr)\n    \
                     warnings.warn('warned')\n    \
                     os.write(1, b'straight out\\n')\n    \
                     try: os.close(3)\n    \
                     except OSError: pass\n    \
                     CHILDREN\n    \
                     threading.Thread(target=lambda: (time.sleep(0.05), print('from a thread'))).start()\n    \
                     return [tens, sys.stdin.read()]";
    let children = if cfg!(windows) {
        "os.system('echo from a child')\n    subprocess.run(['cmd', '/c', 'echo another'])\n    tens = [10, 20]"
    } else {
        "os.system('echo from a child; echo garbage >&3; cat <&4')\n    \
         subprocess.run(['sh', '-c', 'echo garbage >&3'])\n    \
         pid = os.fork()\n    \
         if pid == 0:\n        \
             return 'a second answer'\n    \
         os.waitpid(pid, 0)\n    \
         with multiprocessing.get_context('fork').Pool(2) as pool: tens = pool.map(child, [1, 2])"
    };
    assert_eq!(worker.value(&noise.replace("CHILDREN", children), json!({})), json!([[10, 20], ""]));
    for printed in ["printed", "to the error stream", "warned", "from a child", "straight out", "from a thread"] {
        worker.logs(printed);
    }
    assert_eq!(
        worker.value("def handler():\n    for _ in range(20000): print('x' * 100)\n    return 'done'", json!({})),
        json!("done")
    );
    worker.value("import io, sys\ndef handler():\n    sys.stdout = io.StringIO()", json!({}));
    worker.value("def handler():\n    print('seen again')", json!({}));
    worker.logs("seen again");
    let spawned = "import multiprocessing\ndef handler():\n    with multiprocessing.get_context('spawn').Pool(1) as pool: return pool.map(abs, [-1])";
    assert_eq!(worker.value(spawned, json!({})), json!([1]));
    let big = "é\"\n".repeat(3 << 20);
    assert_eq!(worker.value("def handler(x):\n    return x", json!({ "x": big })), json!(big));
    assert_eq!(
        worker.value(
            "import threading\ndef handler():\n    threading.Thread(target=threading.Event().wait).start()",
            json!({})
        ),
        json!(null)
    );
    assert_eq!(worker.leave(), Ending::Exited(0));

    let mut worker = python();
    let call = worker.call("import os\ndef handler(): os._exit(9)", json!({}));
    assert!(worker.try_answer(call).is_none());
    assert_eq!(worker.ends(), Ending::Exited(9));
}

#[test]
fn the_last_call_of_python_is_finished_when_nothing_more_is_said() {
    let worker = python();
    let call = worker.call("import time\ndef handler():\n    time.sleep(0.1)\n    return 'late'", json!({}));
    assert_eq!(worker.last_answer(call), json!("late"));
}
