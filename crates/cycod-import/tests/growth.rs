//! Reading the tasks of other programs takes no longer than their length allows.

use cycod_import::{TaskDirectory, TaskKind, TaskSource, import};
use growth::Grown;

const JUST: &[(&str, Grown)] = &[
    ("recipes", |n| count(n, |i| format!("r{i}:\n    ls\n"))),
    ("recipes with a parameter", |n| count(n, |i| format!("r{i} x:\n    ls {{{{x}}}}\n"))),
    ("recipes of one name", |n| "r:\n    ls\n".repeat(n)),
    ("variants for a platform", |n| "[linux]\nr:\n    ls\n".repeat(n)),
    ("lines", |n| format!("r x:\n{}", "    ls {{x}}\n".repeat(n))),
    ("commands in a line", |n| format!("r x:\n    {}\n", "ls {{x}}; ".repeat(n))),
    ("words of a line", |n| format!("r x:\n    ls {{{{x}}}} {}\n", "a ".repeat(n))),
    ("places in a line", |n| format!("r x:\n    ls {}\n", "{{x}} ".repeat(n))),
    ("lines of a program", |n| format!("r x:\n    #!/usr/bin/env bash\n{}", "    ls {{x}}\n".repeat(n))),
    ("parameters", |n| {
        format!("r {}:\n    ls {}\n", count(n, |i| format!("p{i} ")), count(n, |i| format!("{{{{p{i}}}}} ")))
    }),
    ("parameters in lines", |n| {
        format!("r {}:\n{}", count(n, |i| format!("p{i} ")), count(n, |i| format!("    ls {{{{p{i}}}}}\n")))
    }),
    ("parameters nobody uses", |n| format!("r {}:\n    ls\n", count(n, |i| format!("p{i} ")))),
    ("exported parameters", |n| format!("r {}:\n    ls \"$p1\"\n", count(n, |i| format!("$p{i} ")))),
    ("defaults", |n| format!("r {}:\n    ls\n", count(n, |i| format!("p{i}='a' ")))),
    ("defaults of other parameters", |n| {
        format!("r p0 {}:\n    ls {{{{p{}}}}}\n", count(n, |i| format!("p{}=p{i} ", i + 1)), n)
    }),
    ("a default", |n| format!("r a='{}':\n    ls\n", "a".repeat(n))),
    ("a default that is worked out", |n| format!("r a=('a'{}):\n    ls\n", " + 'a'".repeat(n))),
    ("attributes", |n| format!("{}r:\n    ls\n", "[no-exit-message]\n".repeat(n))),
    ("groups", |n| format!("{}r:\n    ls\n", count(n, |i| format!("[group('g{i}')]\n")))),
    ("dependencies", |n| {
        format!("r: {}\n{}", count(n, |i| format!("d{i} ")), count(n, |i| format!("d{i}:\n    ls\n")))
    }),
    ("dependencies of one", |n| count(n, |i| format!("r{i}: r{}\n", i + 1))),
    ("recipes in a circle", |n| count(n, |i| format!("r{i}: r{}\n", (i + 1) % n))),
    ("recipes that need one", |n| format!("d:\n    ls\n{}", count(n, |i| format!("r{i}: d\n    ls\n")))),
    ("dependencies that nothing has", |n| format!("r: {}\n    ls\n", count(n, |i| format!("d{i} ")))),
    ("arguments handed on", |n| format!("r x: {}\n    ls\nd y:\n    ls {{{{y}}}}\n", "(d x) ".repeat(n))),
    ("arguments handed on and on", |n| count(n, |i| format!("r{i} x: (r{} x)\n", i + 1))),
    ("questions", |n| count(n, |i| format!("[confirm('Sure?')]\nr{i}: r{}\n    ls\n", i + 1))),
    ("aliases", |n| format!("r:\n    ls\n{}", count(n, |i| format!("alias a{i} := r\n")))),
    ("aliases of nothing", |n| format!("r:\n    ls\n{}", count(n, |i| format!("alias a{i} := x{i}\n")))),
    ("variables", |n| format!("{}r:\n    ls {{{{v1}}}}\n", count(n, |i| format!("v{i} := 'a'\n")))),
    ("variables of variables", |n| format!("v0 := 'a'\n{}", count(n, |i| format!("v{} := v{i}\n", i + 1)))),
    ("exported variables", |n| format!("{}r:\n    ls $v1\n", count(n, |i| format!("export v{i} := 'a'\n")))),
    ("settings", |n| "set export\n".repeat(n)),
    ("comments", |n| format!("{}r:\n    ls\n", "# a\n".repeat(n))),
    ("a name", |n| format!("{}:\n    ls\n", "a".repeat(n))),
    ("long names that begin alike", |n| count(20, |i| format!("{}{i}:\n    ls\n", "a".repeat(n / 10)))),
    ("names alike but for their case", |n| count(n, |i| format!("{}:\n    ls\n", cased(i)))),
    ("names that no tool can have", |n| count(n, |i| format!("r{i}é:\n    ls\n"))),
    ("quotes", |n| format!("r x:\n    ls {{{{x}}}} {}\n", "'\"".repeat(n))),
    ("braces", |n| format!("r x:\n    ls {}\n", "{{".repeat(n))),
    ("parentheses", |n| format!("a := {}'b'{}\nr:\n    ls\n", "(".repeat(n), ")".repeat(n))),
    ("conditions", |n| format!("a := {}'b'\n", "if 'a' == 'b' { 'c' } else ".repeat(n))),
    ("a text in several lines", |n| format!("a := '''\n{}'''\n", "a\n".repeat(n))),
    ("imports", |n| count(n, |i| format!("import 'a{i}.just'\nmod m{i}\n"))),
    ("lines that go on", |n| format!("r:\n    ls {}\n", "\\\n    a ".repeat(n))),
    ("nested substitutions", |n| format!("r x:\n    ls {}{{{{x}}}}{}\n", "$(a ".repeat(n), ")".repeat(n))),
    ("pipes", |n| format!("r x:\n    ls {{{{x}}}}{}\n", " | a".repeat(n))),
];

