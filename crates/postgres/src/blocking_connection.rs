//! A connection with its prepared statements, given up when it is silent.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, IsolationLevel, Row, Socket, Statement,
    Transaction,
};

use crate::columns::Params;
use crate::error::{ConnectError, connect_error};

/// Something that executes statements.
pub(crate) trait RunStatement {
    /// Executes a statement, and returns its rows.
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error>;
}

/// A connection. It blocks, and must not be used on a thread of a runtime.
pub(crate) struct BlockingConnection {
    wire: Wire,
    client: Client,
    /// None if nothing may be prepared or set, because the next transaction may be on another connection.
    prepared: Option<HashMap<String, Statement>>,
}

/// A transaction.
pub(crate) struct BlockingTransaction<'a> {
    wire: &'a mut Wire,
    transaction: Transaction<'a>,
}

/// Moves the bytes of a connection, while a caller waits for an answer.
struct Wire {
    runtime: Runtime,
    /// Ends when the connection does, and says why. None once that was asked.
    connection: Option<JoinHandle<Option<Error>>>,
    heard: Arc<Notify>,
    limit: Duration,
    was_given_up: bool,
}

impl BlockingConnection {
    /// Connects, unless that takes longer than the limit, which then holds for each answer.
    pub(crate) fn connect<T>(config: &Config, tls: T, limit: Duration) -> Result<Self, ConnectError>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_all().build();
        let silent = ConnectError::Unavailable;
        let runtime = runtime.map_err(|error| silent(format!("no connection: {error}")))?;
        let connected = runtime.block_on(async { timeout(limit, config.connect(tls)).await });
        let (client, connection) = match connected {
            Ok(connected) => connected.map_err(|error| connect_error(&error))?,
            Err(_) => {
                // A name that is being looked up must not be waited for.
                runtime.shutdown_background();
                return Err(silent("the server did not answer before the deadline".to_owned()));
            }
        };
        let heard = Arc::new(Notify::new());
        let connection = Some(runtime.spawn(drive(connection, Arc::clone(&heard))));
        let wire = Wire { runtime, connection, heard, limit, was_given_up: false };
        Ok(Self { wire, client, prepared: None })
    }

    /// Waits for so long for each answer from now on.
    pub(crate) fn limit(&mut self, limit: Duration) {
        self.wire.limit = limit;
    }

    /// Prepares each statement of [`RunStatement::rows`] once. There are few, so that all stay.
    pub(crate) fn prepare(mut self) -> Self {
        self.prepared = Some(HashMap::new());
        self
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes in what the server has sent, and returns true if it has ended the connection.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.wire.runtime.block_on(async {
            // Each turn lets the task of the connection read once.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        self.is_closed()
    }

    /// Waits until the server has ended a request that failed.
    ///
    /// RACE: the server sends an error before it rolls back. Until then, other connections meet the locks of the request.
    pub(crate) fn await_end(&mut self) {
        // A failure has closed the connection.
        let _ = self.wire.run(self.client.check_connection());
    }

    /// Returns true if the server did not answer in time, for which the connection was closed.
    pub(crate) fn was_given_up(&self) -> bool {
        self.wire.was_given_up
    }

    /// Executes a step in a transaction, which is committed if the step succeeds, and else rolled back.
    pub(crate) fn transact<R>(
        &mut self,
        step: impl FnOnce(&mut BlockingTransaction<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Self { wire, client, prepared } = self;
        let begin = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
        let transaction = wire.run(begin.start())?;
        let mut tx = BlockingTransaction { wire, transaction };
        // Other connections have that for good: no locks for a process that has gone silent.
        let is_limited = match prepared {
            Some(_) => Ok(()),
            None => tx.batch_execute(&format!(
                "set local idle_in_transaction_session_timeout = {}",
                tx.wire.limit.as_millis()
            )),
        };
        let result = is_limited.and_then(|()| step(&mut tx));
        let BlockingTransaction { wire, transaction } = tx;
        match &result {
            Ok(_) => wire.run(transaction.commit())?,
            // The error of the step says more than one of the end.
            Err(_) => drop(wire.run(transaction.rollback())),
        }
        result
    }

    pub(crate) fn batch_execute(&mut self, sql: &str) -> Result<(), Error> {
        self.wire.run(self.client.batch_execute(sql))
    }

    pub(crate) fn query_typed(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.ask(|client| client.query_typed(sql, params))
    }

    pub(crate) fn query_typed_one(&mut self, sql: &str, params: Params<'_>) -> Result<Row, Error> {
        self.ask(|client| client.query_typed_one(sql, params))
    }

    pub(crate) fn query_typed_opt(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        self.ask(|client| client.query_typed_opt(sql, params))
    }

    /// Executes one statement. Its transaction asks for READ COMMITTED if no setting of the connection does.
    fn ask<'a, R, F>(&'a mut self, statement: impl FnOnce(&'a Client) -> F) -> Result<R, Error>
    where
        F: Future<Output = Result<R, Error>>,
    {
        let Self { wire, client, prepared } = self;
        match prepared {
            Some(_) => wire.run(statement(client)),
            None => wire.run(in_transaction(client, statement(client))),
        }
    }

    /// Waits for a notification, at most for the limit. Many that came together are one.
    pub(crate) fn hears(&mut self, limit: Duration) -> Result<bool, Error> {
        let heard = Arc::clone(&self.wire.heard);
        let is_heard = self.wire.runtime.block_on(async { timeout(limit, heard.notified()).await });
        match self.is_closed() {
            // A statement on a closed connection returns why that has ended.
            true => self.batch_execute("").map(|()| false),
            false => Ok(is_heard.is_ok()),
        }
    }
}

impl BlockingTransaction<'_> {
    pub(crate) fn batch_execute(&mut self, sql: &str) -> Result<(), Error> {
        self.wire.run(self.transaction.batch_execute(sql))
    }

    pub(crate) fn query_typed(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.wire.run(self.transaction.query_typed(sql, params))
    }

    pub(crate) fn query_typed_one(&mut self, sql: &str, params: Params<'_>) -> Result<Row, Error> {
        self.wire.run(self.transaction.query_typed_one(sql, params))
    }

    pub(crate) fn query_typed_opt(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        self.wire.run(self.transaction.query_typed_opt(sql, params))
    }
}

impl Wire {
    /// Waits for an answer. If there is none in time the connection is closed, whose end then is the answer.
    fn run<R>(&mut self, ask: impl Future<Output = Result<R, Error>>) -> Result<R, Error> {
        let Self { runtime, connection, limit, was_given_up, .. } = self;
        let result = runtime.block_on(async {
            let mut ask = pin!(ask);
            if let Ok(answer) = timeout(*limit, &mut ask).await {
                return answer;
            }
            *was_given_up = true;
            connection.iter().for_each(JoinHandle::abort);
            ask.await
        });
        match result {
            Err(error) if error.is_closed() => {
                let end = connection.take().map(|connection| runtime.block_on(connection));
                Err(end.and_then(Result::ok).flatten().unwrap_or(error))
            }
            result => result,
        }
    }
}

/// Executes a statement in a READ COMMITTED transaction, in one packet and with one wait.
async fn in_transaction<R>(
    client: &Client,
    statement: impl Future<Output = Result<R, Error>>,
) -> Result<R, Error> {
    let mut begin = pin!(client.batch_execute("begin isolation level read committed"));
    let (mut statement, mut commit) = (pin!(statement), pin!(client.batch_execute("commit")));
    // ORDERING: each is sent when it is first looked at.
    let begun = now_or_never(begin.as_mut()).await;
    let executed = now_or_never(statement.as_mut()).await;
    let committed = now_or_never(commit.as_mut()).await;
    if begun.is_none() {
        // The error of the statement says more: if it succeeds, it was executed.
        let _ = begin.await;
    }
    let executed = match executed {
        Some(executed) => executed,
        None => statement.await,
    };
    let committed = match committed {
        Some(committed) => committed,
        None => commit.await,
    };
    executed.and_then(|answer| committed.map(|()| answer))
}

/// The output of a future that has one at once.
async fn now_or_never<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Moves the bytes of a connection until it ends, and returns why.
async fn drive<S, T>(mut connection: Connection<S, T>, heard: Arc<Notify>) -> Option<Error>
where
    Connection<S, T>: Future,
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await? {
            Ok(AsyncMessage::Notification(_)) => heard.notify_one(),
            Ok(_) => {}
            Err(error) => {
                heard.notify_one();
                return Some(error);
            }
        }
    }
}

impl RunStatement for BlockingConnection {
    /// It takes half of what a short request costs to read and plan its statement.
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        let Self { wire, client, prepared } = self;
        let Some(prepared) = prepared else {
            return self.query_typed(sql, params);
        };
        if !prepared.contains_key(sql) {
            let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
            prepared.insert(sql.to_owned(), wire.run(client.prepare_typed(sql, &types))?);
        }
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        wire.run(client.query(&prepared[sql], &values))
    }
}

impl RunStatement for BlockingTransaction<'_> {
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.query_typed(sql, params)
    }
}
