//! Built-in rules for Python.

use big_code_analysis::tree_sitter::Node;

use super::{Subject, is_composed_sql, names::Names, request::Flows, table};
use crate::syntax::{Invocation, constant, is_constant, name, text};

/// What starts a command line in a shell.
const SHELLS: [&str; 8] = [
    "os.system",
    "os.popen",
    "os.popen2",
    "os.popen3",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "commands.getoutput",
    "asyncio.create_subprocess_shell",
];

/// What starts a program, and a shell with `shell=True`.
const STARTERS: [&str; 5] =
    ["subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen"];

/// Readers of data that can name what is to be run.
const READERS: [&str; 17] = [
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "cPickle.load",
    "cPickle.loads",
    "_pickle.loads",
    "dill.load",
    "dill.loads",
    "cloudpickle.load",
    "cloudpickle.loads",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "joblib.load",
    "jsonpickle.decode",
    "pandas.read_pickle",
    "yaml.unsafe_load",
];

/// Readers of YAML that make nothing but data.
const SAFE_LOADERS: [&str; 4] = ["SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader"];

/// Modules whose functions take `verify`.
const CLIENTS: [&str; 3] = ["requests.", "httpx.", "aiohttp."];

/// Functions that send requests; those of clients begin with the name of their module.
const FETCHERS: [&str; 3] = ["urllib.request.urlopen", "urllib.request.Request", "urllib.request.urlretrieve"];

/// What no call is: a name, or a query of a document database in which a value becomes code.
fn uncalled(node: Node<'_>, names: &Names, flows: &Flows, subject: &mut Subject<'_>) {
    let source = subject.source;
    if node.kind() == "attribute" && names.resolve(&name(node, source)) == "ssl._create_unverified_context" {
        return subject.add(&table::TLS_VERIFICATION_OFF, node, "a context of TLS that verifies nothing");
    }
    let named = |field: &str| {
        let key = node.child_by_field_name(field)?;
        // In `query["$where"] = …` it stands between the brackets.
        constant(key.child_by_field_name("subscript").unwrap_or(key), source)
    };
    let code = match node.kind() {
        "pair" if named("key") == Some("$where") => node.child_by_field_name("value"),
        "assignment" if named("left") == Some("$where") => node.child_by_field_name("right"),
        _ => None,
    };
    if code.is_some_and(|code| !flows.is_tame(code, source)) {
        subject.add(&table::NOSQL_INJECTION, node, "`$where` runs text as code in the database");
    }
}

pub(super) fn check(
    node: Node<'_>,
    call: Option<&Invocation<'_>>,
    names: &Names,
    flows: &Flows,
    subject: &mut Subject<'_>,
) {
    let source = subject.source;
    uncalled(node, names, flows, subject);
    let Some(call) = call else { return };
    let called = call.name.as_str();
    let is = |wanted: &str, value: &str| call.named(wanted, source).is_some_and(|given| text(given, source) == value);
    let first = call.argument(0);
    let is_given = first.is_some_and(|first| !is_constant(first));
    match called {
        "eval" | "exec" | "builtins.eval" | "builtins.exec" if is_given => {
            subject.add(&table::DANGEROUS_EVAL, node, format!("`{called}` runs text as code"));
        }
        _ if SHELLS.contains(&called) || STARTERS.contains(&called) && is("shell", "True") => {
            if is_given || first.is_none() && !call.arguments.is_empty() {
                subject.add(
                    &table::SHELL_COMMAND,
                    node,
                    format!("`{called}` gives a shell a command line that is put together"),
                );
            } else if first.is_some() {
                subject.add(&table::SHELL_USED, node, format!("`{called}` goes through a shell"));
            }
        }
        _ if READERS.contains(&called) => {
            subject.add(&table::UNSAFE_DESERIALIZATION, node, format!("`{called}` runs what the data names"));
        }
        "torch.load" if !is("weights_only", "True") => {
            subject.add(
                &table::UNSAFE_DESERIALIZATION,
                node,
                "`torch.load` without `weights_only=True` runs what the data names",
            );
        }
        "yaml.load" | "yaml.load_all" if names.import("yaml") => {
            let loader = call.named("Loader", source).or_else(|| call.argument(1)).map(|loader| name(loader, source));
            let is_safe =
                loader.is_some_and(|loader| SAFE_LOADERS.iter().any(|safe| loader.rsplit('.').next() == Some(*safe)));
            if !is_safe {
                subject.add(
                    &table::UNSAFE_DESERIALIZATION,
                    node,
                    format!("`{called}` without a safe loader makes any object"),
                );
            }
        }
        "hashlib.md5" | "hashlib.sha1" if !is("usedforsecurity", "False") => {
            subject.add(&table::WEAK_HASH, node, format!("`{called}` can be forged"));
        }
        "tempfile.mktemp" | "os.tempnam" | "os.tmpnam" => {
            subject.add(&table::INSECURE_TEMPORARY_FILE, node, format!("`{called}` only makes up a name"));
        }
        "jwt.decode" if is("verify", "False") || turns_off_signature(call, source) => {
            subject.add(&table::TOKEN_NOT_VERIFIED, node, "`jwt.decode` does not look at the signature");
        }
        _ if is("verify", "False") && CLIENTS.iter().any(|client| called.starts_with(client)) => {
            subject.add(&table::TLS_VERIFICATION_OFF, node, format!("`{called}` believes any certificate"));
        }
        _ if matches!(call.last(), "redirect" | "HttpResponseRedirect" | "RedirectResponse")
            && first.is_some_and(|to| flows.chooses_server(to, source)) =>
        {
            subject.add(
                &table::OPEN_REDIRECT,
                node,
                format!("`{called}` redirects to an address that the request chooses"),
            );
        }
        _ if (FETCHERS.contains(&called) || CLIENTS.iter().any(|client| called.starts_with(client)))
            && [call.argument(0), call.argument(1), call.named("url", source)]
                .into_iter()
                .flatten()
                .any(|address| flows.chooses_server(address, source)) =>
        {
            subject.add(
                &table::REQUEST_FORGERY,
                node,
                format!("`{called}` sends a request to a server that the request chooses"),
            );
        }
        _ if call.last() == "run" && is("debug", "True") && !called.starts_with("subprocess.") => {
            subject.add(&table::DEBUG_MODE, node, format!("`{called}` serves a debugger"));
        }
        _ if call.last() == "set_missing_host_key_policy"
            && first.is_some_and(|policy| name(policy, source).contains("AutoAddPolicy")) =>
        {
            subject.add(&table::SSH_HOST_KEY_IGNORED, node, "any host is accepted as the right one");
        }
        _ if matches!(call.last(), "execute" | "executemany" | "executescript")
            && first.is_some_and(|sql| is_composed_sql(sql, source)) =>
        {
            subject.add(&table::SQL_INJECTION, node, "values are put into a command of SQL");
        }
        _ => {}
    }
}

fn turns_off_signature(call: &Invocation<'_>, source: &str) -> bool {
    call.named("options", source).is_some_and(|options| {
        let options = name(options, source);
        options.contains("verify_signature\":False") || options.contains("verify_signature':False")
    })
}
