//! The options of connections, the connect, and its pace.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use scheduler_store::StoreError;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::{Config, Error, NoTls};

use crate::blocking_connection::BlockingConnection;
use crate::builder::Authorities;
use crate::error::{ConnectError, connect_error, store_error};
use crate::sql::{PATH, Schema};

/// The options of all connections of a store.
pub(crate) struct Connect {
    config: Config,
    deadline: Duration,
    is_pooled: bool,
    pace: Pace,
    /// A statement for the connection that claims.
    skip_fences: Option<String>,
    /// Each new connection is looked at.
    check: Option<Check>,
    /// Why the server, or this build because of the tables, has refused the last connection, if that was so.
    refusal: Mutex<Option<ConnectError>>,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
}

/// Refuses tables that this build does not understand.
type Check = Box<dyn Fn(&mut BlockingConnection) -> Result<(), ConnectError> + Send + Sync>;

/// The time for which the caller waits longer than the server executes.
const GRACE: Duration = Duration::from_secs(1);

/// The name of the connection that claims.
pub(crate) const CLAIMS: &str = "claims";

impl Connect {
    pub(crate) fn new(mut config: Config, deadline: Duration, is_pooled: bool) -> Self {
        if config.get_connect_timeout().is_none() {
            // All hosts have their turn before the deadline.
            let hosts = u32::try_from(config.get_hosts().len().max(1)).unwrap_or(u32::MAX);
            config.connect_timeout(deadline.min(Duration::from_secs(5)) / hosts);
        }
        if config.get_application_name().is_none() {
            config.application_name("scheduler");
        }
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(deadline);
        // A pool of connections refuses options.
        if !is_pooled {
            config.options(own_options(config.get_options().unwrap_or_default(), deadline));
        }
        Self {
            config,
            deadline,
            is_pooled,
            pace: Pace::default(),
            skip_fences: None,
            check: None,
            refusal: Mutex::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Says which authorities are trusted.
    #[cfg(feature = "tls")]
    pub(crate) fn trust(&mut self, authorities: &Authorities) -> Result<(), ConnectError> {
        if self.config.get_ssl_mode() != SslMode::Disable {
            self.tls = Some(crate::tls::Tls::new(authorities)?);
        }
        Ok(())
    }

    /// Refuses what asks for encryption.
    #[cfg(not(feature = "tls"))]
    pub(crate) fn trust(&self, authorities: &Authorities) -> Result<(), ConnectError> {
        if *authorities == Authorities::System && self.config.get_ssl_mode() != SslMode::Require {
            return Ok(());
        }
        let reason = "the address asks for an encrypted connection, and this program is built without it\n\
                      help: add the feature `tls` of `scheduler-rs` to Cargo.toml";
        Err(ConnectError::Encryption(reason.to_owned()))
    }

    pub(crate) fn skip_fences(&mut self, schema: &Schema) {
        self.skip_fences = Some(schema.sql("select {s}.skip_fences()"));
    }

    pub(crate) fn check_each(
        &mut self,
        check: impl Fn(&mut BlockingConnection) -> Result<(), ConnectError> + Send + Sync + 'static,
    ) {
        self.check = Some(Box::new(check));
    }

    /// A session was refused: from now on the tables are looked at again before a request, on a new connection (R20).
    pub(crate) fn refuse(&self, reason: String) {
        *self.refusal() = Some(ConnectError::NewerSchema(reason));
    }

    /// A connection is of no more use. If the server has said why, so does each request until there is another one.
    pub(crate) fn broke(&self, error: &Error) {
        self.pace.broke();
        if let StoreError::Failed(reason) = store_error(error)
            && !self.is_refused()
        {
            *self.refusal() = Some(ConnectError::Refused(reason));
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        matches!(*self.refusal(), Some(ConnectError::NewerSchema(_)))
    }

    fn refusal(&self) -> MutexGuard<'_, Option<ConnectError>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if each transaction may be on another connection, so that none has settings.
    pub(crate) fn is_pooled(&self) -> bool {
        self.is_pooled
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The longest wait for an answer. The server itself gives up before, so that the connection is kept.
    fn limit(&self) -> Duration {
        self.deadline.saturating_add(GRACE / 2)
    }

    /// The longest wait of a caller.
    pub(crate) fn patience(&self) -> Duration {
        self.deadline.saturating_add(GRACE)
    }

    /// Connects, unless two tries of the last second have failed.
    pub(crate) fn open(&self, name: &str) -> Result<BlockingConnection, ConnectError> {
        self.pace.connect().map_err(|wait| {
            self.refusal().clone().unwrap_or_else(|| {
                let wait = wait.as_millis();
                ConnectError::Unavailable(format!("not connected; the next try is in {wait} ms"))
            })
        })?;
        let client = self.connect().and_then(|mut client| {
            self.check.as_ref().map_or(Ok(()), |check| check(&mut client))?;
            if let Some(skip) = self.skip_fences.as_ref().filter(|_| name == CLAIMS) {
                client.query_typed(skip, &[]).map_err(|error| connect_error(&error))?;
            }
            Ok(client)
        });
        match &client {
            Ok(_) => self.pace.succeeded(),
            Err(_) => self.pace.failed(),
        }
        match &client {
            // A server that does not answer says nothing about its tables.
            Err(ConnectError::Unavailable(_)) if self.is_refused() => {}
            Err(ConnectError::Unavailable(_)) | Ok(_) => *self.refusal() = None,
            Err(refusal) => *self.refusal() = Some(refusal.clone()),
        }
        client
    }

    /// Connects for the thread of this name.
    pub(crate) fn connection(&self, name: &str) -> Result<BlockingConnection, ConnectError> {
        let connection = self.open(name)?;
        Ok(if self.is_pooled { connection } else { connection.prepare() })
    }

    fn connect(&self) -> Result<BlockingConnection, ConnectError> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let connection =
                BlockingConnection::connect(&self.config, tls.connector(), self.limit());
            return connection.map_err(|error| tls.explain(error));
        }
        BlockingConnection::connect(&self.config, NoTls, self.limit())
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Settings of a connection. Each statement sees what was committed before it began, whatever the database has set. No name is
/// looked up where others may put something. The server is not to hold locks for a process that has gone silent within a
/// transaction, nor to keep its backend for hours.
fn own_options(given: &str, deadline: Duration) -> String {
    let millis = deadline.as_millis().max(1);
    let path = PATH.replace(' ', "");
    let own = format!(
        "-c search_path={path} -c default_transaction_isolation=read\\ committed -c statement_timeout={millis} \
         -c idle_in_transaction_session_timeout={millis} -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 \
         -c tcp_keepalives_count=3"
    );
    format!("{given} {own}").trim_start().to_owned()
}

/// At most two connects in it, during an outage.
const SPAN: Duration = Duration::from_secs(1);

/// The pace that all connections of a store share.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Tries>);

#[derive(Debug, Default)]
struct Tries {
    is_failing: bool,
    /// The last two tries that failed, or came after a failure; the older one first.
    failed: [Option<Instant>; 2],
}

impl Tries {
    fn push(&mut self, now: Instant) {
        self.failed = [self.failed[1], Some(now)];
    }
}

impl Pace {
    /// Asks to connect now. An error is how long to wait.
    pub(crate) fn connect(&self) -> Result<(), Duration> {
        let mut state = self.lock();
        if !state.is_failing {
            return Ok(());
        }
        let now = now();
        let wait = state.failed[0].and_then(|first| (first + SPAN).checked_duration_since(now));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                state.push(now);
                Ok(())
            }
        }
    }

    /// A connection was made.
    fn succeeded(&self) {
        self.lock().is_failing = false;
    }

    /// A connection could not be made.
    pub(crate) fn failed(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_failing, true) {
            state.push(now());
        }
    }

    /// A connection has broken.
    pub(crate) fn broke(&self) {
        self.lock().is_failing = true;
    }

    fn lock(&self) -> MutexGuard<'_, Tries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a pause between connects is real time, also in tests"
)]
fn now() -> Instant {
    Instant::now()
}
