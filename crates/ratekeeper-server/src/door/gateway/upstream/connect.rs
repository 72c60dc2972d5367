//! New connections to an upstream.
//!
//! Invariant: what is to be encrypted is, and only with who proves to be the upstream.

use super::link::Link;
use super::pool::Taken;
use super::two::{self, Sender};
use crate::socket::Socket;
use ratekeeper::rule::file::{Scheme, Upstream as Place};
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// Where an upstream is, and how it is spoken to.
pub(in super::super) struct Connector {
    place: Place,
    /// Host and port, as a request names them.
    authority: Box<str>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection, for one request at a time or for many.
pub(super) enum Connected {
    One(Box<Link>),
    Two(Sender),
}

impl Connector {
    /// To this place; encrypted if it says so. Not if its host is none that a certificate can name.
    pub(in super::super) fn new(
        place: &Place,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Option<Connector> {
        let tls = match place.scheme {
            Scheme::Https => {
                let name = ServerName::try_from(place.host.clone()).ok()?;
                Some((TlsConnector::from(Arc::clone(tls?)), name))
            }
            Scheme::Http | Scheme::H2c => None,
        };
        let url = place.to_string();
        let authority = url.split_once("://").map_or(&*url, |(_, rest)| rest).into();
        Some(Connector { place: place.clone(), authority, tls })
    }

    /// Host and port, as a request names them.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether HTTP/2 is spoken on a connection.
    pub(super) fn speaks_two(&self, socket: &Socket) -> bool {
        self.place.scheme == Scheme::H2c || socket.protocol() == Some(b"h2")
    }

    /// How it is spoken to.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// A connection below HTTP.
    pub(super) async fn socket(&self) -> io::Result<Socket> {
        let stream = TcpStream::connect((self.place.host.as_str(), self.place.port)).await?;
        stream.set_nodelay(true)?;
        let Some((tls, name)) = &self.tls else { return Ok(Socket::Plain(stream)) };
        let stream = tls.connect(name.clone(), stream).await?;
        Ok(Socket::from(Box::new(stream)))
    }

    /// A connection.
    pub(super) async fn connect(&self, place: Taken) -> io::Result<Connected> {
        let socket = self.socket().await?;
        if !self.speaks_two(&socket) {
            return Ok(Connected::One(Link::new(socket, place)));
        }
        two::connect(socket, place).await.map(Connected::Two).map_err(io::Error::other)
    }
}
