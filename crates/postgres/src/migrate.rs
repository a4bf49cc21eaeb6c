//! Migrations: numbered, all that are missing in one transaction.

use std::time::Duration;

use scheduler_store::Refusal;
use tokio_postgres::Error;

use crate::blocking_connection::BlockingConnection;
use crate::connect::Connect;
use crate::error::ConnectError;
use crate::fault::connect_error;
use crate::sql::Schema;

/// The migrations, from 1. One that was released never changes.
const MIGRATIONS: [&str; 1] = [concat!(
    include_str!("sql/0001/1_tables.sql"),
    include_str!("sql/0001/2_shared.sql"),
    include_str!("sql/0001/3_claim.sql"),
    include_str!("sql/0001/4_finish.sql"),
    include_str!("sql/0001/5_fire.sql"),
    include_str!("sql/0001/6_enqueue.sql"),
    include_str!("sql/0001/7_commands.sql"),
    include_str!("sql/0001/8_views.sql"),
)];

/// The version of the tables that this library knows, and the oldest that still reads what it writes.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;
const MIN_READER: i32 = 1;

/// Also if eight processes begin at once, one of them makes the schema, and the others wait for it.
const LOCK: &str =
    "select pg_advisory_xact_lock(hashtextextended('scheduler migrations of {s}', 0))";

/// The longest time for a migration, and those of other processes before it.
const LIMIT: Duration = Duration::from_secs(60 * 60);

const META: &str = "
do $schema$ begin
  -- PostgreSQL asks for the right to make a schema before it looks whether there is one.
  if to_regnamespace('{s}') is null then
    create schema {s};
  end if;
end $schema$;
create table if not exists {s}.meta (
  -- One row.
  is_meta boolean primary key default true check (is_meta),
  version integer not null,
  -- The oldest version of the library that may still write here.
  min_reader integer not null
);
";

/// Records the version, which never goes back.
const RECORD: &str =
    "insert into {s}.meta as m (version, min_reader) values ({version}, {min_reader})
  on conflict (is_meta) do update set version = excluded.version, min_reader = excluded.min_reader
  where m.version < excluded.version;
";

fn record(version: usize) -> String {
    RECORD
        .replace("{version}", &version.to_string())
        .replace("{min_reader}", &MIN_READER.to_string())
}

/// The SQL of all migrations, for tools: one transaction, in which each step is executed if it is missing.
pub(crate) fn script(schema: &Schema) -> String {
    script_of(schema, &MIGRATIONS)
}

fn script_of(schema: &Schema, migrations: &[&str]) -> String {
    let steps = (1..).zip(migrations).map(|(version, migration)| {
        format!(
            "
do $version_{version}$ begin if coalesce((select version from {{s}}.meta), 0) < {version} then execute $migration_{version}$
{migration}
$migration_{version}$; end if; end $version_{version}$;
"
        )
    });
    let steps: String = steps.collect();
    let record = record(migrations.len());
    schema.sql(&format!(
        "begin isolation level read committed;\n{LOCK};\n{META}{steps}\n{record}commit;\n"
    ))
}

/// Brings the tables to this version, if they are older; refuses them, if they are too new.
pub(crate) fn run(
    connect: &Connect,
    schema: &Schema,
    is_allowed: bool,
) -> Result<(), ConnectError> {
    let mut connection = connect.open("migrations")?;
    check_encoding(&mut connection)?;
    let found = stored(&mut connection, schema).map_err(|error| connect_error(&error))?;
    if is_current(schema, found).map_err(|refusal| newer(&refusal))? {
        return check_rights(&mut connection, schema);
    }
    if !is_allowed {
        let version = found.map_or(0, |(version, _)| version);
        return Err(ConnectError::NotMigrated(format!(
            "the tables in schema `{}` have version {version}, and {VERSION} is needed\n\
             help: execute `Postgres::migrations`, or allow `migrate`",
            schema.name()
        )));
    }
    connection.limit(LIMIT);
    let found = migrate(&mut connection, schema).map_err(|error| connect_error(&error))?;
    is_current(schema, found).map_err(|refusal| newer(&refusal))?;
    check_rights(&mut connection, schema)
}

/// In another encoding not every text of a job can be stored.
fn check_encoding(connection: &mut BlockingConnection) -> Result<(), ConnectError> {
    let row = connection.query_typed_one("select current_setting('server_encoding')", &[]);
    let encoding: String =
        row.and_then(|row| row.try_get(0)).map_err(|error| connect_error(&error))?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(ConnectError::Refused(format!(
        "the encoding of the database is {encoding}, which cannot store each text\n\
         help: create database NAME encoding 'UTF8' template template0"
    )))
}

/// Every right that a program needs, by table.
const RIGHTS: &str = "
select string_agg(r.name || ': ' || r.missing, ', ' order by r.name) from (
  select t.name, string_agg(p.name, ' ' order by p.name) as missing
  from (values ('session'), ('schedule'), ('job'), ('key'), ('pause'), ('done')) t(name)
  cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p(name)
  where not has_table_privilege('{s}.' || t.name, p.name) group by t.name
  union all
  select 'meta', 'UPDATE' where not has_table_privilege('{s}.meta', 'UPDATE')
  union all
  select 'fence', 'UPDATE' where not has_sequence_privilege('{s}.fence', 'UPDATE')
  union all
  select 'functions', 'EXECUTE' where exists (select from pg_proc f
    where f.pronamespace = '{s}'::regnamespace and not has_function_privilege(f.oid, 'EXECUTE'))) r";

