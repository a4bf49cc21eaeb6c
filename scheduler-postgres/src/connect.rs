//! How a connection is made.

use std::time::Duration;

use postgres::{Client, Config, NoTls};
use scheduler_store::StoreError;

use crate::fault::{store_error, unavailable};
use crate::pace::Pace;
use crate::session::Session;
use crate::sql::Schema;

/// What all connections of a store are made from.
#[derive(Debug)]
pub(crate) struct Connect {
    config: Config,
    deadline: Duration,
    is_pooled: bool,
    pace: Pace,
    /// A statement for the connection that claims.
    skip_fences: Option<String>,
}

/// How much longer the caller waits than the server executes.
const GRACE: Duration = Duration::from_secs(1);

/// The name of the lane that claims.
pub(crate) const CLAIMS: &str = "claims";

impl Connect {
    pub(crate) fn new(mut config: Config, deadline: Duration, is_pooled: bool) -> Self {
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(deadline.min(Duration::from_secs(5)));
        }
        if config.get_application_name().is_none() {
            config.application_name("scheduler");
        }
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(postgres::config::TargetSessionAttrs::ReadWrite);
        }
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(deadline);
        // A pool of connections refuses options.
        if !is_pooled {
            let options = config.get_options().unwrap_or_default();
            let options = format!("{options} -c statement_timeout={}", deadline.as_millis().max(1));
            config.options(options.trim_start());
        }
        Self { config, deadline, is_pooled, pace: Pace::default(), skip_fences: None }
    }

    pub(crate) fn skip_fences(&mut self, schema: &Schema) {
        self.skip_fences = Some(schema.sql("select {s}.skip_fences()"));
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How long a caller waits for an answer.
    pub(crate) fn patience(&self) -> Duration {
        self.deadline.saturating_add(GRACE)
    }

    /// Connects, unless two tries of the last second have failed.
    pub(crate) fn open(&self, lane: &str) -> Result<Client, StoreError> {
        self.pace.connect().map_err(|wait| {
            unavailable(&format!("not connected; the next try is in {} ms", wait.as_millis()))
        })?;
        let client = self.connect().and_then(|mut client| {
            if let Some(skip) = self.skip_fences.as_ref().filter(|_| lane == CLAIMS) {
                client.query_typed(skip, &[]).map_err(|error| store_error(&error))?;
            }
            Ok(client)
        });
        match &client {
            Ok(_) => self.pace.succeeded(),
            Err(_) => self.pace.failed(),
        }
        client
    }

    /// Connects for a lane.
    pub(crate) fn session(&self, lane: &str) -> Result<Session, StoreError> {
        Ok(Session::new(self.open(lane)?, !self.is_pooled))
    }

    #[cfg(not(feature = "tls"))]
    fn connect(&self) -> Result<Client, StoreError> {
        if self.config.get_ssl_mode() == postgres::config::SslMode::Require {
            return Err(unavailable("`sslmode=require` needs the feature `tls` of this crate"));
        }
        self.config.connect(NoTls).map_err(|error| store_error(&error))
    }

    #[cfg(feature = "tls")]
    fn connect(&self) -> Result<Client, StoreError> {
        if self.config.get_ssl_mode() == postgres::config::SslMode::Disable {
            return self.config.connect(NoTls).map_err(|error| store_error(&error));
        }
        let tls = crate::tls::connector()?;
        self.config.connect(tls).map_err(|error| store_error(&error))
    }
}
