//! The options of a store.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use scheduler_store::is_dry_run;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::address::{self, Address};
use crate::connect::Connect;
use crate::error::ConnectError;
use crate::options::{Options, Wakeup};
use crate::sql::Schema;
use crate::store::Postgres;

/// Options of a [`Postgres`] store.
#[derive(Clone)]
pub struct Builder {
    url: String,
    schema: String,
    wakeup: Wakeup,
    relaxed_claims: Option<bool>,
    relaxed_finishes: bool,
    deadline: Duration,
    callers: usize,
    migrate: bool,
}

impl Builder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            schema: "scheduler".to_owned(),
            wakeup: Wakeup::default(),
            relaxed_claims: None,
            relaxed_finishes: false,
            deadline: Duration::from_secs(4),
            callers: 2,
            migrate: true,
        }
    }

    /// The schema, by default `scheduler`: a lower-case identifier. Each application has its own.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// The way in which this process learns that another has enqueued something.
    #[must_use]
    pub fn wakeup(mut self, wakeup: Wakeup) -> Self {
        self.wakeup = wakeup;
        self
    }

    /// Lets a crash of the server forget claims of the second before it; then their jobs run again. Jobs that must not
    /// run twice are claimed for good in any case. By default true, and false with [`Wakeup::Poll`].
    #[must_use]
    pub fn relaxed_claims(mut self, is_relaxed: bool) -> Self {
        self.relaxed_claims = Some(is_relaxed);
        self
    }

    /// Lets a crash of the server forget outcomes that were stored in the second before it; then jobs that had ended
    /// run again. By default false.
    #[must_use]
    pub fn relaxed_finishes(mut self, is_relaxed: bool) -> Self {
        self.relaxed_finishes = is_relaxed;
        self
    }

    /// The longest time for a request, by default 4 seconds. A connection on which there is no answer for longer is
    /// given up, so that a lease of three times the deadline outlives a connection that has died without a word.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The number of connections for the enqueues and questions of callers, by default 2.
    #[must_use]
    pub fn caller_connections(mut self, count: usize) -> Self {
        self.callers = count.max(1);
        self
    }

    /// Makes missing tables, by default true. If not, [`Postgres::migrations`] has the SQL to be executed.
    #[must_use]
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Connects, makes or updates the tables, and checks that they can be written. A dry run does nothing of that.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect(self) -> Result<Postgres, ConnectError> {
        let schema = schema_of(&self.schema)?;
        let Address { config, authorities } = address::read(&self.url)?;
        let described = describe(&config, &schema);
        let mut connect = Connect::new(config, self.deadline, self.wakeup == Wakeup::Poll);
        connect.trust(&authorities)?;
        let is_relaxed = self.relaxed_claims.unwrap_or(self.wakeup == Wakeup::Notify);
        if !is_dry_run() {
            self.prepare(&connect, &schema)?;
        }
        connect.skip_fences(&schema);
        let own = schema.clone();
        connect.check_each(move |connection| crate::migrate::check(connection, &own));
        Ok(Postgres::new(Options {
            connect: Arc::new(connect),
            schema,
            described,
            wakeup: self.wakeup,
            is_relaxed,
            relaxed_finishes: self.relaxed_finishes,
            callers: self.callers,
        }))
    }
}

impl Builder {
    /// Makes or updates the tables, and checks the rights.
    fn prepare(&self, connect: &Connect, schema: &Schema) -> Result<(), ConnectError> {
        // The caller may be on a thread of a runtime, on which nothing may block.
        let migrations = thread::scope(|scope| {
            let migrate = || crate::migrate::run(connect, schema, self.migrate);
            let thread = thread::Builder::new().name("scheduler-migrations".to_owned());
            let running = thread.spawn_scoped(scope, migrate);
            running.map(|running| running.join())
        });
        let failed = |reason: String| ConnectError::Unavailable(reason);
        migrations
            .map_err(|error| failed(format!("no thread for a connection: {error}")))?
            .unwrap_or_else(|_| Err(failed("the thread of the migrations panicked".to_owned())))
    }
}

impl Postgres {
    /// Connects, and makes or updates the tables in the schema `scheduler`.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder(url).connect()
    }

    /// A store with other options. The address is a URL or words `name=value`, as `libpq` has them; of its options about
    /// encryption `sslmode` and `sslrootcert`, a file or `system`.
    #[must_use]
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }

    /// The SQL that makes the tables, or brings older ones to this version, to be executed by other tools as one script.
    ///
    /// # Errors
    ///
    /// The name is no identifier for a schema.
    pub fn migrations(schema: &str) -> Result<String, ConnectError> {
        Ok(crate::migrate::script(&schema_of(schema)?))
    }
}

fn schema_of(name: &str) -> Result<Schema, ConnectError> {
    Schema::new(name).ok_or_else(|| ConnectError::Schema(name.to_owned()))
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may have a password.
        f.debug_struct("Builder").field("schema", &self.schema).finish_non_exhaustive()
    }
}

fn describe(config: &Config, schema: &Schema) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(String::new, ToString::to_string),
    };
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("PostgreSQL, database `{database}` at {host}, schema `{}`", schema.name())
}