const MAKE: &[(&str, Grown)] = &[
    ("targets", |n| count(n, |i| format!("t{i}:\n\tls\n"))),
    ("phony targets", |n| {
        format!(".PHONY: {}\n{}", count(n, |i| format!("t{i} ")), count(n, |i| format!("t{i}:\n\tls\n")))
    }),
    ("targets that are described", |n| count(n, |i| format!("t{i}: ## Does it\n\tls\n"))),
    ("targets in a rule", |n| format!("{}:\n\tls\n", count(n, |i| format!("t{i} ")))),
    ("rules of one target", |n| "t:\n\tls\n".repeat(n)),
    ("rules of one target that need more", |n| count(n, |i| format!("t: d{i}\n"))),
    ("files", |n| count(n, |i| format!("f{i}.o: f{i}.c\n\tcc -o $@ f{i}.c\n"))),
    ("lines", |n| format!("X ?= a\nt:\n{}", "\tls $(X)\n".repeat(n))),
    ("words of a line", |n| format!("X ?= a\nt:\n\tls $(X) {}\n", "a ".repeat(n))),
    ("places in a line", |n| format!("X ?= a\nt:\n\tls {}\n", "$(X) ".repeat(n))),
    ("prerequisites", |n| format!("t: {}\n{}", count(n, |i| format!("d{i} ")), count(n, |i| format!("d{i}:\n\tls\n")))),
    ("prerequisites of one", |n| count(n, |i| format!("t{i}: t{}\n\tls\n", i + 1))),
    ("targets that need one", |n| format!("d:\n\tls $(X)\n{}", count(n, |i| format!("t{i}: d\n\tls\n")))),
    ("targets that need many", |n| {
        let n = n / 2;
        let all = count(n / 4, |i| format!("t{i} "));
        format!("all: {all}\n{}", count(n, |i| format!("t{i}: all\n\tls\n")))
    }),
    ("variables", |n| format!("{}t:\n\tls $(V1)\n", count(n, |i| format!("V{i} ?= a\n")))),
    ("variables that are used", |n| {
        format!("{}t:\n{}", count(n, |i| format!("V{i} ?= a\n")), count(n, |i| format!("\tls $(V{i})\n")))
    }),
    ("variables in a line", |n| {
        format!("{}t:\n\tls {}\n", count(n, |i| format!("V{i} ?= a\n")), count(n, |i| format!("$(V{i}) ")))
    }),
    ("variables of targets", |n| count(n, |i| format!("V{i} ?= a\nt{i}:\n\tls $(V{i})\n"))),
    ("variables that nothing sets", |n| format!("t:\n{}", count(n, |i| format!("\tls $(V{i})\n")))),
    ("variables that nothing sets, of targets", |n| count(n, |i| format!("t{i}:\n\tls $(V{i})\n"))),
    ("variables that must be given", |n| {
        format!("t:\n{}", count(n, |i| format!("ifndef V{i}\n\t$(error V{i})\nendif\n\tls $(V{i})\n")))
    }),
    ("variables of variables", |n| format!("{}t:\n\tls $(V0)\n", count(n, |i| format!("V{i} = $(V{})\n", i + 1)))),
    ("variables made of many", |n| {
        format!("A ?= a\n{}t:\n\tls $(V{n})\n", count(n + 1, |i| format!("V{i} = $(A) $(A) $(A)\n")))
    }),
    ("variables that double", |n| {
        format!("{}t:\n\tls $(V0)\n", count(n, |i| format!("V{i} = $(V{}) $(V{})\n", i + 1, i + 1)))
    }),
    ("one variable", |n| "V += a\n".repeat(n) + "t:\n\tls $(V)\n"),
    ("a long variable", |n| format!("V = {}\nt:\n\tls $(V) $(X)\n", "a ".repeat(n))),
    ("a long variable in lines", |n| format!("V = {}\nt:\n{}", "a ".repeat(n), "\tls $(V) $(X)\n".repeat(n))),
    ("conditions", |n| "ifdef A\nX = a\nendif\n".repeat(n) + "t:\n\tls\n"),
    ("nested conditions", |n| "ifdef A\n".repeat(n) + "X = a\n" + &"endif\n".repeat(n)),
    ("definitions", |n| count(n, |i| format!("define D{i}\na\nendef\n")) + "t:\n\tls\n"),
    ("loops", |n| format!("t:\n{}", "\t$(foreach x,a b,ls $(x))\n".repeat(n))),
    ("functions in functions", |n| format!("t:\n\tls {}a{}\n", "$(sort ".repeat(n), ")".repeat(n))),
    ("references in references", |n| format!("t:\n\tls {}a{}\n", "$(".repeat(n), ")".repeat(n))),
    ("includes", |n| count(n, |i| format!("include a{i}.mk\n"))),
    ("comments", |n| "# a\n".repeat(n) + "t:\n\tls\n"),
    ("signs of comments", |n| format!("t: {}\n\tls\n", "\\#".repeat(n))),
    ("lines that go on", |n| format!("t:\n\tls {}\n", "\\\n\ta ".repeat(n))),
    ("a variable in lines that go on", |n| format!("V = {}\nt:\n\tls $(V)\n", "\\\n\ta ".repeat(n))),
    ("a name", |n| format!("{}:\n\tls\n", "a".repeat(n))),
    ("names alike but for their case", |n| count(n, |i| format!("{}:\n\tls\n", cased(i)))),
    ("quotes", |n| format!("t:\n\tls $(X) {}\n", "'\"".repeat(n))),
    ("patterns", |n| "%.o: %.c\n\tcc\n".repeat(n)),
    ("colons", |n| format!("t{}\n\tls\n", ":".repeat(n))),
    ("dollars", |n| format!("t:\n\tls {}\n", "$".repeat(n))),
];