/// A store that cannot be written is an error of the start.
fn check_rights(connection: &mut BlockingConnection, schema: &Schema) -> Result<(), ConnectError> {
    let refused = |error: Error| connect_error(&error);
    let row = connection.query_typed_one(&schema.sql(RIGHTS), &[]).map_err(refused)?;
    if let Some(missing) = row.try_get::<_, Option<String>>(0).map_err(refused)? {
        let name = schema.name();
        return Err(ConnectError::Refused(format!(
            "the role lacks rights in schema `{name}`: {missing}\n\
             help: grant them as docs/cluster.md lists them"
        )));
    }
    // A standby, or a database that is read only, refuses it.
    let write = "update {s}.meta set version = version where false";
    connection.query_typed(&schema.sql(write), &[]).map(drop).map_err(refused)
}

fn newer(refusal: &Refusal) -> ConnectError {
    ConnectError::NewerSchema(refusal.to_string())
}

/// Refuses tables that a newer library has changed so that this one does not understand them. Returns true if no migration
/// is missing.
pub(crate) fn is_current(schema: &Schema, found: Option<(i32, i32)>) -> Result<bool, Refusal> {
    let Some((version, min_reader)) = found else { return Ok(false) };
    if min_reader > VERSION {
        return Err(Refusal::NewerSchema(format!(
            "the tables in schema `{}` have version {version}, which only libraries from version {min_reader} of the tables \
             on understand; this one has {VERSION}\nhelp: deploy the newer build everywhere",
            schema.name()
        )));
    }
    Ok(version >= VERSION)
}

/// Refuses a session as `is_current` does, and remembers that.
pub(crate) fn admit(connect: &Connect, schema: &Schema, found: (i32, i32)) -> Result<(), Refusal> {
    let is_current = is_current(schema, Some(found));
    if let Err(Refusal::NewerSchema(reason)) = &is_current {
        connect.refuse(reason.clone());
    }
    is_current.map(drop)
}

/// Refuses tables that this build does not understand.
pub(crate) fn check(
    connection: &mut BlockingConnection,
    schema: &Schema,
) -> Result<(), ConnectError> {
    let found = stored(connection, schema).map_err(|error| connect_error(&error))?;
    is_current(schema, found).map(drop).map_err(|refusal| newer(&refusal))
}

/// Returns version and oldest reader.
fn stored(
    connection: &mut BlockingConnection,
    schema: &Schema,
) -> Result<Option<(i32, i32)>, Error> {
    let exists = schema.sql("select to_regclass('{s}.meta') is not null");
    if !connection.query_typed_one(&exists, &[])?.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    let meta =
        connection.query_typed_opt(&schema.sql("select version, min_reader from {s}.meta"), &[])?;
    meta.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

fn migrate(
    connection: &mut BlockingConnection,
    schema: &Schema,
) -> Result<Option<(i32, i32)>, Error> {
    connection.transact(|tx| {
        // The schema itself is made under the lock, too: `if not exists` alone fails in a race.
        tx.batch_execute(&schema.sql(&format!("set local statement_timeout = 0; {LOCK}; {META}")))?;
        let row =
            tx.query_typed_opt(&schema.sql("select version, min_reader from {s}.meta"), &[])?;
        let found =
            row.map(|row| Ok::<_, Error>((row.try_get(0)?, row.try_get(1)?))).transpose()?;
        let version = found.map_or(0, |(version, _): (i32, i32)| version);
        if found.is_some_and(|(_, min_reader)| min_reader > VERSION) || version >= VERSION {
            return Ok(found);
        }
        for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
            tx.batch_execute(&schema.sql(migration))?;
        }
        tx.batch_execute(&schema.sql(&record(MIGRATIONS.len())))?;
        Ok(Some((VERSION, MIN_READER)))
    })
}

#[cfg(test)]
mod tests {
    use postgres_server::Server;

    use super::script_of;
    use crate::sql::Schema;

    #[test]
    fn a_printed_script_executes_what_is_missing_and_nothing_twice() {
        let Some(server) = Server::start() else { return };
        let schema = Schema::new("printed").expect("a name");
        let one = "create table {s}.one (); create function {s}.f() returns int language sql as $$ select 1 $$;";
        let two = "alter table {s}.one add two int; insert into {s}.one values (2);";
        let execute = |migrations: &[&str]| {
            let script = script_of(&schema, migrations);
            server.psql(&format!("{script} select version, min_reader from printed.meta"))
        };
        assert_eq!(execute(&[one]), "1|1");
        assert_eq!(execute(&[one]), "1|1");
        assert_eq!(execute(&[one, two]), "2|1");
        assert_eq!(execute(&[one, two]), "2|1");
        // The migration of an older build changes nothing.
        assert_eq!(execute(&[one]), "2|1");
        assert_eq!(server.psql("select printed.f(), two from printed.one"), "1|2");
    }
}
