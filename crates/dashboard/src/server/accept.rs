//! The connections: how many there are, and how long each may wait.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

use super::stalled::Stalled;

/// The greatest number of connections.
pub(super) const CONNECTIONS_MAX: usize = 256;
/// The time that a client may take for the head of a request, and may be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 16 * 1_024;
const HEADERS_MAX: usize = 100;
/// The wait when the program has no file descriptor left.
const NO_DESCRIPTOR: Duration = Duration::from_millis(100);

/// A connection, oldest first.
struct Open {
    task: AbortHandle,
    /// Requests in progress, and 1 for good once there is a stream.
    requests: Arc<AtomicUsize>,
}

/// Accepts connections until it is asked to stop.
pub(super) async fn serve(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    let mut open: VecDeque<Open> = VecDeque::new();
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((socket, from)) => {
                    while connections.try_join_next().is_some() {}
                    make_room(&mut open);
                    let requests = Arc::default();
                    let serving = connection(socket, from, router.clone(), Arc::clone(&requests));
                    open.push_back(Open { task: connections.spawn(serving), requests });
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
fn make_room(open: &mut VecDeque<Open>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_without_a_request_makes_room() {
        let mut tasks = JoinSet::new();
        let mut open: VecDeque<Open> = VecDeque::new();
        for number in 0..CONNECTIONS_MAX {
            let task = tasks.spawn(std::future::pending::<()>());
            let requests = Arc::new(AtomicUsize::new(usize::from(number < 3)));
            open.push_back(Open { task, requests });
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
