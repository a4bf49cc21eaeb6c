//! A small server for the dashboard alone: one thread with its own Tokio runtime.
//!
//! The thread of the dashboard runs no task, and no task runs on it. A client can take a bounded part of it: at
//! most 256 connections, a deadline for the head of a request and one for each write, and no more than 16 KiB of a head.
//! When a connection comes that is one too many, the one is closed that has waited longest without a request.
//!
//! It must never keep the program from ending, and never be slow to stop: open streams are cut off.
//!
//! | file | what |
//! |---|---|
//! | `accept` | connections: how many, and for how long |
//! | `stalled` | a socket whose reader may not stall forever |

mod accept;
mod stalled;

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::{fmt, io};

use axum::Router;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// The size of the system's buffer for a client that does not read.
const SEND_BYTES_MAX: u32 = 64 * 1_024;
const BACKLOG: u32 = 128;

/// A dashboard that is being served, until it is stopped or dropped.
///
/// ```
/// use scheduler::Scheduler;
/// use scheduler_dashboard::Dashboard;
///
/// let dashboard = Dashboard::new();
/// let scheduler = Scheduler::builder().listener(dashboard.listener()).spawn()?;
/// let server = dashboard.serve(scheduler.tasks(), "127.0.0.1:0")?;
/// println!("{}", server.link());
/// server.stop();
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it stops the dashboard"]
pub struct DashboardServer {
    address: SocketAddr,
    link: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Shows no token.
impl fmt::Debug for DashboardServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DashboardServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A socket that is bound, and the runtime that it belongs to.
pub(crate) struct Bound {
    runtime: Runtime,
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Bound {
    /// Binds an address; no connection is accepted yet.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // On Windows this would let two programs have the same port.
        if cfg!(unix) {
            socket.set_reuseaddr(true)?;
        }
        socket.set_send_buffer_size(SEND_BYTES_MAX)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        drop(entered);
        Ok(Self { runtime, listener, address })
    }

    /// Serves on a thread of its own. `token` is for the link.
    pub(crate) fn serve(self, router: Router, token: Option<&str>) -> io::Result<DashboardServer> {
        let Self { runtime, listener, address } = self;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("scheduler-dashboard".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(accept::serve(listener, router, stopped));
            runtime.shutdown_background();
        })?;
        let shown = match address.ip() {
            ip if ip.is_unspecified() => format!("localhost:{}", address.port()),
            _ => address.to_string(),
        };
        let fragment = token.map(|token| format!("#token={token}")).unwrap_or_default();
        let link = format!("http://{shown}/{fragment}");
        Ok(DashboardServer { address, link, stop: Some(stop), thread: Some(thread) })
    }
}

impl DashboardServer {
    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page. If the program has set no token, the one that was made is in the fragment, which browsers
    /// do not send.
    #[must_use]
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Stops it: closes all connections, and waits for its thread.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // The receiver is gone if the thread has ended.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread was printed.
            drop(thread.join());
        }
    }
}

impl Drop for DashboardServer {
    fn drop(&mut self) {
        self.end();
    }
}