const PACKAGE: &[(&str, Grown)] = &[
    ("scripts", |n| package(&list(n, |i| format!("\"s{i}\": \"ls\"")))),
    ("scripts before others", |n| package(&list(n, |i| format!("\"pres{i}\": \"ls\"")))),
    ("scripts of one name", |n| package(&list(n, |_| "\"s\": \"ls\"".to_owned()))),
    ("scripts with remarks", |n| package(&list(n, |i| format!("\"//s{i}\": \"Lists\", \"s{i}\": \"ls\"")))),
    ("scripts that are described", |n| {
        let said = list(n, |i| format!("\"s{i}\": \"Lists\""));
        format!("{{\"scripts-info\": {{{said}}}, \"scripts\": {{{}}}}}", list(n, |i| format!("\"s{i}\": \"ls\"")))
    }),
    ("scripts that are no text", |n| package(&list(n, |i| format!("\"s{i}\": 1")))),
    ("words of a script", |n| package(&format!("\"s\": \"ls {}\"", "a ".repeat(n)))),
    ("commands of a script", |n| package(&format!("\"s\": \"ls {}\"", "&& ls ".repeat(n)))),
    ("quotes", |n| package(&format!("\"s\": \"ls {}\"", "'".repeat(n)))),
    ("a name", |n| package(&format!("\"{}\": \"ls\"", "a".repeat(n)))),
    ("names alike but for their case", |n| package(&list(n, |i| format!("\"{}\": \"ls\"", cased(i))))),
    ("other keys", |n| format!("{{{}, \"scripts\": {{\"s\": \"ls\"}}}}", list(n, |i| format!("\"k{i}\": 1")))),
    ("nested lists", |n| format!("{{\"k\": {}{}}}", "[".repeat(n), "]".repeat(n))),
    ("lines", |n| format!("{{{}\"scripts\": {{\"s\": \"ls\"}}}}", "\n".repeat(n))),
    ("blanks behind texts", |n| format!("{{\"k\": [{}\"\"]}}", format!("\"\",{}", " ".repeat(20)).repeat(n))),
    ("a mistake at the end", |n| "{\n".to_owned() + &"\"a\": 1,\n".repeat(n)),
    ("backslashes", |n| package(&format!("\"s\": \"ls {}\"", "\\\\".repeat(n)))),
];

