use super::{Subject, is_composed_sql, table};
use crate::syntax::{Invocation, constant, is_constant};

pub(super) fn check(call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    let Some(call) = call else { return };
    let source = subject.source;
    let first = call.argument(0);
    let is_given = first.is_some_and(|first| !is_constant(first));
    let is_made = call.node.kind() == "object_creation_expression";
    let algorithm = first.and_then(|first| constant(first, source)).unwrap_or_default().to_ascii_uppercase();
    match call.last() {
        "exec" if is_given && call.name.contains("getRuntime()") => {
            subject.add(&table::SHELL_COMMAND, call.node, "`Runtime.exec` splits a command line that is put together");
        }
        "ObjectInputStream" | "XMLDecoder" if is_made => {
            subject.add(&table::UNSAFE_DESERIALIZATION, call.node, format!("`{}` makes any object", call.last()));
        }
        "getInstance"
            if call.name.ends_with("MessageDigest.getInstance") && matches!(&*algorithm, "MD5" | "SHA1" | "SHA-1") =>
        {
            subject.add(&table::WEAK_HASH, call.node, format!("`{algorithm}` can be forged"));
        }
        "getInstance"
            if call.name.ends_with("Cipher.getInstance")
                && (algorithm.starts_with("DES") || algorithm.starts_with("RC4") || algorithm.contains("/ECB")) =>
        {
            subject.add(&table::WEAK_CIPHER, call.node, format!("`{algorithm}` can be broken"));
        }
        "executeQuery" | "executeUpdate" | "execute" | "prepareStatement" | "createNativeQuery"
            if first.is_some_and(|sql| is_composed_sql(sql, source)) =>
        {
            subject.add(&table::SQL_INJECTION, call.node, "values are put into a command of SQL");
        }
        "NoopHostnameVerifier" | "AllowAllHostnameVerifier" if is_made => {
            subject.add(&table::TLS_VERIFICATION_OFF, call.node, "the name in a certificate is not checked");
        }
        _ => {}
    }
}
