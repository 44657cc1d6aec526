//! Secrets in what real programs write of them: whatever the program and the secret, it is masked, in one piece and cut anywhere.

#![expect(clippy::disallowed_methods, reason = "the programs whose spellings are tested are other programs")]

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use cycod_mask::Masks;
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// A character of a secret: a variable of the environment may hold any but NUL.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => proptest::char::range('a', 'z'),
        4 => proptest::char::range(' ', '~'),
        2 => prop::sample::select(r#""'\%+&=$`/<>!;-_*()[]{}~#@:?.,|^ "#.chars().collect::<Vec<_>>()),
        1 => proptest::char::range('\u{1}', '\u{1f}'),
        1 => proptest::char::range('\u{7f}', '\u{ff}'),
        1 => any::<char>().prop_filter("a variable holds no NUL", |point| *point != '\0'),
    ]
}

fn secrets(count: usize) -> Vec<String> {
    let of_characters =
        prop::collection::vec(character(), 14..48).prop_map(|characters| characters.into_iter().collect());
    let of_escapes = prop::collection::vec(
        prop::sample::select(vec!["%41", r"\n", r"\u00e4", "&amp;", "''", "\\", "%", "&#6", "ab", "\"", "4", "+ "]),
        4..12,
    )
    .prop_map(|parts| parts.concat());
    let secret = prop_oneof![4 => of_characters, 1 => of_escapes].prop_map(|secret: String| {
        // What stands at its ends is masked with it or not; a letter makes clear where it ends.
        format!("k{}z", secret.trim())
    });
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, b"secrets in other programs' words");
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| secret.new_tree(&mut runner).expect("there is one").current()).collect()
}

/// What a program writes when it is given all secrets as a JSON array; nothing where it is not installed.
fn output(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(arguments).env("PYTHONIOENCODING", "utf-8").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::inherit()).spawn().ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it writes");
    writer.join().expect("it does not panic").expect("it reads");
    assert!(output.status.success(), "{program} {arguments:?}: {}", output.status);
    Some(output.stdout)
}

/// How many characters may be left around a secret: quotes, the ends of lines, digits that are its neighbours' too.
const FRAME: usize = 24;

/// At how many places a long text is cut.
const CUTS: usize = 12;

#[track_caller]
fn check(how: &str, secret: &str, written: &[u8]) {
    let masks = Masks::new([secret]);
    let shown = String::from_utf8_lossy(&masks.apply_bytes(written)).into_owned();
    let around: String = shown.replacen("****", "", 1);
    let about = || format!("{how} of {secret:?}: {:?} is shown as {shown:?}", String::from_utf8_lossy(written));
    assert!(shown.contains("****") && around.chars().count() <= FRAME, "{}", about());
    let mut stream = masks.stream();
    let mut bytewise = Vec::new();
    for (cut, byte) in written.iter().enumerate() {
        // Every place of a short text, and of a long one about as many.
        if cut % (written.len() / CUTS + 1) == 0 {
            let mut rest = stream.clone();
            let tail = rest.push(&written[cut..]).into_owned();
            let pieces = [&*bytewise, &tail, &rest.finish()].concat();
            assert_eq!(String::from_utf8_lossy(&pieces), shown, "cut at {cut}: {}", about());
        }
        bytewise.extend_from_slice(&stream.push(&[*byte]));
    }
    bytewise.extend(stream.finish());
    assert_eq!(String::from_utf8_lossy(&bytewise), shown, "a byte at a time: {}", about());
}

/// A program that writes a JSON object: for each kind of spelling those of all secrets.
fn check_program(program: &str, arguments: &[&str]) {
    let secrets = secrets(60);
    let input = serde_json::to_vec(&secrets).expect("texts are JSON");
    let Some(output) = output(program, arguments, &input) else { return };
    let written: BTreeMap<String, Vec<String>> = serde_json::from_slice(&output).expect("it writes JSON");
    assert!(!written.is_empty());
    for (how, written) in written {
        assert_eq!(written.len(), secrets.len(), "{program}: {how}");
        secrets.iter().zip(written).for_each(|(secret, written)| check(&how, secret, written.as_bytes()));
    }
}

#[test]
fn of_python() {
    check_program("python3", &["-c", PYTHON]);
}

