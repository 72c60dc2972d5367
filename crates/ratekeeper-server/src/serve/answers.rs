//! Who answers the requests of an entrance, and what it is told of each.
//!
//! Invariant: a connection is handed over only after the answer that says so has been sent, with every byte
//! that came behind the request.

use super::work::{UnderWay, Work};
use crate::socket::Socket;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use std::error::Error;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

/// Answers requests; a clone is of the same.
pub trait Answers: Clone + Send + Sync + 'static {
    /// The body of its answers.
    type Body: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// Whether most requests are answered by being asked, and wait for nothing.
    const AT_ONCE: bool = false;

    /// Answers a request.
    fn answer(
        &self,
        request: Request<Incoming>,
        arrival: &Arrival,
    ) -> impl Future<Output = Response<Self::Body>> + Send + use<Self>;
}

/// How requests of a connection come in.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The address at the other end.
    pub peer: IpAddr,
    /// The same as text, for header fields.
    pub peer_text: HeaderValue,
    /// Whether nobody between could read along.
    pub is_secure: bool,
    /// How long an answer may take.
    pub most: Duration,
    /// How long a body may pause between two pieces.
    pub body: Duration,
    /// Where a connection is handed over, if it can be.
    pub tunnels: Option<Tunnels>,
}

/// What goes on with a connection that speaks HTTP no more: it gets the connection, and what was read of it
/// already.
pub(crate) type Tunnel =
    Box<dyn FnOnce(Socket, Bytes) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Something is under way on a connection.
#[derive(Debug)]
pub(crate) struct Busy {
    /// Only kept.
    _under_way: UnderWay,
}

/// Where a connection is handed over.
#[derive(Clone, Debug)]
pub struct Tunnels(pub(super) Work);

impl Tunnels {
    /// Keeps the connection from resting while what is returned is there: for a request whose body may
    /// outlive its answer. What the peer has still to send of it would be taken for another request.
    pub(crate) fn busy(&self) -> Busy {
        Busy { _under_way: self.0.begin() }
    }

    /// Hands the connection over once this request is answered, with 101.
    pub(crate) fn leave(&self, tunnel: Tunnel) {
        self.0.leave(tunnel);
    }
}
