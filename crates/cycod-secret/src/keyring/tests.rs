//! The Keychain, by a stand-in for `security` that reads its input as Apple's source has it.
#![cfg(unix)]

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _};

use super::*;

/// Items are files. Each call and each command of its input is written down, a value with its length only.
const SECURITY: &str = r#"#!/usr/bin/perl
use strict; use warnings;
my $ring = $ENV{KEYRING};
open my $calls, '>>', "$ring/calls" or die; print $calls "@ARGV\n";
sub command {
    my ($verb, @words) = @_;
    my %option;
    while (@words) {
        my $word = shift @words;
        if ($word eq '-U') { next }
        if ($word eq '-w' && $verb eq 'find-generic-password') { next }
        $word =~ /^-([saw])$/ or do { print STDERR "usage: $word\n"; return 2 };
        $option{$1} = shift @words;
    }
    my $item = "$ring/" . unpack 'H*', "$option{s}\0$option{a}";
    if ($verb eq 'add-generic-password') { open my $out, '>', $item or die; print $out $option{w}; return 0 }
    -e $item or do { print STDERR "security: SecKeychainSearchCopyNext: The specified item could not be found\n"; return 44 };
    if ($verb eq 'delete-generic-password') { unlink $item; return 0 }
    open my $in, '<', $item or die; print <$in>, "\n"; return 0;
}
exit command(@ARGV) if $ARGV[0] ne '-i';
my $text = do { local $/; <STDIN> };
my $result = 0;
while ($text =~ s/^([^\n]{0,4095})//) {
    my $line = $1;
    $text =~ s/^\n// if length $line < 4095;
    last if $line eq '' && $text eq '';
    my @words;
    push @words, defined $1 ? $1 : $2 while $line =~ /\G\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))/g;
    s/\\(.)/$1/g for @words;
    print $calls "> $words[0] ", scalar @words, "\n";
    $result = $words[0] =~ /^add-/ ? command(@words) : 1;
    print STDERR "unknown command \"$words[0]\"\n" if $result == 1;
}
exit $result;
"#;

struct Machine {
    directory: tempfile::TempDir,
    keyring: Keyring,
}

impl Machine {
    fn new(home: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["bin", "ring", home] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("bin/security"), SECURITY).unwrap();
        fs::set_permissions(at("bin/security"), fs::Permissions::from_mode(0o755)).unwrap();
        let environment = BTreeMap::from([("PATH", at("bin")), ("KEYRING", at("ring"))]);
        let environment = environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let keyring = Keyring { system: System::Keychain, environment, home: at(home) };
        Self { directory, keyring }
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.directory.path().join("ring/calls")).unwrap_or_default()
    }
}

#[test]
fn a_value_goes_in_by_standard_input_and_out_by_standard_output() {
    for home in ["home", "a \"quoted\" home\\", "ein Häuschen 'hier'"] {
        let machine = Machine::new(home);
        assert_eq!(machine.keyring.get("TOKEN").unwrap(), None);
        for value in ["correct horse", "two\nlines \"quoted\" \\ ü", "battery staple"] {
            machine.keyring.set("TOKEN", value).unwrap();
            assert_eq!(machine.keyring.get("TOKEN").unwrap().as_deref().map(String::as_str), Some(value));
        }
        assert_eq!(machine.keyring.get("OTHER").unwrap(), None);
        machine.keyring.remove("TOKEN").unwrap();
        assert_eq!(machine.keyring.get("TOKEN").unwrap(), None);
        let calls = machine.calls();
        assert_eq!(calls.matches("> add-generic-password 8\n").count(), 3, "{calls}");
        let starts = ["-i", "find-generic-password", "delete-generic-password", "> add-generic-password"];
        assert!(calls.lines().all(|line| starts.iter().any(|start| line.starts_with(start))), "{calls}");
        assert!(!calls.contains(&BASE64_STANDARD.encode("battery staple")), "{calls}");
    }
}

/// What does not fit into one line would be read as a command, and be quoted in an error.
#[test]
fn a_value_that_is_too_long_is_never_given() {
    let machine = Machine::new("home");
    let error = machine.keyring.set("TOKEN", &"x".repeat(4000)).unwrap_err().to_string();
    let most: usize = error.split(' ').find_map(|word| word.parse().ok()).expect("the error says how long it may be");
    assert!(error.ends_with(&format!("`security` takes values of at most {most} bytes")), "{error}");
    assert_eq!(machine.calls(), "");
    machine.keyring.set("TOKEN", &"x".repeat(most)).unwrap();
    assert!(machine.keyring.set("TOKEN", &"x".repeat(most + 1)).is_err());
    assert_eq!(machine.keyring.get("TOKEN").unwrap().map(|value| value.len()), Some(most));
}

#[test]
fn a_directory_that_would_end_the_line_is_refused() {
    let machine = Machine::new("home\nadd-generic-password");
    let error = machine.keyring.set("TOKEN", "correct horse").unwrap_err().to_string();
    assert!(error.contains("can't be given the directory"), "{error}");
    assert_eq!(machine.calls(), "");
}