const TASKFILE: &[(&str, Grown)] = &[
    ("tasks", |n| tasks(n, |_| "ls".to_owned())),
    ("tasks with commands", |n| tasks(n, |_| "{cmds: [ls, 'echo {{.X}}']}".to_owned())),
    ("tasks of other tasks", |n| tasks(n, |i| format!("{{deps: [t{}]}}", i + 1))),
    ("tasks in a circle", |n| tasks(n, |i| format!("{{deps: [t{}]}}", (i + 1) % n))),
    ("tasks that call one", |n| tasks(n, |_| "{cmds: [{task: t0}]}".to_owned())),
    ("tasks that call what is elsewhere", |n| tasks(n, |i| format!("{{cmds: [{{task: 'x:{i}'}}]}}"))),
    ("calls", |n| format!("{}  all: {{deps: [{}]}}\n", tasks(n, |_| "ls".to_owned()), count(n, |i| format!("t{i}, ")))),
    ("calls of aliases", |n| {
        let tasks = tasks(n, |i| format!("{{aliases: [a{i}], cmd: ls}}"));
        format!("{tasks}  all: {{deps: [{}]}}\n", count(n, |i| format!("a{i}, ")))
    }),
    ("calls of what is elsewhere", |n| format!("tasks:\n  t: {{deps: [{}]}}\n", count(n, |i| format!("'x:{i}', ")))),
    ("commands", |n| format!("tasks:\n  t:\n    cmds:\n{}", "      - ls {{.X}}\n".repeat(n))),
    ("commands of many variables", |n| {
        format!("tasks:\n  t:\n    cmds:\n{}", count(n, |i| format!("      - ls {{{{.X{i}}}}}\n")))
    }),
    ("places in a command", |n| format!("tasks:\n  t: ls {}\n", "{{.X}} ".repeat(n))),
    ("variables in a command", |n| format!("tasks:\n  t: ls {}\n", count(n, |i| format!("{{{{.X{i}}}}} ")))),
    ("further arguments", |n| format!("tasks:\n  t: ls {}\n", "{{.CLI_ARGS}} ".repeat(n))),
    ("further arguments of commands", |n| {
        format!("tasks:\n  t:\n    cmds:\n{}", "      - ls {{.CLI_ARGS}}\n".repeat(n))
    }),
    ("words of a command", |n| format!("tasks:\n  t: ls {{{{.X}}}} {}\n", "a ".repeat(n))),
    ("lines of a command", |n| format!("tasks:\n  t: |\n{}", "    ls {{.X}}\n".repeat(n))),
    ("variables", |n| format!("vars: {{{}}}\ntasks:\n  t: ls {{{{.V1}}}}\n", count(n, |i| format!("V{i}: a, ")))),
    ("variables of variables", |n| {
        let variables = count(n, |i| format!("V{i}: 'a {{{{.V{}}}}}', ", i + 1));
        format!("vars: {{{variables}}}\ntasks:\n  t: ls {{{{.V0}}}}\n")
    }),
    ("variables and tasks", |n| {
        format!("vars: {{{}}}\n{}", count(n, |i| format!("V{i}: a, ")), tasks(n, |i| format!("'ls {{{{.V{i}}}}}'")))
    }),
    ("variables that a caller may set", |n| {
        let variables = count(n, |i| format!("V{i}: '{{{{.V{i} | default \"a\"}}}}', "));
        format!("vars: {{{variables}}}\n{}", tasks(n, |i| format!("'ls {{{{.V{i}}}}}'")))
    }),
    ("variables of a task", |n| {
        let variables = count(n, |i| format!("V{i}: '{{{{.V{i} | default \"a\"}}}}', "));
        format!("tasks:\n  t:\n    vars: {{{variables}}}\n    cmd: ls {}\n", count(n, |i| format!("{{{{.V{i}}}}} ")))
    }),
    ("required variables", |n| {
        format!("tasks:\n  t:\n    requires: {{vars: [{}]}}\n    cmd: ls\n", count(n, |i| format!("V{i}, ")))
    }),
    ("choices", |n| {
        let choices = count(n, |i| format!("c{i}, "));
        format!("tasks:\n  t:\n    requires: {{vars: [{{name: V, enum: [{choices}]}}]}}\n    cmd: ls\n")
    }),
    ("variables handed over", |n| {
        let handed = count(n, |i| format!("V{i}: a, "));
        let used = count(n, |i| format!("{{{{.V{i}}}}} "));
        format!("tasks:\n  t:\n    cmds: [{{task: u, vars: {{{handed}}}}}]\n  u: ls {used}\n")
    }),
    ("aliases", |n| format!("tasks:\n  t: {{cmd: ls, aliases: [{}]}}\n", count(n, |i| format!("a{i}, ")))),
    ("includes", |n| format!("includes: {{{}}}\ntasks: {{t: ls}}\n", count(n, |i| format!("i{i}: a, ")))),
    ("variables of the environment", |n| {
        format!("env: {{{}}}\ntasks: {{t: ls}}\n", count(n, |i| format!("V{i}: a, ")))
    }),
    ("questions", |n| tasks(n, |i| format!("{{prompt: Sure?, deps: [t{}]}}", i + 1))),
    ("platforms", |n| format!("tasks:\n  t: {{cmd: ls, platforms: [{}]}}\n", "linux, ".repeat(n))),
    ("braces", |n| format!("tasks:\n  t: 'ls {}'\n", "{{".repeat(n))),
    ("pipes in a template", |n| format!("tasks:\n  t: 'ls {{{{.X{}}}}}'\n", " | trim".repeat(n))),
    ("a name", |n| format!("tasks:\n  {}: ls\n", "a".repeat(n))),
    ("names alike but for their case", |n| format!("tasks:\n{}", count(n, |i| format!("  {}: ls\n", cased(i))))),
    ("loops", |n| {
        let loops = count(n, |i| format!("      - {{for: {{var: L, as: V{i}}}, cmd: 'ls {{{{.V{i}}}}}'}}\n"));
        format!("tasks:\n  t:\n    cmds:\n{loops}")
    }),
    ("tasks of one line", |n| format!("tasks: {{{}}}\n", count(n, |i| format!("t{i}: {{deps: [t{}]}}, ", i + 1)))),
];

