//! Names that a project cannot have, since a language, a package manager or a system has given them a meaning.

/// Why a name, in kebab case, cannot be taken.
pub(super) fn reserved(kebab: &str) -> Option<&'static str> {
    let lists = [
        (RUST, "a word of Rust or of Cargo"),
        (PYTHON, "a word of Python or a module of its library"),
        (NODE, "a module of Node.js"),
        (WINDOWS, "a device on Windows"),
        (PARTS, "a directory or a file that projects have inside"),
    ];
    lists.into_iter().find(|(words, _)| words.split_whitespace().any(|word| word == kebab)).map(|(_, why)| why)
}

/// Keywords of Rust, and names that Cargo refuses or uses.
const RUST: &str = "\
    abstract alloc as async await become box break build const continue core crate deps do dyn else enum \
    examples extern false final fn for gen if impl in incremental let loop macro match mod move mut \
    override priv proc-macro pub ref return self static std struct super test trait true try type typeof \
    union unsafe unsized use virtual where while yield";

/// Keywords of Python, modules that a package of the same name would hide, and those that install packages.
const PYTHON: &str = "\
    abc aifc and antigravity argparse array as assert ast async asynchat asyncio asyncore atexit audioop \
    await base64 bdb binascii bisect break builtins bz2 calendar case cgi cgitb chunk class cmath cmd \
    code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars \
    continue copy copyreg cprofile crypt csv ctypes curses dataclasses datetime dbm decimal def del \
    difflib dis distutils doctest elif else email encodings ensurepip enum errno except false \
    faulthandler fcntl filecmp fileinput finally fnmatch for fractions from ftplib functools gc \
    genericpath getopt getpass gettext glob global graphlib grp gzip hashlib heapq hmac html http \
    idlelib if imaplib imghdr imp import importlib in inspect io ipaddress is itertools json keyword \
    lambda lib2to3 linecache locale logging lzma mailbox mailcap marshal match math mimetypes mmap \
    modulefinder msilib msvcrt multiprocessing netrc nis nntplib none nonlocal not nt ntpath nturl2path \
    numbers opcode operator optparse or os ossaudiodev pass pathlib pdb pickle pickletools pip pipes \
    pkg-resources pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd \
    py-compile pyclbr pydoc pydoc-data pyexpat queue quopri raise random re readline reprlib resource \
    return rlcompleter runpy sched secrets select selectors setuptools shelve shlex shutil signal site \
    smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre-compile sre-constants sre-parse ssl stat \
    statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile \
    telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace \
    traceback tracemalloc true try tty turtle turtledemo types typing unicodedata unittest urllib uu \
    uuid venv warnings wave weakref webbrowser wheel while winreg winsound with wsgiref xdrlib xml \
    xmlrpc yield zipapp zipfile zipimport zlib zoneinfo";

/// Modules of Node.js, and what npm refuses.
const NODE: &str = "\
    assert buffer child-process cluster console constants crypto dgram diagnostics-channel dns domain \
    events fs http http2 https inspector module net node-modules os path perf-hooks process punycode \
    querystring readline repl stream string-decoder sys timers tls trace-events tty url util v8 vm wasi \
    worker-threads zlib";

/// Devices.
const WINDOWS: &str = "\
    aux com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 \
    nul prn";

/// What is in a project beside its own package.
const PARTS: &str = "\
    data docs lib main package public setup src tests tools";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken() {
        for name in ["fn", "test", "class", "json", "con", "http", "src", "worker-threads", "proc-macro"] {
            assert!(reserved(name).is_some(), "{name}");
        }
        for name in ["my-analysis-project", "function", "tester", "jsons"] {
            assert_eq!(reserved(name), None, "{name}");
        }
    }
}
