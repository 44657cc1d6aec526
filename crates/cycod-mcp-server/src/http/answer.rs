use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;

use super::sessions::Lease;

/// The body of a response. Dropped before its end, because its client is gone, it ends the call that writes it.
pub(super) struct Answer {
    body: BoxBody<Bytes, Infallible>,
    held: Option<Held>,
}

/// What a request holds until it is answered.
pub(super) struct Held {
    /// Tells the call that its client is gone.
    pub(super) gone: DropGuard,
    pub(super) _place: Option<OwnedSemaphorePermit>,
    pub(super) _lease: Option<Lease>,
}

impl Answer {
    pub(super) fn new(body: BoxBody<Bytes, Infallible>, held: Held) -> Self {
        let mut answer = Self { body, held: Some(held) };
        answer.let_go_at_end();
        answer
    }

    fn let_go_at_end(&mut self) {
        if self.body.is_end_stream() {
            self.let_go();
        }
    }

    fn let_go(&mut self) {
        if let Some(held) = self.held.take() {
            held.gone.disarm();
        }
    }
}

impl From<BoxBody<Bytes, Infallible>> for Answer {
    fn from(body: BoxBody<Bytes, Infallible>) -> Self {
        Self { body, held: None }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() {
            self.let_go();
        } else {
            // A body of one piece is not asked again.
            self.let_go_at_end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
