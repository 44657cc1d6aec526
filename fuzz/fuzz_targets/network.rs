//! Whatever a program says to its proxy, it is read in one way or refused, and reading more never changes what was read.
#![no_main]

use cycod_proxy::{
    HostName,
    parsers::{
        Framing, Read, RequestHead, Response, SocksStep, authority, client_hello, socks_greeting, socks_request,
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = RequestHead::parse(bytes) {
        let head = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let says = |name: &str| head.contains(&format!("\n{name}:"));
        assert!(!(says("content-length") && says("transfer-encoding")), "{head:?}");
        assert_eq!(request.framing == Framing::Chunked, says("transfer-encoding"), "{head:?}");
        assert!(!head.replace("\r\n", "").contains(['\r', '\n', '\0']), "{head:?}");
    }
    drop(Response::parse(bytes, "GET"));
    if let Read::Hello(hello) = client_hello(bytes) {
        assert_eq!(client_hello(&bytes[..hello.length - 1]), Read::More);
        assert_eq!(client_hello(&bytes[..hello.length]), Read::Hello(hello));
    }
    if let SocksStep::Done(found, length) = socks_request(bytes) {
        assert_eq!(socks_request(&bytes[..length]), SocksStep::Done(found, length));
        assert_eq!(socks_request(&bytes[..length - 1]), SocksStep::More);
    }
    socks_greeting(bytes);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok((host, _)) = authority(text)
    {
        // There is one spelling, and it is its own.
        assert_eq!(HostName::parse(&host.to_string()), Ok(host));
    }
});
