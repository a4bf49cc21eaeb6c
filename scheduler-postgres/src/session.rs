//! A connection with the statements that it has prepared.

use std::collections::HashMap;

use postgres::types::{ToSql, Type};
use postgres::{Client, Error, Row, Statement, Transaction};

use crate::value::Params;

/// Something that executes statements.
pub(crate) trait Run {
    /// Executes a statement, and returns its rows.
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error>;
}

/// A connection.
pub(crate) struct Session {
    client: Client,
    /// None if nothing may be prepared, because the next transaction may be on another connection.
    prepared: Option<HashMap<String, Statement>>,
}

impl Session {
    pub(crate) fn new(client: Client, may_prepare: bool) -> Self {
        Self { client, prepared: may_prepare.then(HashMap::new) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// The connection itself, for what is rare: nothing is prepared.
    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl Run for Session {
    /// It takes half of what a short request costs to read and plan its statement. There are few statements, so that all stay.
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        let Some(prepared) = self.prepared.as_mut() else {
            return self.client.query_typed(sql, params);
        };
        if !prepared.contains_key(sql) {
            let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
            prepared.insert(sql.to_owned(), self.client.prepare_typed(sql, &types)?);
        }
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        self.client.query(&prepared[sql], &values)
    }
}

impl Run for Transaction<'_> {
    fn rows(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.query_typed(sql, params)
    }
}
