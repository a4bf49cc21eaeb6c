//! The options of a store, and its address.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use percent_encoding::percent_decode_str;
use scheduler_store::is_dry_run;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::connect::Connect;
use crate::error::{ConnectError, with_causes};
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
        let Address { config, authorities } = read_address(&self.url)?;
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
        Ok(Postgres::new(StoreOptions {
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

/// The way in which a process learns early that another has enqueued something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// By a notification, on a connection of its own.
    #[default]
    Notify,
    /// By polling only. Connections have no state between transactions, as a pool such as PgBouncer needs that gives each
    /// transaction another connection.
    Poll,
}

/// The options of a store.
pub(crate) struct StoreOptions {
    pub(crate) connect: Arc<Connect>,
    pub(crate) schema: Schema,
    pub(crate) described: String,
    pub(crate) wakeup: Wakeup,
    pub(crate) is_relaxed: bool,
    pub(crate) relaxed_finishes: bool,
    pub(crate) callers: usize,
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Authorities {
    /// The authorities that the system trusts.
    System,
    /// The authorities in a file.
    File(PathBuf),
}

/// An address that was read.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) authorities: Authorities,
}

/// An option of an address, decoded, and as it was written.
struct Pair<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
    written: Cow<'a, str>,
}

/// Reads an address, a URL or words `name=value`, as `libpq` reads it. Beside the options that `tokio-postgres` knows it may
/// have those that say what is checked: `sslmode=verify-ca` and `sslmode=verify-full` are `require`, because a certificate and
/// its name are always checked; and `sslrootcert` is a file with the authorities that are trusted, or `system`.
fn read_address(address: &str) -> Result<Address, ConnectError> {
    let (server, pairs, separator) = match in_url(address) {
        Some((server, options)) => (Some(server), url_pairs(options)?, "&"),
        None => (None, word_pairs(address)?, " "),
    };
    let (mut kept, mut mode, mut trusted) = (Vec::new(), None, None);
    for Pair { name, value, written } in pairs {
        match &*name {
            "sslmode" => mode = Some(value),
            "sslrootcert" => trusted = Some(value),
            _ => kept.push(written),
        }
    }
    let trusted = trusted.as_deref().filter(|trusted| !trusted.is_empty());
    if let Some(mode) = mode_of(mode.as_deref(), trusted)? {
        kept.push(format!("sslmode={mode}").into());
    }
    let kept = kept.join(separator);
    let address = match server {
        None => kept,
        Some(server) if kept.is_empty() => server.to_owned(),
        Some(server) => format!("{server}?{kept}"),
    };
    // The text of the error does not have the address, in which a password may be.
    let config = address.parse::<Config>();
    let config = config.map_err(|error| ConnectError::Address(with_causes(&error)))?;
    let authorities = match trusted {
        None | Some(SYSTEM) => Authorities::System,
        Some(file) => Authorities::File(file.into()),
    };
    Ok(Address { config, authorities })
}

/// The word for the authorities that the system trusts.
const SYSTEM: &str = "system";

/// The mode of encryption for the client library. As in `libpq`, a connection that trusts the authorities of the system
/// by name is encrypted, and nothing weaker goes with it.
fn mode_of<'a>(
    mode: Option<&'a str>,
    trusted: Option<&str>,
) -> Result<Option<&'a str>, ConnectError> {
    match mode {
        Some("verify-ca" | "verify-full") => Ok(Some("require")),
        Some(weak @ ("disable" | "allow" | "prefer")) if trusted == Some(SYSTEM) => {
            Err(fault(&format!("`sslmode={weak}` does not go with `sslrootcert=system`")))
        }
        None if trusted == Some(SYSTEM) => Ok(Some("require")),
        mode => Ok(mode),
    }
}

fn fault(reason: &str) -> ConnectError {
    ConnectError::Address(reason.to_owned())
}

