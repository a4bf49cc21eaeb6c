//! PgBouncer: a pool of connections to a server.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::{Server, as_user, free_port};

/// PgBouncer before a [`Server`]. It ends with this value.
#[derive(Debug)]
pub struct Bouncer {
    port: u16,
    /// Waits for the end of its input, and then ends PgBouncer.
    janitor: Child,
}

impl Bouncer {
    pub(crate) fn start(program: &Path, server: &Server, mode: &str) -> Self {
        let port = free_port();
        let file = server.folder.join(format!("bouncer-{port}.ini"));
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=test\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             {mode}\ndefault_pool_size = 3\nmax_client_conn = 200\n",
            server.port
        );
        fs::write(&file, settings).expect("the settings can be written");
        let mut shell = Command::new("sh");
        as_user(&mut shell, &server.folder, server.user);
        shell.args(["-c", "\"$1\" -q \"$2\" & cat >/dev/null; kill $!", "bouncer"]);
        shell.arg(program).arg(file).stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let bouncer = Self { port, janitor: shell.spawn().expect("a shell") };
        bouncer.await_start();
        bouncer
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[expect(clippy::disallowed_methods, reason = "a program that starts is waited for")]
    fn await_start(&self) {
        let is_there = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
        assert!(is_there, "pgbouncer does not take connections");
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}
