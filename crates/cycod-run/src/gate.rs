//! The way of a confined program to the hosts it declared.

#[cfg(target_os = "linux")]
pub(crate) use linux::Gateway;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Gateway;

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        any::Any,
        ffi::OsString,
        fmt,
        net::{IpAddr, SocketAddr, TcpListener},
        path::{Path, PathBuf},
        sync::{Mutex, PoisonError},
        time::Duration,
    };

    use cycod_diagnostic::{Code, Refusal};
    use cycod_plan::Swap;
    use cycod_process::NetworkGate;
    use cycod_proxy::{HostRule, HostRules, Proxy, ProxyError, ProxyLimits, ProxySettings, Records, SystemResolver};

    use crate::{denied::Lack, reach::Peer};

    /// How long what is under way may take when the program has ended.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// A proxy that lets a program reach what it declared, and puts secrets in the place of what stands for them.
    pub(crate) struct Gateway {
        proxy: Proxy,
        /// Where the certificates are that the program is to trust.
        bundle: Option<PathBuf>,
        records: Mutex<Option<Records>>,
    }

    impl fmt::Debug for Gateway {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Gateway").field("addresses", &self.proxy.addresses()).finish_non_exhaustive()
        }
    }

    impl Gateway {
        /// A way to these hosts; what is to be read by the program goes into `directory`.
        pub(crate) fn to(hosts: &[Peer], swaps: &[Swap], directory: &Path) -> Result<Self, Refusal> {
            let mut rules = HostRules::default();
            for host in hosts {
                rules.add(&host.permission()).map_err(|error| wrong(&error))?;
            }
            let swaps = swaps.iter().map(|swap| {
                let hosts = swap.hosts.iter().map(|host| HostRule::external(host)).collect::<Result<_, _>>()?;
                cycod_proxy::SecretSwap::new(swap.placeholder.clone(), swap.value.as_bytes().to_vec(), hosts)
            });
            let swaps = swaps.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
            let settings = ProxySettings { rules, swaps, limits: ProxyLimits::default(), roots: Vec::new() };
            let proxy = Proxy::new(settings, SystemResolver).map_err(|error| wrong(&error))?;
            let bundle = match proxy.bundle_pem() {
                None => None,
                Some(pem) => {
                    let path = directory.join("authorities.pem");
                    let written =
                        crate::own_files::private_directory(directory).and_then(|()| std::fs::write(&path, pem));
                    written.map_err(|error| {
                        Refusal::new(Code::TempDirectory, format!("cannot write `{}`: {error}", path.display()))
                    })?;
                    Some(path)
                }
            };
            Ok(Self { proxy, bundle, records: Mutex::default() })
        }

        pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
            let variables = self.proxy.environment(self.bundle.as_deref());
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
        }

        /// What was refused last, with the permission that would have allowed it.
        pub(crate) fn refused(&self) -> Option<Lack> {
            let records = self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
            let denied = records.report().denied.pop()?;
            Some(Lack { permission: denied.permission.clone()?, why: denied.to_string() })
        }
    }

    fn wrong(error: &ProxyError) -> Refusal {
        Refusal::new(Code::UnknownPermission, error.to_string()).place("required-permissions")
    }

    impl NetworkGate for Gateway {
        fn addresses(&self) -> &[SocketAddr] {
            self.proxy.addresses()
        }

        fn names(&self) -> &[(String, IpAddr)] {
            self.proxy.names()
        }

        fn serve(&self, listeners: Vec<TcpListener>) -> Box<dyn Any + Send> {
            // Nobody behind the sockets is what a program without a network meets.
            let Ok(serving) = self.proxy.serve(listeners) else { return Box::new(()) };
            *self.records.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving.records());
            Box::new(Serving(serving))
        }
    }

    /// What the program sent before it ended shall arrive.
    struct Serving(cycod_proxy::Serving);

    impl Drop for Serving {
        fn drop(&mut self) {
            self.0.drain(PATIENCE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::{
        any::Any,
        ffi::OsString,
        net::{IpAddr, SocketAddr, TcpListener},
        path::Path,
    };

    use cycod_diagnostic::{Code, Refusal};
    use cycod_plan::Swap;
    use cycod_process::NetworkGate;

    use crate::{denied::Lack, reach::Peer};

    /// Not to be had: there is no network of a program's own.
    #[derive(Debug)]
    pub(crate) enum Gateway {}

    impl Gateway {
        pub(crate) fn to(hosts: &[Peer], _: &[Swap], _: &Path) -> Result<Self, Refusal> {
            let hosts: Vec<String> = hosts.iter().map(|host| format!("`{}`", host.permission())).collect();
            let why = match &hosts[..] {
                [] => "a secret cannot be inserted on the way to its hosts on this platform".to_owned(),
                hosts => format!("{} cannot be allowed alone on this platform", hosts.join(" and ")),
            };
            Err(Refusal::new(Code::ConfinementUnavailable, why)
                .attempt("run it on Linux, or allow every host: `network:external:*` and `network:loopback:*`"))
        }

        pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
            match *self {}
        }

        pub(crate) fn refused(&self) -> Option<Lack> {
            match *self {}
        }
    }

    impl NetworkGate for Gateway {
        fn addresses(&self) -> &[SocketAddr] {
            match *self {}
        }

        fn names(&self) -> &[(String, IpAddr)] {
            match *self {}
        }

        fn serve(&self, _: Vec<TcpListener>) -> Box<dyn Any + Send> {
            match *self {}
        }
    }
}