/// A URL without its options, and these; `None` of words.
fn in_url(address: &str) -> Option<(&str, &str)> {
    let rest = address.strip_prefix("postgres://").or(address.strip_prefix("postgresql://"))?;
    // A password may have a question mark, and ends at the `@`.
    let credentials = rest.find('@').unwrap_or(0);
    let end = rest[credentials..].find('?').map(|at| address.len() - rest.len() + credentials + at);
    Some(end.map_or((address, ""), |end| (&address[..end], &address[end + 1..])))
}

fn url_pairs(options: &str) -> Result<Vec<Pair<'_>>, ConnectError> {
    let decoded =
        |text| percent_decode_str(text).decode_utf8().map_err(|_| fault("an option is not UTF-8"));
    let pairs = options.split('&').filter(|written| !written.is_empty());
    pairs
        .map(|written| {
            let (name, value) = written.split_once('=').unwrap_or((written, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            match is_name(&name) {
                true => Ok(Pair { name, value, written: written.into() }),
                false => Err(fault("behind the `?` are options `name=value`, with `&` between")),
            }
        })
        .collect()
}

/// Reads words `name=value`. A value may be quoted, and a backslash takes the next character as it is.
fn word_pairs(address: &str) -> Result<Vec<Pair<'static>>, ConnectError> {
    let mut pairs = Vec::new();
    let mut rest = address.trim_start();
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once('=') else { return Err(no_words(address)) };
        let name = name.trim_end();
        if !is_name(name) {
            return Err(no_words(address));
        }
        let (value, after) = value_of(value.trim_start())?;
        let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
        let written = format!("{name}='{quoted}'").into();
        pairs.push(Pair { name: name.to_owned().into(), value: value.into(), written });
        rest = after.trim_start();
    }
    if pairs.is_empty() { Err(fault("it is empty")) } else { Ok(pairs) }
}

/// Returns true for what could be the name of an option. Any other may be a part of a password, and is not shown.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The value at the beginning of a text, and what comes after it.
fn value_of(text: &str) -> Result<(String, &str), ConnectError> {
    let inner = text.strip_prefix('\'');
    let is_quoted = inner.is_some();
    let inner = inner.unwrap_or(text);
    let (mut value, mut chars) = (String::new(), inner.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if is_quoted => return Ok((value, &inner[at + 1..])),
            c if c.is_whitespace() && !is_quoted => return Ok((value, &inner[at..])),
            c => value.push(c),
        }
    }
    if is_quoted { Err(fault("a quoted value has no end")) } else { Ok((value, "")) }
}

