use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Learns what a program touches while it runs as ever, so that its needs can be written down.
pub trait Observer: Debug + Send + Sync {
    /// Takes in one thing that was touched, told once for each run. Called from a thread of the run.
    fn touched(&self, touched: &Touched);
}

/// Something that an observed program, or what it started, wanted to touch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Touched {
    /// How.
    pub touch: ObservedTouch,
    /// What.
    pub place: ObservedPlace,
    /// Whether it was there when the program asked. What is looked for and not there is seldom needed.
    pub is_there: bool,
}

/// How a program touches something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservedTouch {
    /// Reads it, or looks at it.
    Read,
    /// Changes, makes or removes it.
    Write,
    /// Executes it.
    Execute,
    /// Connects or sends to it.
    Connect,
    /// Makes it its working directory.
    Enter,
}

/// What a program touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservedPlace {
    /// A file, directory or socket: absolute, without `.` and `..`, symbolic links as the program named them.
    Path(PathBuf),
    /// An address on the network, with its port.
    Address(SocketAddr),
    /// A name that was asked for at a name server.
    Name(String),
}