const MISE: &[(&str, Grown)] = &[
    ("tasks", |n| count(n, |i| format!("[tasks.t{i}]\nrun = 'ls'\n"))),
    ("tasks in lines", |n| format!("[tasks]\n{}", count(n, |i| format!("t{i} = 'ls'\n")))),
    ("tasks of other tasks", |n| count(n, |i| format!("[tasks.t{i}]\ndepends = ['t{}']\n", i + 1))),
    ("tasks in a circle", |n| count(n, |i| format!("[tasks.t{i}]\ndepends = ['t{}']\n", (i + 1) % n))),
    ("tasks that need one", |n| count(n, |i| format!("[tasks.t{i}]\nrun = 'ls'\ndepends = ['t0']\n"))),
    ("dependencies", |n| {
        let tasks = count(n, |i| format!("[tasks.t{i}]\nrun = 'ls'\n"));
        format!("{tasks}[tasks.all]\ndepends = [{}]\n", count(n, |i| format!("'t{i}', ")))
    }),
    ("dependencies that are patterns", |n| {
        let tasks = count(n, |i| format!("[tasks.t{i}]\nrun = 'ls'\n"));
        format!("{tasks}[tasks.all]\ndepends = [{}]\n", count(n, |i| format!("'*{i}', ")))
    }),
    ("commands", |n| format!("[tasks.t]\nrun = [{}]\n", "'ls', ".repeat(n))),
    ("lines of a command", |n| format!("[tasks.t]\nrun = '''\n{}'''\n", "ls\n".repeat(n))),
    ("arguments in a command", |n| {
        format!("[tasks.t]\nrun = 'ls {}'\n", count(n, |i| format!("{{{{arg(name=\"a{i}\")}}}} ")))
    }),
    ("one argument in a command", |n| format!("[tasks.t]\nrun = 'ls {}'\n", "{{arg(name=\"a\")}} ".repeat(n))),
    ("arguments of a usage", |n| {
        format!("[tasks.t]\nusage = '''\n{}'''\nrun = 'ls'\n", count(n, |i| format!("arg \"<a{i}>\"\n")))
    }),
    ("arguments of a usage that are used", |n| {
        let usage = count(n, |i| format!("arg \"<a{i}>\"\n"));
        format!("[tasks.t]\nusage = '''\n{usage}'''\nrun = 'ls {}'\n", count(n, |i| format!("$usage_a{i} ")))
    }),
    ("flags of a usage", |n| {
        format!("[tasks.t]\nusage = '''\n{}'''\nrun = 'ls'\n", count(n, |i| format!("flag \"--a{i} <b>\"\n")))
    }),
    ("choices of a usage", |n| {
        let choices = count(n, |i| format!("\"c{i}\" "));
        format!("[tasks.t]\nusage = '''\narg \"<a>\" {{\n  choices {choices}\n}}\n'''\nrun = 'ls'\n")
    }),
    ("aliases", |n| format!("[tasks.t]\nrun = 'ls'\nalias = [{}]\n", count(n, |i| format!("'a{i}', ")))),
    ("variables", |n| format!("[env]\n{}[tasks.t]\nrun = 'ls'\n", count(n, |i| format!("V{i} = 'a'\n")))),
    ("nested braces of a usage", |n| format!("[tasks.t]\nusage = '''\n{}'''\nrun = 'ls'\n", "a {\n".repeat(n))),
    ("tables", |n| count(n, |i| format!("[a.b{i}]\nc = 1\n"))),
    ("nested lists", |n| format!("a = {}{}\n", "[".repeat(n), "]".repeat(n))),
    ("parts of a key", |n| format!("a{} = 1\n", ".a".repeat(n))),
    ("a name", |n| format!("[tasks.{}]\nrun = 'ls'\n", "a".repeat(n))),
    ("names alike but for their case", |n| count(n, |i| format!("[tasks.{}]\nrun = 'ls'\n", cased(i)))),
    ("comments", |n| "# a\n".repeat(n) + "[tasks.t]\nrun = 'ls'\n"),
    ("words of a command", |n| format!("[tasks.t]\nrun = 'ls {}'\n", "a ".repeat(n))),
];