const PYTHON: &str = r#"
import base64, binascii, html, json, quopri, shlex, sys, textwrap, urllib.parse, xml.sax.saxutils
secrets = json.load(sys.stdin)
b = lambda s: s.encode()
t = lambda x: x.decode()
ways = {
    'json': lambda s: json.dumps(s),
    'json utf-8': lambda s: json.dumps(s, ensure_ascii=False),
    'json key': lambda s: json.dumps({s: 1}),
    'json twice': lambda s: json.dumps(json.dumps(s)),
    'json upper': lambda s: ''.join('\\u%04X' % u for u in memoryview(s.encode('utf-16-le')).cast('H')),
    'quote': urllib.parse.quote,
    'quote all': lambda s: urllib.parse.quote(s, safe=''),
    'quote_plus': urllib.parse.quote_plus,
    'quote lower': lambda s: ''.join('%%%02x' % c for c in b(s)),
    'quote twice': lambda s: urllib.parse.quote(urllib.parse.quote(s, safe=''), safe=''),
    'json in an address': lambda s: urllib.parse.quote(json.dumps(s)),
    'repr': repr,
    'ascii': ascii,
    'repr of bytes': lambda s: repr(b(s)),
    'repr of a list': lambda s: repr([s]),
    'shlex': shlex.quote,
    'html': html.escape,
    'html all': lambda s: ''.join('&#%d;' % ord(c) for c in s),
    'html hex': lambda s: ''.join('&#x%04x;' % ord(c) for c in s),
    'xml': xml.sax.saxutils.quoteattr,
    'ascii xml': lambda s: t(html.escape(s).encode('ascii', 'xmlcharrefreplace')),
    'base64': lambda s: t(base64.b64encode(b(s))),
    'base64 url': lambda s: t(base64.urlsafe_b64encode(b(s))).rstrip('='),
    'base64 lines': lambda s: t(base64.encodebytes(b(s))),
    'base64 of JSON': lambda s: t(base64.b64encode(b(json.dumps(s, ensure_ascii=False)))),
    'base64 in JSON': lambda s: json.dumps(t(base64.encodebytes(b(s)))),
    'base64 in an address': lambda s: urllib.parse.quote(t(base64.b64encode(b(s))), safe=''),
    'hex': lambda s: b(s).hex(),
    'hex upper': lambda s: b(s).hex().upper(),
    'hex colons': lambda s: b(s).hex(':'),
    'hex blanks': lambda s: b(s).hex(' ', 2),
    'quoted-printable': lambda s: t(quopri.encodestring(b(s))),
}
for n in range(4):
    ways['base64 behind %d' % n] = lambda s, n=n: t(base64.b64encode(b'ab:'[:n] + b(s) + b':'[:n]))
