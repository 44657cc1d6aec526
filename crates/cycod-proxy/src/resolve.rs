//! From names to addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
};

/// Looks names up.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of a name. Each is checked before anything connects to it.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Returns where an address that was checked is connected to. Only tests lead it elsewhere: to a server of theirs.
    fn route(&self, checked: SocketAddr) -> SocketAddr {
        checked
    }
}

/// Asks the machine we run on, as any program does.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}
