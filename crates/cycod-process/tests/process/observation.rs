//! What a program touches is told, and the program is none the wiser.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cycod_process::{Ending, ObservedPlace, ObservedTouch, Observer, Spec, Touched};

use crate::support::{Run, program, run, sh};

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Touched>>);

impl Observer for Notes {
    fn touched(&self, touched: &Touched) {
        self.0.lock().expect("nobody panics").push(touched.clone());
    }
}

fn observed(spec: Spec) -> (Run, Vec<Touched>) {
    let notes = Arc::new(Notes::default());
    let run = run(&Spec { observer: Some(notes.clone()), ..spec });
    let touched = notes.0.lock().expect("nobody panics").clone();
    (run, touched)
}

fn has(touched: &[Touched], touch: ObservedTouch, path: impl AsRef<Path>, is_there: bool) -> bool {
    touched.contains(&Touched { touch, place: ObservedPlace::Path(path.as_ref().to_owned()), is_there })
}

#[test]
fn files_are_told_by_what_is_done_with_them() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().canonicalize().expect("it is there");
    std::fs::write(path.join("file"), "text").expect("a file is written");
    std::fs::write(path.join("script"), "#!/bin/sh\n:\n").expect("a file is written");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("script"), open).expect("it is ours");
    let mut spec = sh(
        "cat file ./missing; echo x > new; (mkdir -p deep/er; cd deep; echo y > er/z; mv er/z ../moved); rm new; ./script; cat file; exit 3",
    );
    spec.program.cwd = path.clone();
    let (run, touched) = observed(spec);
    assert_eq!((run.out(), run.ended.ending), ("texttext", Ending::Exited(3)), "{run:?}");
    let told = |touch, name: &str, is_there| has(&touched, touch, path.join(name), is_there);
    assert!(told(ObservedTouch::Read, "file", true) && told(ObservedTouch::Read, "missing", false), "{touched:?}");
    assert!(told(ObservedTouch::Write, "new", false) && told(ObservedTouch::Write, "new", true), "{touched:?}");
    assert!(
        told(ObservedTouch::Write, "deep/er", false) && told(ObservedTouch::Write, "deep/er/z", false),
        "{touched:?}"
    );
    assert!(told(ObservedTouch::Write, "moved", false) && told(ObservedTouch::Execute, "script", true), "{touched:?}");
    assert!(has(&touched, ObservedTouch::Execute, "/bin/sh", true), "{touched:?}");
    assert_eq!(touched.iter().map(|one| format!("{one:?}")).collect::<BTreeSet<_>>().len(), touched.len());
}

#[test]
fn threads_and_children_are_told() {
    let directory = tempfile::tempdir().expect("a directory is made");
    let path = directory.path().canonicalize().expect("it is there");
    let text = format!(
        "import os, threading
def work(n):
    for i in range(20): open(f'{0}/t{{n}}-{{i}}', 'w').close()
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
for n in range(8, 12):
    if os.fork() == 0: work(n); os._exit(0)
for n in range(4): os.wait()",
        path.display()
    );
    let (run, touched) = observed(Spec::new(program("python3", &["-c", &text])));
    assert!(run.ended.is_success(), "{run:?}");
    for n in 0..12 {
        for i in 0..20 {
            assert!(has(&touched, ObservedTouch::Write, path.join(format!("t{n}-{i}")), false), "{n} {i}");
        }
    }
}

#[test]
fn connections_and_names_are_told() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let address = server.local_addr().expect("it is bound");
    let text = format!(
        "import socket, ctypes, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', {0}))
c = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); c.connect_ex(('::1', 1))
u = socket.socket(socket.AF_UNIX); u.connect_ex('/run/no-such-socket')
s.connect(('127.0.0.1', {0}))
q = b'\\x00\\x07\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x07example\\x03org\\x00\\x00\\x01\\x00\\x01'
buf = ctypes.create_string_buffer(q, len(q))
iov = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(buf), len(q)))
hdr = ctypes.create_string_buffer(struct.pack('QIxxxxQQQQixxxxQ', 0, 0, ctypes.addressof(iov), 1, 0, 0, 0, 0))
libc = ctypes.CDLL(None); assert libc.sendmmsg(s.fileno(), hdr, 1, 0) == 1",
        address.port()
    );
    let (run, touched) = observed(Spec::new(program("python3", &["-c", &text])));
    assert!(run.ended.is_success(), "{run:?}");
    let told = |place| touched.contains(&Touched { touch: ObservedTouch::Connect, place, is_there: true });
    assert!(
        told(ObservedPlace::Address(address)) && told(ObservedPlace::Name("example.org".to_owned())),
        "{touched:?}"
    );
    assert!(told(ObservedPlace::Address("[::1]:1".parse().expect("an address"))), "{touched:?}");
    assert!(has(&touched, ObservedTouch::Connect, "/run/no-such-socket", false), "{touched:?}");
}

#[test]
fn a_script_and_background_processes_are_fine() {
    let mut spec = Spec::new(program("bash", &["--norc", "/dev/fd/3"]));
    spec.script = Some(Arc::from(&b"echo ran; (sleep 0.2; cat /etc/hostname > /dev/null) & exit 0"[..]));
    let (run, touched) = observed(spec);
    assert_eq!(run.out(), "ran\n", "{run:?}");
    assert!(has(&touched, ObservedTouch::Execute, crate::support::path("bash"), true), "{touched:?}");
}