const MISE_FILE: &[(&str, Grown)] = &[
    ("lines", |n| format!("#!/usr/bin/env bash\n#MISE description=\"d\"\n{}", "ls\n".repeat(n))),
    ("keys", |n| format!("#!/usr/bin/env bash\n{}", count(n, |i| format!("#MISE k{i}=1\n")))),
    ("arguments", |n| {
        let usage = count(n, |i| format!("#USAGE arg \"<a{i}>\"\n"));
        format!("#!/usr/bin/env bash\n{usage}{}", count(n, |i| format!("ls \"$usage_a{i}\"\n")))
    }),
];

const PYPROJECT: &[(&str, Grown)] = &[
    ("tasks of poe", |n| format!("[tool.poe.tasks]\n{}", count(n, |i| format!("t{i} = 'ls'\n")))),
    ("tasks of pdm", |n| format!("[tool.pdm.scripts]\n{}", count(n, |i| format!("t{i} = 'ls'\n")))),
    ("tasks of taskipy", |n| format!("[tool.taskipy.tasks]\n{}", count(n, |i| format!("t{i} = 'ls'\n")))),
    ("tasks of taskipy around others", |n| {
        format!("[tool.taskipy.tasks]\n{}", count(n, |i| format!("pre_t{i} = 'ls'\n")))
    }),
    ("tasks of hatch", |n| format!("[tool.hatch.envs.a.scripts]\n{}", count(n, |i| format!("t{i} = 'ls'\n")))),
    ("environments of hatch", |n| count(n, |i| format!("[tool.hatch.envs.e{i}.scripts]\nt = 'ls'\n"))),
    ("programs", |n| format!("[project.scripts]\n{}", count(n, |i| format!("t{i} = 'a:b'\n")))),
    ("arguments", |n| {
        let arguments = count(n, |i| format!("'a{i}', "));
        format!("[tool.poe.tasks.t]\ncmd = 'ls {}'\nargs = [{arguments}]\n", count(n, |i| format!("$a{i} ")))
    }),
    ("arguments nobody uses", |n| {
        format!("[tool.poe.tasks.t]\ncmd = 'ls'\nargs = [{}]\n", count(n, |i| format!("'a{i}', ")))
    }),
    ("arguments of a shell", |n| {
        let arguments = count(n, |i| format!("'a{i}', "));
        format!("[tool.poe.tasks.t]\nshell = 'ls {}'\nargs = [{arguments}]\n", count(n, |i| format!("\"$a{i}\" ")))
    }),
    ("arguments of lines of a shell", |n| {
        let arguments = count(n, |i| format!("'a{i}', "));
        let lines = count(n, |i| format!("ls \"$a{i}\"\n"));
        format!("[tool.poe.tasks.t]\nshell = '''\n{lines}'''\nargs = [{arguments}]\n")
    }),
    ("arguments in a table", |n| {
        let arguments = count(n, |i| format!("a{i} = {{help = 'h'}}\n"));
        format!("[tool.poe.tasks.t]\ncmd = 'ls'\n[tool.poe.tasks.t.args]\n{arguments}")
    }),
    ("a sequence", |n| format!("[tool.poe.tasks]\nt = [{}]\n", "'ls', ".repeat(n))),
    ("words of a command", |n| format!("[tool.poe.tasks]\nt = 'ls {}'\n", "a ".repeat(n))),
    ("lines of a command", |n| format!("[tool.poe.tasks.t]\nshell = '''\n{}'''\nargs = ['a']\n", "ls $a\n".repeat(n))),
    ("choices", |n| {
        let choices = count(n, |i| format!("'c{i}', "));
        format!("[tool.poe.tasks.t]\ncmd = 'ls'\nargs = [{{name = 'a', choices = [{choices}]}}]\n")
    }),
    ("names alike but for their case", |n| {
        format!("[tool.poe.tasks]\n{}", count(n, |i| format!("{} = 'ls'\n", cased(i))))
    }),
    ("other tables", |n| count(n, |i| format!("[tool.x{i}]\na = 1\n"))),
    ("dotted keys", |n| count(n, |i| format!("tool.x{i}.y = 1\n"))),
];

