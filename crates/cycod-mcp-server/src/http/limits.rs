use std::time::Duration;

/// How much a server takes on; what is beyond is refused, with when to try again.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Bytes of one request.
    pub body: usize,
    /// How deep the JSON of a request may nest.
    pub depth: usize,
    /// Sessions, of clients that shake hands. When all are taken, the one that has been idle for longest gives way;
    /// first those of which nothing was heard after the handshake.
    pub sessions: usize,
    /// How long a session may be without a request or an open stream.
    pub idle: Duration,
    /// Handshakes in a second; a burst of four times as many is let through.
    pub handshakes: u32,
    /// Connections.
    pub connections: usize,
    /// Requests that are being answered.
    pub requests: usize,
    /// The same, of one session, with its open streams.
    pub session_requests: usize,
    /// How long a client may take for the head of a request, also for the next one on an open connection.
    pub head_time: Duration,
    /// How long a client may take for the body of a request.
    pub body_time: Duration,
    /// How long a client may leave unread what it is sent.
    pub write_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body: 4 * 1024 * 1024,
            depth: 64,
            sessions: 64,
            idle: Duration::from_secs(300),
            handshakes: 50,
            connections: 512,
            requests: 256,
            session_requests: 128,
            head_time: Duration::from_secs(15),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
        }
    }
}