/// The fault of an address that is neither a URL of PostgreSQL nor words. It shows nothing behind the scheme.
fn no_words(address: &str) -> ConnectError {
    let is_scheme = |scheme: &&str| {
        scheme.len() <= 20
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-:".contains(c))
    };
    match address.split_once("://").map(|(scheme, _)| scheme).filter(is_scheme) {
        Some("jdbc:postgresql") => fault("it is one of Java; leave out `jdbc:`"),
        Some(scheme) => fault(&format!("`{scheme}://` is no scheme of PostgreSQL")),
        None => fault("it is neither a URL `postgres://…` nor words `name=value`"),
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::{Host, SslMode};

    use super::*;

    fn right(address: &str) -> Address {
        read_address(address).unwrap_or_else(|error| panic!("{address}: {error}"))
    }

    fn wrong(address: &str) -> String {
        read_address(address).expect_err(address).to_string()
    }

    fn file(path: &str) -> Authorities {
        Authorities::File(path.into())
    }

    #[test]
    fn options_are_read_from_urls_and_words() {
        let url =
            "postgres://shop@db/shop?sslmode=verify-full&connect_timeout=3&sslrootcert=/etc/ca.pem";
        let words = "host=db user=shop sslmode=verify-ca dbname=shop connect_timeout=3 sslrootcert=/etc/ca.pem";
        for address in [url, words] {
            let Address { config, authorities } = right(address);
            assert_eq!(config.get_ssl_mode(), SslMode::Require);
            assert_eq!((config.get_user(), config.get_dbname()), (Some("shop"), Some("shop")));
            assert_eq!(config.get_connect_timeout().map(|limit| limit.as_secs()), Some(3));
            assert_eq!(authorities, file("/etc/ca.pem"));
        }
        let plain = right("postgres://shop@db/shop");
        let expected = (SslMode::Prefer, Authorities::System);
        assert_eq!((plain.config.get_ssl_mode(), plain.authorities), expected);
    }

    #[test]
    fn quoted_words_and_blanks_around_the_sign_are_read() {
        let address = r"  host = db  password='it\'s \\ a = secret' sslrootcert = '/my certs/ca.pem' user=a\ b application_name=''";
        let Address { config, authorities } = right(address);
        assert_eq!(config.get_hosts(), [Host::Tcp("db".to_owned())]);
        assert_eq!(config.get_password(), Some(&br"it's \ a = secret"[..]));
        assert_eq!((config.get_user(), config.get_application_name()), (Some("a b"), Some("")));
        assert_eq!(authorities, file("/my certs/ca.pem"));
    }

    #[test]
    fn percent_coded_parts_of_a_url_are_read() {
        let address = "postgresql://sh%40p:p%3Fw%26d@db/shop?sslrootcert=%2Fmy%20certs%2Fca%26.pem&ssl%6Dode=verify%2Dfull&application_name=a%20b";
        let Address { config, authorities } = right(address);
        assert_eq!((config.get_user(), config.get_password()), (Some("sh@p"), Some(&b"p?w&d"[..])));
        assert_eq!(
            (config.get_ssl_mode(), config.get_application_name()),
            (SslMode::Require, Some("a b"))
        );
        assert_eq!(authorities, file("/my certs/ca&.pem"));
        let question = right("postgres://shop:wh?t=x@db/shop?sslmode=require");
        assert_eq!(question.config.get_password(), Some(&b"wh?t=x"[..]));
        assert_eq!(question.config.get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn the_authorities_of_the_system_by_name_need_encryption() {
        for address in ["postgres://db/shop?sslrootcert=system", "host=db sslrootcert=system"] {
            let Address { config, authorities } = right(address);
            assert_eq!(
                (config.get_ssl_mode(), authorities),
                (SslMode::Require, Authorities::System)
            );
        }
        let full = right("postgres://db/shop?sslmode=verify-full&sslrootcert=system");
        assert_eq!(full.config.get_ssl_mode(), SslMode::Require);
        let weak = wrong("postgres://db/shop?sslmode=prefer&sslrootcert=system");
        assert!(weak.contains("`sslmode=prefer` does not go with `sslrootcert=system`"), "{weak}");
        let empty = right("postgres://db/shop?sslrootcert=");
        assert_eq!(
            (empty.config.get_ssl_mode(), empty.authorities),
            (SslMode::Prefer, Authorities::System)
        );
    }

    #[test]
    fn an_address_that_is_none_is_refused_without_its_password() {
        for (address, reason) in [
            ("postgres://shop:hunter2@db/shop?sslmode=maybe", "`sslmode`"),
            ("postgres://shop:hunter2@db/shop?colour=red", "unknown option `colour`"),
            ("mysql://shop:hunter2@db/shop", "`mysql://` is no scheme of PostgreSQL"),
            ("jdbc:postgresql://db/shop?password=hunter2", "leave out `jdbc:`"),
            ("mysql://shop:hunter2@db/shop?ssl=true", "`mysql://` is no scheme of PostgreSQL"),
            ("postgres://db/shop?password=wh&!hunter2=x", "behind the `?` are options"),
            ("postgres://db/shop?hunter2%", "behind the `?` are options"),
            ("db.example.com:5432/hunter2", "neither a URL `postgres://…` nor words"),
            ("host=db hunter2", "neither a URL"),
            ("host=db hunter2 password=x", "neither a URL"),
            ("host=db password='hunter2", "a quoted value has no end"),
            ("", "it is empty"),
        ] {
            let text = wrong(address);
            assert!(text.starts_with("the address of the PostgreSQL server: "), "{text}");
            assert!(text.contains(reason) && text.contains("\nhelp: postgres://"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