const ARGC: &[(&str, Grown)] = &[
    ("commands", |n| count(n, |i| format!("# @cmd Does it\nc{i}() {{ :; }}\n"))),
    ("commands of one name", |n| "# @cmd Does it\nc() { :; }\n".repeat(n)),
    ("commands in commands", |n| count(n, |i| format!("# @cmd Does it\nc::c{i}() {{ :; }}\n"))),
    ("a deep command", |n| format!("# @cmd Does it\na{}() {{ :; }}\n", "::a".repeat(n))),
    ("arguments", |n| format!("# @cmd Does it\n{}c() {{ :; }}\n", count(n, |i| format!("# @arg a{i}\n")))),
    ("options", |n| format!("# @cmd Does it\n{}c() {{ :; }}\n", count(n, |i| format!("# @option --a{i} <B>\n")))),
    ("flags", |n| format!("# @cmd Does it\n{}c() {{ :; }}\n", count(n, |i| format!("# @flag -a --a{i}\n")))),
    ("options of all commands", |n| {
        let n = n / 2;
        let commands = count(n, |i| format!("# @cmd\nc{i}() {{ :; }}\n"));
        format!("# @meta inherit-flag-options\n{}\n{commands}", count(n, |i| format!("# @option --a{i}\n")))
    }),
    ("options of the script", |n| format!("{}\n# @cmd\nc() {{ :; }}\n", count(n, |i| format!("# @option --a{i}\n")))),
    ("choices", |n| format!("# @cmd\n# @arg a[{}]\nc() {{ :; }}\n", count(n, |i| format!("|c{i}")))),
    ("notations", |n| format!("# @cmd\n# @option --a {}\nc() {{ :; }}\n", "<A>".repeat(n))),
    ("aliases", |n| format!("# @cmd\n# @alias {}\nc() {{ :; }}\n", count(n, |i| format!("a{i},")))),
    ("a description", |n| format!("# @cmd\n{}c() {{ :; }}\n", "# word\n".repeat(n))),
    ("lines", |n| "echo a\n".repeat(n)),
    ("a name", |n| format!("# @cmd\n{}() {{ :; }}\n", "a".repeat(n))),
    ("names alike but for their case", |n| count(n, |i| format!("# @cmd\n{}() {{ :; }}\n", cased(i)))),
    ("arguments of one name", |n| format!("# @cmd\n{}c() {{ :; }}\n", "# @arg a\n".repeat(n))),
];

const NANOCODER_TOOL: &[(&str, Grown)] = &[
    ("parameters", |n| {
        let parameters = count(n, |i| format!("  p{i}: {{type: string}}\n"));
        let used = count(n, |i| format!("echo {{{{ p{i} }}}}\n"));
        format!("---\nname: a\ndescription: b\nparameters:\n{parameters}---\n{used}")
    }),
    ("lines", |n| format!("{NANOCODER}{}", "echo {{ a }}\n".repeat(n))),
    ("places in a line", |n| format!("{NANOCODER}echo {}\n", "{{ a }} ".repeat(n))),
    ("sections", |n| format!("{NANOCODER}{}", "{{# a }}echo b{{/ a }}\n".repeat(n))),
    ("nested sections", |n| format!("{NANOCODER}{}{}", "{{# a }}".repeat(n), "{{/ a }}".repeat(n))),
    ("sections that are not closed", |n| format!("{NANOCODER}{}", "{{# a }}".repeat(n))),
    ("unknown places", |n| format!("{NANOCODER}echo {}\n", count(n, |i| format!("{{{{ b{i} }}}} ")))),
    ("braces", |n| format!("{NANOCODER}echo {}\n", "{{".repeat(n))),
    ("quotes", |n| format!("{NANOCODER}echo {{{{ a }}}} {}\n", "'\"".repeat(n))),
];

const NANOCODER: &str = "---\nname: a\ndescription: b\nparameters:\n  a: {type: string}\n---\n";

const NANOCODER_COMMAND: &[(&str, Grown)] = &[
    ("parameters", |n| {
        let used = count(n, |i| format!("{{{{p{i}}}}}\n"));
        format!("---\ndescription: b\nparameters: [{}]\n---\n{used}", count(n, |i| format!("p{i}, ")))
    }),
    ("lines", |n| format!("---\ndescription: b\nparameters: [a]\n---\n{}", "word {{a}}\n".repeat(n))),
    ("aliases", |n| format!("---\ndescription: b\naliases: [{}]\n---\nword\n", count(n, |i| format!("a{i}, ")))),
    ("tags", |n| format!("---\ndescription: b\ntags: [{}]\n---\nword\n", count(n, |i| format!("a{i}, ")))),
    ("braces", |n| format!("---\ndescription: b\nparameters: [a]\n---\n{}", "{".repeat(n))),
];