out = {name: [way(s) for s in secrets] for name, way in ways.items()}
wide = lambda s, n, w: '\n'.join(textwrap.wrap(t(base64.b64encode(b'x' * n + b(s))), w))
for width in (64, 76):
    # Where a line begins with the end of a text, what is before is taken off.
    out['base64 of %d' % width] = [wide(s, width // 4 * 3 - 9, width)[width - 12:] for s in secrets]
print(json.dumps(out))
"#;

#[test]
fn of_node() {
    let program = r"
const secrets = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const ways = {
  json: s => JSON.stringify(s),
  'json twice': s => JSON.stringify(JSON.stringify(s)),
  html: s => JSON.stringify(s).replace(/[<>&\u2028\u2029]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')),
  slashes: s => JSON.stringify(s).replace(/\//g, '\\/'),
  component: encodeURIComponent,
  uri: encodeURI,
  escape: escape,
  querystring: s => require('querystring').escape(s),
  form: s => new URLSearchParams({ a: s }).toString(),
  url: s => new URL('h:/?' + encodeURIComponent(s)).search,
  inspect: s => require('util').inspect(s, { breakLength: Infinity }),
  base64: s => Buffer.from(s).toString('base64'),
  base64url: s => Buffer.from(s).toString('base64url'),
  hex: s => Buffer.from(s).toString('hex'),
  braces: s => [...s].map(c => '\\u{' + c.codePointAt(0).toString(16) + '}').join(''),
};
const out = {};
for (const [name, way] of Object.entries(ways)) out[name] = secrets.map(way);
console.log(JSON.stringify(out));
";
    check_program("node", &["-e", program]);
}

#[test]
fn of_php() {
    let program = r"
$secrets = json_decode(stream_get_contents(STDIN));
$ways = [
  'json' => 'json_encode', 'urlencode' => 'urlencode', 'rawurlencode' => 'rawurlencode', 'addslashes' => 'addslashes',
  'html' => fn($s) => htmlspecialchars($s, ENT_QUOTES), 'entities' => fn($s) => htmlentities($s, ENT_QUOTES | ENT_HTML5),
  'old' => fn($s) => htmlentities($s), 'shell' => 'escapeshellarg', 'base64' => 'base64_encode',
  'chunks' => fn($s) => chunk_split(base64_encode($s)), 'hex' => 'bin2hex', 'quoted' => 'quoted_printable_encode',
  'hard' => fn($s) => json_encode($s, JSON_HEX_TAG | JSON_HEX_AMP | JSON_HEX_APOS | JSON_HEX_QUOT),
];
$out = [];
foreach ($ways as $name => $way) $out[$name] = array_map($way, $secrets);
echo json_encode($out, JSON_THROW_ON_ERROR);
";
    check_program("php", &["-r", program]);
}

#[test]
fn of_ruby() {
    let program = r"
require 'json'; require 'cgi'; require 'shellwords'; require 'base64'; require 'erb'
secrets = JSON.parse(STDIN.read.force_encoding('UTF-8'))
ways = {
  'inspect' => :inspect.to_proc, 'dump' => :dump.to_proc, 'json' => :to_json.to_proc,
  'ascii' => ->(s) { JSON.generate(s, ascii_only: true) }, 'script' => ->(s) { JSON.generate(s, script_safe: true) },
  'cgi' => CGI.method(:escape), 'html' => CGI.method(:escapeHTML), 'url' => ERB::Util.method(:url_encode),
  'shell' => Shellwords.method(:escape), 'base64' => Base64.method(:encode64), 'hex' => ->(s) { s.unpack1('H*') },
}
puts JSON.generate(ways.transform_values { |way| secrets.map { |s| way.call(s) } })
";
    check_program("ruby", &["-e", program]);
}

#[test]
fn of_jq() {
    let secrets = secrets(60);
    let input = serde_json::to_vec(&secrets).expect("texts are JSON");
    for (options, filter) in [
        ("-c", ".[]"),
        ("-ac", ".[]"),
        ("-c", ".[]|tojson"),
        ("-ac", ".[]|tojson"),
        ("-c", ".[]|{(.): 1}"),
        ("-r", ".[]|@uri"),
        ("-r", ".[]|@base64"),
        ("-c", ".[]|@html"),
        ("-c", ".[]|@sh"),
        ("-c", ".[]|[.]|@csv"),
        ("-c", ".[]|[.]|@tsv"),
    ] {
        let Some(output) = output("jq", &[options, filter], &input) else { return };
        let written: Vec<_> = output.strip_suffix(b"\n").unwrap_or(&output).split(|byte| *byte == b'\n').collect();
        assert_eq!(written.len(), secrets.len(), "{filter}");
        secrets.iter().zip(written).for_each(|(secret, written)| check(filter, secret, written));
    }
}

#[test]
#[cfg(unix)]
fn of_shells() {
    let secrets = secrets(60);
    let input: Vec<u8> = secrets.iter().flat_map(|secret| [secret.as_bytes(), b"\0"].concat()).collect();
    for locale in ["C", "C.UTF-8"] {
        for way in [
            r#"printf %q "$s""#,
            r#"printf %s "${s@Q}""#,
            r#"x=$s; declare -p x"#,
            r#"printf %s "${s@A}""#,
            r#"a=("$s"); declare -p a"#,
            r#"printf %s "$s" | base64"#,
            r#"printf %s "$s" | base64 -w 64"#,
            r#"printf %s "$s" | base64 -w 0"#,
            r#"printf '%s' "$s" | xxd -p"#,
            r#"printf %s "$s" | xxd -u -p"#,
            r#"printf %s "$s" | xxd -i"#,
            r#"printf %s "$s" | od -An -v -tx1"#,
            r#"printf %s "$s" | openssl base64"#,
            r#"printf %s "$s" | openssl enc -base64 -A"#,
            r#"printf 'u:%s' "$s" | openssl base64"#,
        ] {
            let script = format!("export LC_ALL={locale}; while IFS= read -rd '' s; do {way}; printf '\\0'; done");
            let output = output("bash", &["-c", &script], &input).expect("`bash` is installed");
            let written: Vec<_> = output.strip_suffix(b"\0").unwrap_or(&output).split(|byte| *byte == 0).collect();
            assert_eq!(written.len(), secrets.len(), "{way}");
            secrets.iter().zip(written).for_each(|(secret, written)| check(way, secret, written));
        }
    }
}
