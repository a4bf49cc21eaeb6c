//! A small server for the dashboard alone, on one thread.
//!
//! The thread of the dashboard runs no task, and no task runs on it. A client can take a bounded part of it: at
//! most 256 connections, a deadline for the head of a request and one for each write, and no more than 16 KiB of a head.
//! When a connection comes that is one too many, the one is closed that has waited longest without a request.
//!
//! It must never keep the program from ending, and never be slow to stop: open streams are cut off.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep, sleep};

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
            runtime.block_on(serve(listener, router, stopped));
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

/// The greatest number of connections.
const CONNECTIONS_MAX: usize = 256;
/// The time that a client may take for the head of a request, and may be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 16 * 1_024;
const HEADERS_MAX: usize = 100;
/// The wait when the program has no file descriptor left.
const NO_DESCRIPTOR: Duration = Duration::from_millis(100);

/// A connection, oldest first.
struct OpenConnection {
    task: AbortHandle,
    /// Requests in progress, and 1 for good once there is a stream.
    requests: Arc<AtomicUsize>,
}

/// Accepts connections until it is asked to stop.
async fn serve(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    let mut open: VecDeque<OpenConnection> = VecDeque::new();
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((socket, from)) => {
                    while connections.try_join_next().is_some() {}
                    make_room(&mut open);
                    let requests = Arc::default();
                    let serving = connection(socket, from, router.clone(), Arc::clone(&requests));
                    open.push_back(OpenConnection { task: connections.spawn(serving), requests });
                }
                // The client has gone, or there is no descriptor: neither is a reason to end.
                Err(_) => tokio::time::sleep(NO_DESCRIPTOR).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

/// Closes the connection that has waited longest without a request, if there are too many.
fn make_room(open: &mut VecDeque<OpenConnection>) {
    open.retain(|connection| !connection.task.is_finished());
    if open.len() < CONNECTIONS_MAX {
        return;
    }
    let idle = open.iter().position(|connection| connection.requests.load(Ordering::Relaxed) == 0);
    if let Some(closed) = open.remove(idle.unwrap_or_default()) {
        closed.task.abort();
    }
}

async fn connection(
    socket: TcpStream,
    from: SocketAddr,
    router: Router,
    requests: Arc<AtomicUsize>,
) {
    // Small answers go out at once.
    drop(socket.set_nodelay(true));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(from));
        let requests = Arc::clone(&requests);
        requests.fetch_add(1, Ordering::Relaxed);
        let answer = hyper::service::Service::call(&router, request);
        async move {
            let answer: Result<Response, _> = answer.await;
            let is_stream = answer.as_ref().is_ok_and(|response| {
                hyper::body::Body::size_hint(response.body()).exact().is_none()
            });
            if !is_stream {
                requests.fetch_sub(1, Ordering::Relaxed);
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(Stalled::new(socket)), service);
    // A client that breaks off, or sends no HTTP, is its own trouble.
    drop(connection.await);
}

const STALLED_MAX: Duration = Duration::from_secs(10);

struct Stalled<T> {
    inner: T,
    deadline: Pin<Box<Sleep>>,
    is_stalled: bool,
}

impl<T> Stalled<T> {
    fn new(inner: T) -> Self {
        Self { inner, deadline: Box::pin(sleep(STALLED_MAX)), is_stalled: false }
    }

    fn watch<R>(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if progress.is_ready() {
            self.is_stalled = false;
            return progress;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.deadline.as_mut().reset(Instant::now() + STALLED_MAX);
        }
        match self.deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalled<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalled<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.watch(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(context, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_without_a_request_makes_room() {
        let mut tasks = JoinSet::new();
        let mut open: VecDeque<OpenConnection> = VecDeque::new();
        for number in 0..CONNECTIONS_MAX {
            let task = tasks.spawn(std::future::pending::<()>());
            let requests = Arc::new(AtomicUsize::new(usize::from(number < 3)));
            open.push_back(OpenConnection { task, requests });
        }
        let fourth = open[3].task.clone();
        make_room(&mut open);
        assert_eq!(open.len(), CONNECTIONS_MAX - 1);
        assert!(tasks.join_next().await.unwrap().unwrap_err().is_cancelled());
        assert!(fourth.is_finished());
        make_room(&mut open);
        assert_eq!(open.len(), CONNECTIONS_MAX - 1, "there is room");
    }
}

#[cfg(test)]
mod tests_of_stalled {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stalls_ends_the_connection_and_a_slow_one_does_not() {
        use tokio::io::AsyncReadExt;
        let (socket, mut reader) = tokio::io::duplex(1_024);
        let slow = tokio::spawn(async move {
            for _ in 0..4 {
                sleep(STALLED_MAX / 2).await;
                reader.read_exact(&mut [0; 1_024]).await.unwrap();
            }
            // From here on nothing is read.
            sleep(STALLED_MAX * 10).await;
        });
        let mut socket = Stalled::new(socket);
        socket.write_all(&[0; 5 * 1_024]).await.unwrap();
        let start = Instant::now();
        let error = socket.write_all(&[0; 1_024]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= STALLED_MAX && start.elapsed() < STALLED_MAX * 2);
        slow.abort();
    }
}
