//! The platforms of a release: how compilers and package managers name them, and how to recognise a program for one of them.

use std::{fs, path::Path};

/// A platform that cycod has packages for.
pub(super) struct Target {
    pub(super) triple: &'static str,
    pub(super) system: System,
    pub(super) processor: Processor,
    /// The platforms of a wheel, by the names of Python, with dots between them.
    pub(super) wheel: &'static str,
    /// What links for it on a machine with another processor.
    pub(super) linker: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    MacOs,
    Windows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    X86,
    Arm,
}

/// All platforms. Cargo builds the programs for Linux; the others come from elsewhere (`--program`).
pub(super) const TARGETS: [Target; 5] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        system: System::Linux,
        processor: Processor::X86,
        wheel: "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
        linker: None,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        system: System::Linux,
        processor: Processor::Arm,
        wheel: "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
        linker: Some("aarch64-linux-gnu-gcc"),
    },
    Target {
        triple: "aarch64-apple-darwin",
        system: System::MacOs,
        processor: Processor::Arm,
        wheel: "macosx_11_0_arm64",
        linker: None,
    },
    Target {
        triple: "x86_64-apple-darwin",
        system: System::MacOs,
        processor: Processor::X86,
        wheel: "macosx_10_12_x86_64",
        linker: None,
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        system: System::Windows,
        processor: Processor::X86,
        wheel: "win_amd64",
        linker: None,
    },
];

impl Target {
    /// The name of the program's file.
    pub(super) fn program(&self) -> &'static str {
        if self.system == System::Windows { "cycod.exe" } else { "cycod" }
    }

    /// As npm names it, which is how Node.js does: `linux-x64`.
    pub(super) fn npm(&self) -> (&'static str, &'static str) {
        let system = match self.system {
            System::Linux => "linux",
            System::MacOs => "darwin",
            System::Windows => "win32",
        };
        (system, if self.processor == Processor::X86 { "x64" } else { "arm64" })
    }

    /// The npm package with its program.
    pub(super) fn npm_package(&self) -> String {
        let (system, processor) = self.npm();
        format!("cycod-{system}-{processor}")
    }

    /// The processor, as Debian and OCI name it.
    pub(super) fn architecture(&self) -> &'static str {
        if self.processor == Processor::X86 { "amd64" } else { "arm64" }
    }

    /// The blocks of a formula of Homebrew that are for it, the outer one first; none for Windows.
    pub(super) fn brew(&self) -> Option<(&'static str, &'static str)> {
        let system = match self.system {
            System::Linux => "on_linux",
            System::MacOs => "on_macos",
            System::Windows => return None,
        };
        Some((system, if self.processor == Processor::X86 { "on_intel" } else { "on_arm" }))
    }

    /// The platform of a program, as its headers say it.
    pub(super) fn of(program: &Path) -> Result<&'static Self, String> {
        let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
        let found = headers(&bytes);
        let target = TARGETS.iter().find(|target| Some((target.system, target.processor)) == found);
        target.ok_or_else(|| format!("{}: not a program for a platform of a release", program.display()))
    }
}

/// What a program runs on.
fn headers(bytes: &[u8]) -> Option<(System, Processor)> {
    let (system, machine) = match bytes {
        [0x7f, b'E', b'L', b'F', 2, ..] => (System::Linux, number(bytes, 18, 2)?),
        // 64 bits, lowest byte first.
        [0xcf, 0xfa, 0xed, 0xfe, ..] => (System::MacOs, number(bytes, 4, 4)?),
        [b'M', b'Z', ..] => {
            let at = number(bytes, 60, 4)?;
            let is_program = number(bytes, at, 4)? == 0x4550;
            (System::Windows, is_program.then(|| number(bytes, at.checked_add(4)?, 2))??)
        }
        _ => return None,
    };
    let processor = match (system, machine) {
        (System::Linux, 62) | (System::MacOs, 0x0100_0007) | (System::Windows, 0x8664) => Processor::X86,
        (System::Linux, 183) | (System::MacOs, 0x0100_000c) | (System::Windows, 0xaa64) => Processor::Arm,
        _ => return None,
    };
    Some((system, processor))
}

/// The number in some bytes, lowest byte first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Whether a program for Linux needs no interpreter and no library: its headers name none.
pub(super) fn is_static(program: &Path) -> Result<(), String> {
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let interpreter = || {
        let (start, size, count) = (number(&bytes, 32, 8)?, number(&bytes, 54, 2)?, number(&bytes, 56, 2)?);
        Some((0..count).any(|index| number(&bytes, start.saturating_add(index * size), 4) == Some(3)))
    };
    match interpreter() {
        Some(false) if bytes.starts_with(b"\x7fELF") => Ok(()),
        _ => Err(format!("{}: not a static program for Linux", program.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Processor, System, TARGETS, headers, is_static};

    #[test]
    fn only_static_programs_are_packed() {
        assert!(is_static(Path::new("/nothing")).is_err());
        assert!(is_static(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).is_err());
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        assert_eq!(is_static(&std::env::current_exe().expect("this test")), Ok(()));
    }

    #[test]
    fn headers_say_what_a_program_is_for() {
        let this = std::env::current_exe().and_then(std::fs::read).expect("this test");
        let host = TARGETS.iter().find(|target| {
            let (system, processor) = target.npm();
            system.replace("darwin", "macos").replace("win32", "windows") == std::env::consts::OS
                && processor.replace("x64", "x86_64").replace("arm64", "aarch64") == std::env::consts::ARCH
        });
        assert_eq!(headers(&this), host.map(|target| (target.system, target.processor)));
        let mac = |processor: u8| headers(&[0xcf, 0xfa, 0xed, 0xfe, processor, 0, 0, 1]);
        assert_eq!(mac(12), Some((System::MacOs, Processor::Arm)));
        assert_eq!(mac(7), Some((System::MacOs, Processor::X86)));
        assert_eq!(mac(18), None);
        let mut windows = vec![0; 64];
        windows[..2].copy_from_slice(b"MZ");
        windows[60] = 64;
        assert_eq!(headers(&windows), None);
        windows.extend(b"PE\0\0\x64\x86");
        assert_eq!(headers(&windows), Some((System::Windows, Processor::X86)));
        windows[60..64].fill(0xff);
        assert_eq!(headers(&windows), None);
        for cut in 0..this.len().min(64) {
            let _ = headers(&this[..cut]);
        }
    }

    #[test]
    fn platforms_have_names_of_their_own() {
        let mut names: Vec<_> = TARGETS.iter().map(super::Target::npm).collect();
        names.dedup();
        assert_eq!(names.len(), TARGETS.len());
    }
}
