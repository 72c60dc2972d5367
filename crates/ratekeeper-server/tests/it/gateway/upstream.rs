//! Upstreams that these tests are: they write down what comes, to the byte, and answer as they are told.
//!
//! Invariant: one that is dropped accepts nothing more and has cut its connections.

use super::message::{Fault, Message, Wire};
use crate::wire::DEADLINE;
use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::spawn;

/// An answer of two bytes.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

/// What came.
#[derive(Default)]
pub(crate) struct Book {
    seen: Mutex<Vec<(usize, Message)>>,
    faults: Mutex<Vec<Fault>>,
    /// Connections that are open, by number.
    streams: Mutex<HashMap<usize, TcpStream>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
    is_over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One upstream.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) book: Arc<Book>,
}

impl Upstream {
    /// Always answers the same.
    pub(crate) fn saying(answer: &str) -> Upstream {
        let answer = answer.to_owned();
        Upstream::acting(move |_, wire| {
            wire.send(&answer);
            After::Keep
        })
    }

    /// Answers each request with what it is told for it.
    pub(crate) fn telling(tell: impl Fn(&Message) -> String + Send + Sync + 'static) -> Upstream {
        Upstream::acting(move |request, wire| {
            wire.send(tell(request));
            After::Keep
        })
    }

    /// Does with each request, read whole, what it is told to.
    pub(crate) fn acting(
        act: impl Fn(&Message, &mut Wire) -> After + Send + Sync + 'static,
    ) -> Upstream {
        Upstream::acting_at(free(), act)
    }

    /// The same at an address where one was before.
    pub(crate) fn acting_at(
        address: SocketAddr,
        act: impl Fn(&Message, &mut Wire) -> After + Send + Sync + 'static,
    ) -> Upstream {
        Upstream::raw(address, move |wire, number, book| {
            loop {
                match wire.request() {
                    Ok(request) => {
                        lock(&book.seen).push((number, request.clone()));
                        if act(&request, wire) == After::Close {
                            return;
                        }
                    }
                    Err(Fault::Ended) => return,
                    Err(fault) => return lock(&book.faults).push(fault),
                }
            }
        })
    }

    /// Does with each connection what it is told to; the connection is closed then.
    pub(crate) fn raw(
        address: SocketAddr,
        act: impl Fn(&mut Wire, usize, &Book) + Send + Sync + 'static,
    ) -> Upstream {
        let listener = TcpListener::bind(address).expect("the address is free");
        let address = listener.local_addr().expect("a listener has an address");
        let book = Arc::<Book>::default();
        let (ours, act) = (book.clone(), Arc::new(act));
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ours.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let _ = stream.set_read_timeout(Some(3 * DEADLINE));
                let _ = stream.set_write_timeout(Some(3 * DEADLINE));
                let _ = stream.set_nodelay(true);
                let number = ours.accepted.fetch_add(1, Ordering::SeqCst);
                lock(&ours.streams).extend(stream.try_clone().map(|own| (number, own)));
                ours.open.fetch_add(1, Ordering::SeqCst);
                let (book, act) = (ours.clone(), act.clone());
                spawn(move || {
                    let mut wire = Wire::of(stream);
                    act(&mut wire, number, &book);
                    let _ = wire.stream.shutdown(Shutdown::Both);
                    lock(&book.streams).remove(&number);
                    book.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Upstream { address, book }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What came, in order.
    pub(crate) fn seen(&self) -> Vec<Message> {
        assert_eq!(*lock(&self.book.faults), [], "what came is framed well");
        lock(&self.book.seen).iter().map(|(_, request)| request.clone()).collect()
    }

    /// The only request that came.
    pub(crate) fn only(&self) -> Message {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    /// Connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.book.accepted.load(Ordering::SeqCst)
    }

    /// Connections now.
    pub(crate) fn open(&self) -> usize {
        self.book.open.load(Ordering::SeqCst)
    }

    /// Stops to listen and cuts all connections, as a process that is killed.
    pub(crate) fn kill(&self) {
        if !self.book.is_over.swap(true, Ordering::SeqCst) {
            // The listener is gone when it has looked once more; who looks because its connection was cut finds
            // nobody.
            let _ = TcpStream::connect(self.address);
            assert!(crate::program::closes(self.address), "nobody listens any more");
            for (_, stream) in lock(&self.book.streams).drain() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

impl Book {
    pub(crate) fn note(&self, number: usize, request: Message) {
        lock(&self.seen).push((number, request));
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Any free port of this machine.
pub(crate) fn free() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Any free port of a name of this machine where no other test listens, so that one that was left stays free.
pub(crate) fn apart() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 2], 0))
}

/// An address where nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    nobodies(1).remove(0)
}

/// So many of them, none of which is another.
pub(crate) fn nobodies(count: usize) -> Vec<SocketAddr> {
    let bind = |_| TcpListener::bind(apart()).expect("a port is free");
    // All are held at once, so that no port is given out again.
    let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
    let address = |own: &TcpListener| own.local_addr().expect("a listener has an address");
    listeners.iter().map(address).collect()
}