const SKILL: &[(&str, Grown)] = &[
    ("lines", |n| format!("---\nname: a\ndescription: b\n---\n{}", "word\n".repeat(n))),
    ("a description", |n| format!("---\nname: a\ndescription: {}\n---\nword\n", "word ".repeat(n))),
    ("a name", |n| format!("---\nname: {}\ndescription: b\n---\nword\n", "a".repeat(n))),
    ("keys", |n| format!("---\nname: a\n{}---\nword\n", count(n, |i| format!("k{i}: a\n")))),
    ("lines of the front matter", |n| format!("---\nname: a\n{}---\nword\n", "\n".repeat(n))),
];

/// Files beside a skill, each in a line.
const SCRIPTS: &[(&str, Grown)] = &[
    ("scripts", |n| count(n, |i| format!("scripts/s{i}.py\n"))),
    ("scripts of one name", |n| count(n, |i| format!("scripts/{i}/s.py\n"))),
    ("files that nothing runs", |n| count(n, |i| format!("scripts/s{i}.txt\n"))),
    ("other files", |n| count(n, |i| format!("references/r{i}.md\n"))),
];

fn count(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

fn list(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(",\n")
}

/// A name of twelve letters in small and capital ones.
fn cased(number: usize) -> String {
    (0..16).map(|bit| if number >> bit & 1 == 0 { 'a' } else { 'A' }).collect()
}

fn package(scripts: &str) -> String {
    format!("{{\"scripts\": {{{scripts}}}}}")
}

fn tasks(tasks: usize, task: impl Fn(usize) -> String) -> String {
    format!("tasks:\n{}", count(tasks, |i| format!("  t{i}: {}\n", task(i))))
}

/// Reads a file of this name, as what its name says.
fn check(path: &str, dimensions: &[(&str, Grown)]) {
    let kind = TaskKind::of_path(path).expect("the name says what it is");
    growth::check(dimensions, |text| drop(import(kind, &TaskSource::new(path, text, TaskDirectory::Workspace("")))));
}

#[test]
fn a_justfile_is_read_in_the_time_that_its_length_allows() {
    check("justfile", JUST);
}

#[test]
fn a_makefile_is_read_in_the_time_that_its_length_allows() {
    check("Makefile", MAKE);
}

#[test]
fn a_package_is_read_in_the_time_that_its_length_allows() {
    check("package.json", PACKAGE);
}

#[test]
fn a_taskfile_is_read_in_the_time_that_its_length_allows() {
    check("Taskfile.yml", TASKFILE);
}

#[test]
fn tasks_of_mise_are_read_in_the_time_that_their_length_allows() {
    check("mise.toml", MISE);
    check("mise-tasks/t", MISE_FILE);
}

#[test]
fn a_python_project_is_read_in_the_time_that_its_length_allows() {
    check("pyproject.toml", PYPROJECT);
}

#[test]
fn commands_of_a_script_are_read_in_the_time_that_their_length_allows() {
    check("Argcfile.sh", ARGC);
}

#[test]
fn what_nanocoder_has_is_read_in_the_time_that_its_length_allows() {
    check(".nanocoder/tools/a.md", NANOCODER_TOOL);
    check(".nanocoder/commands/a.md", NANOCODER_COMMAND);
}

#[test]
fn a_skill_is_read_in_the_time_that_its_length_allows() {
    check("skills/a/SKILL.md", SKILL);
    growth::check(SCRIPTS, |files| {
        let beside: Vec<String> = files.lines().map(str::to_owned).collect();
        let text = "---\nname: a\ndescription: b\n---\nword\n";
        let source = TaskSource::new("skills/a/SKILL.md", text, TaskDirectory::Workspace("")).beside(&beside);
        drop(import(TaskKind::Skill, &source));
    });
}

#[test]
fn names_of_other_tools_take_no_longer_than_their_number_allows() {
    const TAKEN: &[(&str, Grown)] = &[
        ("names that others have", |n| count(n, |i| format!("t{i}\n"))),
        ("names that others have, but for the case", |n| count(n, |i| format!("T{i}\n"))),
    ];
    growth::check(TAKEN, |names| {
        let taken: Vec<String> = names.lines().map(str::to_owned).collect();
        let text: String = taken.iter().map(|name| format!("{}:\n    ls\n", name.to_lowercase())).collect();
        let source = TaskSource::new("justfile", &text, TaskDirectory::Workspace("")).taken(&taken);
        drop(import(TaskKind::Just, &source));
    });
}
