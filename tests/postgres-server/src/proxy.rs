//! A network that fails as a test wants it.
#![expect(clippy::disallowed_methods, reason = "a network is in real time, on threads of its own")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Passes connections on to a port, and delays, holds, cuts or strands them. It ends with this value.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A way of bytes through a [`Proxy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the process to the server.
    ToServer,
    /// From the server to the process.
    ToClient,
}

#[derive(Debug)]
struct Shared {
    port: u16,
    connects: AtomicU32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    delay: Duration,
    /// By [`Way`].
    is_held: [bool; 2],
    is_refusing: bool,
    is_over: bool,
    /// Both ends of each connection, by number. Those of a stranded one stay open, and nothing passes any more.
    open: Vec<Connection>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    ends: [TcpStream; 2],
    is_stranded: bool,
}

impl Proxy {
    /// A proxy of a port of the loopback address.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    #[must_use]
    pub fn new(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { port, connects: AtomicU32::new(0), state, changed });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.lock().is_over {
                    break;
                }
                accepting.accept(&client);
            }
        });
        Self { address, shared }
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The number of connections so far.
    #[must_use]
    pub fn connects(&self) -> u32 {
        self.shared.connects.load(Ordering::Relaxed)
    }

    /// Delays all that passes, each way by so much.
    pub fn delay(&self, delay: Duration) {
        self.shared.lock().delay = delay;
    }

    /// Holds all that goes one way, the ends of connections included, until [`heal`](Self::heal). New connections are
    /// accepted. ClaimRef bytes pass then, late.
    pub fn hold(&self, way: Way) {
        self.shared.lock().is_held[way as usize] = true;
    }

    /// A black hole: holds both ways.
    pub fn isolate(&self) {
        self.shared.lock().is_held = [true; 2];
    }

    /// Lets everything pass at once from now on. Stranded connections stay so.
    pub fn heal(&self) {
        let mut state = self.shared.lock();
        (state.delay, state.is_held, state.is_refusing) = (Duration::ZERO, [false; 2], false);
        self.shared.changed.notify_all();
    }

    /// Makes each connection half open, for ever: nothing passes any more, and no end learns of it. ClaimRef bytes are lost.
    pub fn strand(&self) {
        self.strand_where(|_| true);
    }

    /// As [`strand`](Self::strand), only the connection that has this port at the server.
    pub fn strand_one(&self, port: u16) {
        self.strand_where(|end| end.local_addr().is_ok_and(|address| address.port() == port));
    }

    fn strand_where(&self, is_meant: impl Fn(&TcpStream) -> bool) {
        for each in &mut self.shared.lock().open {
            each.is_stranded |= is_meant(&each.ends[1]);
        }
        self.shared.changed.notify_all();
    }

    /// Resets each connection. ClaimRef bytes are lost.
    pub fn cut(&self) {
        let open = std::mem::take(&mut self.shared.lock().open);
        self.shared.changed.notify_all();
        open.iter().for_each(Connection::reset);
    }

    /// Resets new connections, until [`heal`](Self::heal).
    pub fn refuse(&self) {
        self.shared.lock().is_refusing = true;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.cut();
        // So that the thread which accepts sees it.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, client: &TcpStream) {
        self.connects.fetch_add(1, Ordering::Relaxed);
        let server = TcpStream::connect(("127.0.0.1", self.port));
        let Some(server) = server.ok().filter(|_| !self.lock().is_refusing) else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let copies = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
        let (Some(kept), Some(up), Some(down)) = (copies(), copies(), copies()) else { return };
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let ends = [kept.0, kept.1];
        state.open.push(Connection { number, ends, is_stranded: false });
        drop(state);
        let [there, back] = [Arc::clone(self), Arc::clone(self)];
        thread::spawn(move || there.pass(up.0, up.1, number, Way::ToServer));
        thread::spawn(move || back.pass(down.1, down.0, number, Way::ToClient));
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, number: u64, way: Way) {
        let mut buffer = [0; 64 * 1024];
        loop {
            let length = from.read(&mut buffer).unwrap_or(0);
            if !self.may_pass(number, way) {
                return;
            }
            if length == 0 || to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        self.lock().open.retain(|each| each.number != number);
    }

    /// Waits for as long as what was read is held or delayed. False if it is lost.
    fn may_pass(&self, number: u64, way: Way) -> bool {
        let mut state = self.lock();
        loop {
            let Some(connection) = state.open.iter().find(|each| each.number == number) else {
                return false;
            };
            if !connection.is_stranded && !state.is_held[way as usize] {
                let delay = state.delay;
                drop(state);
                thread::sleep(delay);
                return true;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Connection {
    /// Ends both connections by a reset, and the threads that read from them.
    fn reset(&self) {
        for end in &self.ends {
            let _ = rustix::net::sockopt::set_socket_linger(end, Some(Duration::ZERO));
            let _ = end.shutdown(Shutdown::Read);
        }
    }
}
