use crate::{FindingKind, FindingSeverity};

/// A rule of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisRule {
    /// What it is called.
    pub id: &'static str,
    /// How bad it is to break it.
    pub severity: FindingSeverity,
    /// What it is about.
    pub kind: FindingKind,
    /// The weakness by its number in the Common Weakness Enumeration.
    pub cwe: Option<u32>,
    /// What it looks for.
    pub looks_for: &'static str,
    /// What to do.
    pub help: &'static str,
}

macro_rules! rules {
    ($($name:ident = $id:literal, $severity:ident, $kind:ident, $cwe:expr, $looks_for:literal, $help:literal;)*) => {
        $(pub(super) static $name: AnalysisRule = AnalysisRule {
            id: $id, severity: FindingSeverity::$severity, kind: FindingKind::$kind, cwe: $cwe, looks_for: $looks_for, help: $help,
        };)*

        /// Every rule of ours.
        pub static RULES: &[&AnalysisRule] = &[$(&$name),*];
    };
}

rules! {
    COMPLEX_FUNCTION = "complex-function", Warning, Quality, None,
        "functions that are hard to follow", "split it: give its parts names of their own";
    MANY_ARGUMENTS = "many-arguments", Info, Quality, None,
        "functions that take many arguments", "put arguments that belong together into one value";
    DANGEROUS_EVAL = "dangerous-eval", Error, Security, Some(95),
        "text that is run as code", "read the data with a parser, or look the operation up in a table";
    SHELL_COMMAND = "shell-command", Error, Security, Some(78),
        "command lines for a shell that are put together", "pass the program and its arguments as a list, without a shell";
    SHELL_USED = "shell-used", Info, Security, Some(78),
        "fixed command lines that go through a shell", "start the program without a shell";
    UNSAFE_DESERIALIZATION = "unsafe-deserialization", Warning, Security, Some(502),
        "readers that let data decide what is run", "use a format of plain data such as JSON, or the safe reader";
    TLS_VERIFICATION_OFF = "tls-verification-off", Error, Security, Some(295),
        "connections that believe any certificate", "leave verification on, and trust the certificate that is needed";
    WEAK_HASH = "weak-hash", Info, Security, Some(327),
        "digests that can be forged", "use SHA-256, or for passwords a function made for them";
    WEAK_CIPHER = "weak-cipher", Warning, Security, Some(327),
        "ciphers that can be broken", "use AES-GCM or ChaCha20-Poly1305";
    INSECURE_TEMPORARY_FILE = "insecure-temporary-file", Warning, Security, Some(377),
        "names of temporary files that others can take first", "let the system make and open the file in one step";
    DEBUG_MODE = "debug-mode", Warning, Security, Some(489),
        "servers that let visitors debug them", "take the setting from the environment, and off by default";
    SSH_HOST_KEY_IGNORED = "ssh-host-key-ignored", Warning, Security, Some(295),
        "SSH to hosts with unknown keys", "load known hosts and refuse others";
    TOKEN_NOT_VERIFIED = "token-not-verified", Error, Security, Some(347),
        "signed tokens whose signature is not checked", "verify the signature, with the algorithm that you expect";
    HTML_INJECTION = "html-injection", Warning, Security, Some(79),
        "markup that is put together", "set text instead of markup, or clean it first";
    SQL_INJECTION = "sql-injection", Error, Security, Some(89),
        "commands of SQL that are put together", "use placeholders and pass the values separately from the command";
    NOSQL_INJECTION = "nosql-injection", Error, Security, Some(943),
        "queries of a document store that are put together as code", "compare fields with values, without `$where`";
    OPEN_REDIRECT = "open-redirect", Error, Security, Some(601),
        "redirects to an address that a request chooses", "redirect to a path of your own, or look the address up in a list";
    REQUEST_FORGERY = "request-forgery", Error, Security, Some(918),
        "requests to a server that another request chooses", "name the server yourself, or look it up in a list, and check the address";
    BUFFER_OVERFLOW = "buffer-overflow", Warning, Security, Some(120),
        "functions that write without knowing how much fits", "use the function that takes the size of the buffer";
    FORMAT_STRING = "format-string", Warning, Security, Some(134),
        "format strings that are not written out", "write `printf(\"%s\", text)`";
    UNDOCUMENTED_UNSAFE = "undocumented-unsafe", Info, Security, Some(119),
        "blocks of `unsafe` that do not say why they are sound", "say it in a comment that begins with `SAFETY:`";
    PIPE_TO_SHELL = "pipe-to-shell", Warning, Security, Some(494),
        "what is fetched and run in one go", "fetch it to a file, check its digest, and run that";
    WORLD_WRITABLE = "world-writable", Warning, Security, Some(732),
        "files that everybody may write", "give rights to those who need them";
    SECRET_KEY = "secret-key", Error, Security, Some(798),
        "keys and tokens of services", "revoke it, take it out of the history, and read it from the environment or a store of secrets";
    SECRET_PRIVATE_KEY = "secret-private-key", Error, Security, Some(321),
        "private keys", "revoke it, take it out of the history, and keep keys out of the repository";
    SECRET_PASSWORD_IN_URL = "secret-password-in-url", Error, Security, Some(798),
        "addresses with passwords", "change the password, and read it from the environment or a store of secrets";
    SECRET_TOKEN = "secret-token", Warning, Security, Some(798),
        "signed tokens (JWT)", "revoke it, and read it from the environment or a store of secrets";
    SECRET_VALUE = "secret-value", Warning, Security, Some(798),
        "values that look random and are called a secret", "revoke it if it is real, and read it from the environment or a store of secrets";
}
