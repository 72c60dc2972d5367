//! A node's end of a simulated connection.
//!
//! Invariant: dropped, it is closed; what was written before is on its way.

use super::network::{Network, Packet};
use ratekeeper::sim::Duplex;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Debug)]
pub(super) struct Stream {
    network: Network,
    id: u64,
}

/// Connects a node to the server.
pub(super) async fn connect(network: Network, node: usize) -> io::Result<Box<dyn Duplex>> {
    let stream = Stream { id: network.greet(node), network };
    poll_fn(|context| match stream.state(context) {
        Some(Packet::Opened) => Poll::Ready(Ok(())),
        Some(_) => Poll::Ready(Err(io::Error::from(ErrorKind::ConnectionRefused))),
        None => Poll::Pending,
    })
    .await?;
    Ok(Box::new(stream))
}

impl Stream {
    /// What is known of the connection; whoever asks is woken when there is news.
    fn state(&self, context: &mut Context<'_>) -> Option<Packet> {
        let mut state = self.network.state();
        let Some(connection) = state.connections.get_mut(&self.id) else {
            return Some(Packet::Reset);
        };
        connection.reader = Some(context.waker().clone());
        connection.state.clone()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.network.state();
        state.active += 1;
        let Some(connection) = state.connections.get_mut(&self.id) else {
            return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
        };
        if connection.state == Some(Packet::Reset) {
            return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
        }
        if connection.arrived.is_empty() && connection.state != Some(Packet::End) {
            connection.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = connection.arrived.len().min(buffer.remaining());
        let bytes: Vec<u8> = connection.arrived.drain(..count).collect();
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let _ = context;
        let state = self.network.state().connections.get(&self.id).map(|own| own.state.clone());
        if matches!(state, None | Some(Some(Packet::Reset))) {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        self.network.send_up(self.id, Packet::Bytes(bytes.to_vec()));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.network.close(self.id);
    }
}
