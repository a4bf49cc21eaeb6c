//! A socket whose reader may not stall forever: a write that makes no progress for ten seconds fails.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

const STALLED_MAX: Duration = Duration::from_secs(10);

pub(super) struct Stalled<T> {
    inner: T,
    deadline: Pin<Box<Sleep>>,
    is_stalled: bool,
}

impl<T> Stalled<T> {
    pub(super) fn new(inner: T) -> Self {
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
