//! A private PostgreSQL server for tests.
//!
//! It has its own folder and a free port of the loopback address, and is gone when the test process is gone, however
//! that ended.
//!
//! Where there is no PostgreSQL, [`Server::start`] says so and returns none, and the test is to end. With
//! `REQUIRE_POSTGRES=1` that is a failure: CI must not skip. `POSTGRES_BIN` names the folder of another PostgreSQL.

mod bouncer;
mod proxy;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub use bouncer::Bouncer;
pub use proxy::{Proxy, Way};

/// A server that runs until this value or the process is gone.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    /// Waits for the end of its input, and then stops the server and removes the folder.
    janitor: Child,
}

impl Server {
    /// Starts a server without syncs to disk, or returns none and says why not.
    ///
    /// # Panics
    ///
    /// There is a PostgreSQL, but it does not start; or there is none, and `REQUIRE_POSTGRES` is `1`.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(&["fsync=off", "full_page_writes=off", "synchronous_commit=off"])
    }

    /// As [`start`](Self::start), with these settings.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            let is_required = std::env::var_os("REQUIRE_POSTGRES").is_some_and(|text| text == "1");
            assert!(
                !is_required,
                "no PostgreSQL: neither in /usr/lib/postgresql/*/bin nor in PATH"
            );
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no PostgreSQL in /usr/lib/postgresql/*/bin or PATH"
            );
            return None;
        };
        let user = unprivileged();
        let port = free_port();
        let folder =
            std::env::temp_dir().join(format!("scheduler-pg-{}-{port}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid))
                .expect("the folder is given away");
        }
        let data = folder.join("data");
        let data = data.to_str().expect("a path in UTF-8");
        let args = [
            "-D",
            data,
            "-U",
            "test",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ];
        run(command(&programs, "initdb", &folder, user).args(args));
        let janitor = janitor(&programs, &folder, user);
        let defaults = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=200",
            // A client that comes while the server stops, and then says nothing, keeps it for so many seconds.
            "authentication_timeout=10",
        ];
        let settings = defaults.iter().chain(settings).map(ToString::to_string).collect();
        let server = Self { programs, folder, port, user, settings, janitor };
        server.begin();
        Some(server)
    }

    /// The address, of a database that is always there.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server again after [`stop`](Self::stop).
    ///
    /// # Panics
    ///
    /// It does not start.
    pub fn begin(&self) {
        let settings: Vec<_> = self.settings.iter().map(|each| format!("-c {each}")).collect();
        let options = format!("-p {} {}", self.port, settings.join(" "));
        let log = self.folder.join("log");
        run(self.pg_ctl().args(["-w", "-t", "60", "start", "-o", &options, "-l"]).arg(log));
    }

    /// Ends the server at once, as a crash does.
    ///
    /// # Panics
    ///
    /// It does not stop.
    pub fn stop(&self) {
        let stop = self.pg_ctl().args(["-w", "-m", "immediate", "stop"]).output();
        let stop = stop.expect("the program starts");
        let said = String::from_utf8_lossy(&stop.stderr);
        assert!(stop.status.success(), "no stop: {said}the log of the server:\n{}", self.log());
    }

    /// The end of what the server has logged.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Executes a script by `psql`, and returns what it prints.
    ///
    /// # Panics
    ///
    /// A statement fails.
    #[must_use]
    pub fn psql(&self, script: &str) -> String {
        let mut command = command(&self.programs, "psql", &self.folder, self.user);
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            &self.url(),
            "-f",
            "-",
        ]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql starts");
        let mut input = child.stdin.take().expect("an input");
        input.write_all(script.as_bytes()).expect("the script is read");
        drop(input);
        let output = child.wait_with_output().expect("psql ends");
        assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Lets the server take encrypted connections, with a certificate for this name (`IP:127.0.0.1`, `DNS:localhost`).
    /// Returns the files of the authority that has signed it, and of another one; none, with a message, if there is no
    /// `openssl`.
    ///
    /// # Panics
    ///
    /// The certificate cannot be made.
    #[must_use]
    pub fn encrypt(&self, name: &str) -> Option<[PathBuf; 2]> {
        if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no `openssl` in PATH");
            return None;
        }
        let script = "set -e
            new='openssl req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1'
            for authority in ca other; do $new -subj /CN=$authority -keyout $authority.key -out $authority.pem; done
            $new -CA ca.pem -CAkey ca.key -subj /CN=server -addext subjectAltName=$1 -addext basicConstraints=critical,CA:FALSE \
              -keyout data/server.key -out data/server.crt
            chmod 600 data/server.key; chmod 755 .";
        let mut shell = Command::new("sh");
        as_user(&mut shell, &self.folder, self.user);
        run(shell.args(["-c", script, "encrypt", name]).stderr(Stdio::null()));
        let _ = self.psql("alter system set ssl = on; select pg_reload_conf();");
        Some(["ca.pem", "other.pem"].map(|file| self.folder.join(file)))
    }

    /// Starts PgBouncer in transaction mode before the server, with three connections to it. None if it is not installed,
    /// with a message. It ends with this value.
    ///
    /// # Panics
    ///
    /// It does not start.
    #[must_use]
    pub fn bouncer(&self) -> Option<Bouncer> {
        self.pool("pool_mode = transaction")
    }

    /// A pool that gives each client a connection of its own, and drops the settings that the client sends.
    ///
    /// # Panics
    ///
    /// It does not start.
    #[must_use]
    pub fn session_bouncer(&self) -> Option<Bouncer> {
        self.pool("pool_mode = session\nignore_startup_parameters = options")
    }

    fn pool(&self, mode: &str) -> Option<Bouncer> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
        folders.push(PathBuf::from("/usr/sbin"));
        let Some(program) =
            folders.iter().map(|path| path.join("pgbouncer")).find(|path| path.is_file())
        else {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no `pgbouncer` in PATH or /usr/sbin");
            return None;
        };
        Some(Bouncer::start(&program, self, mode))
    }

    /// Where the programs of PostgreSQL are.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    fn pg_ctl(&self) -> Command {
        let mut command = command(&self.programs, "pg_ctl", &self.folder, self.user);
        command.arg("-D").arg(self.folder.join("data"));
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}

/// The folder in `POSTGRES_BIN`, or else the one of the newest PostgreSQL.
fn programs() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("POSTGRES_BIN") {
        return Some(chosen.into());
    }
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<_> = installed.map(|entry| entry.path().join("bin")).collect();
    installed.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = installed.into_iter().rev().chain(std::env::split_paths(&path));
    folders.find(|folder| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file())
}

/// The server refuses to run as root: then it is the user `postgres` or `nobody`.
fn unprivileged() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").map_or(1, |self_| self_.uid());
    if me != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn command(programs: &Path, name: &str, folder: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(programs.join(name));
    as_user(&mut command, folder, user);
    command
}

fn as_user(command: &mut Command, folder: &Path, user: Option<(u32, u32)>) {
    use std::os::unix::process::CommandExt;
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command.current_dir(folder).env("LC_ALL", "C").env_remove("PGOPTIONS").stdin(Stdio::null());
}

fn janitor(programs: &Path, folder: &Path, user: Option<(u32, u32)>) -> Child {
    let script = "cat >/dev/null; \"$1\" -D \"$2/data\" -m immediate -w stop >/dev/null 2>&1; cd /; rm -rf \"$2\"";
    let mut command = Command::new("sh");
    as_user(&mut command, folder, user);
    command.args(["-c", script, "janitor"]).arg(programs.join("pg_ctl")).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in the terminal of a test must not end it before it has cleaned up.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().expect("a shell")
}

fn run(command: &mut Command) {
    // The server keeps what it inherits, so no reader may wait for the end of its output.
    let status =
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the program starts");
    assert!(status.success(), "{command:?} ended with {status}");
}
