//! Migrations: numbered, all that are missing in one transaction.

use std::time::Duration;

use scheduler_store::Refusal;
use tokio_postgres::Error;

use crate::blocking_connection::BlockingConnection;
use crate::connect::Connect;
use crate::error::{ConnectError, connect_error};
use crate::sql::{Schema, functions_of};

/// The migrations, from 1. One that was released never changes.
const MIGRATIONS: [&str; 1] = [concat!(
    include_str!("sql/0001/1_tables.sql"),
    include_str!("sql/0001/2_shared.sql"),
    include_str!("sql/0001/3_lanes.sql"),
    include_str!("sql/0001/3_claim.sql"),
    include_str!("sql/0001/4_finish.sql"),
    include_str!("sql/0001/5_fire.sql"),
    include_str!("sql/0001/6_enqueue.sql"),
    include_str!("sql/0001/7_commands.sql"),
    include_str!("sql/0001/8_views.sql"),
    include_str!("sql/0001/9_requests.sql"),
    include_str!("sql/0001/10_actions.sql"),
    include_str!("sql/0001/11_rights.sql"),
)];

/// The version of the tables that this library knows, and the oldest that still reads what it writes.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;
const MIN_READER: i32 = 1;

/// Also if eight processes begin at once, one of them makes the schema, and the others wait for it.
const LOCK: &str = "set local {path}; select pg_advisory_xact_lock(hashtextextended('scheduler migrations of {s}', 0))";

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
    check_server(connect, &mut connection)?;
    check_access(&mut connection, schema)?;
    let found = stored(&mut connection, schema).map_err(|error| connect_error(&error))?;
    if is_current(schema, found).map_err(|refusal| newer(&refusal))? {
        return Ok(());
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
    check_access(&mut connection, schema)
}

/// A server on which jobs cannot be stored is an error of the start. In another encoding it cannot store each text.
fn check_server(
    connect: &Connect,
    connection: &mut BlockingConnection,
) -> Result<(), ConnectError> {
    let sql = "select pg_catalog.current_setting('server_encoding'), pg_catalog.pg_is_in_recovery(),
      pg_catalog.current_setting('transaction_read_only')::boolean, pg_catalog.quote_ident(current_user),
      pg_catalog.quote_ident(pg_catalog.current_database()), pg_catalog.current_setting('default_transaction_isolation')";
    let refused = |error: Error| connect_error(&error);
    let row = connection.query_typed_one(sql, &[]).map_err(refused)?;
    let text = |column| row.try_get::<_, String>(column).map_err(refused);
    let is = |column| row.try_get::<_, bool>(column).map_err(refused);
    let encoding = text(0)?;
    let reason = if encoding != "UTF8" {
        format!(
            "the encoding of the database is {encoding}, which cannot store each text\n\
             help: create database NAME encoding 'UTF8' template template0"
        )
    } else if is(1)? {
        "the server is a standby, which stores nothing\nhelp: name the primary server in the address"
            .to_owned()
    } else if is(2)? {
        format!(
            "the transactions of the role are read only, as where a disk is full\n\
             help: alter role {} in database {} set default_transaction_read_only = off",
            text(3)?,
            text(4)?
        )
    } else if !connect.is_pooled() && text(5)? != "read committed" {
        format!(
            "transactions are isolated as {}, and a pool of connections drops the settings that ask for another level\n\
             help: alter role {} in database {} set default_transaction_isolation = 'read committed'",
            text(5)?,
            text(3)?,
            text(4)?
        )
    } else {
        return Ok(());
    };
    Err(ConnectError::Refused(reason))
}

/// The tables that a program reads and writes.
const TABLES: &str =
    "'session', 'ended_session', 'schedule', 'job', 'key', 'pause', 'action', 'done', 'meta', 'task_limit',
     'arrival', 'failing'";

/// The rights that a program lacks, by table, and the lines that grant them.
const RIGHTS: &str = "
select string_agg(m.name || ': ' || array_to_string(m.rights, ' '), ', ' order by m.name),
  string_agg('grant ' || lower(array_to_string(m.rights, ', ')) || ' on ' || m.object || ' to ' || quote_ident(current_user) || ';',
    E'\\n      ' order by m.name)
from (
  select 'schema' as name, 'schema {s}' as object, array['USAGE'] as rights
  where not has_schema_privilege(to_regnamespace('{s}')::oid, 'USAGE')
  union all
  select c.relname, '{s}.' || c.relname, array(
    select r from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) r
    where not has_table_privilege(c.oid, r) and (c.relname <> 'meta' or r in ('SELECT', 'UPDATE')))
  from pg_class c where c.relnamespace = to_regnamespace('{s}') and c.relname in ({tables})
  union all
  select 'fence', 'sequence {s}.fence', array['UPDATE'] from pg_class c
  where c.relnamespace = to_regnamespace('{s}') and c.relname = 'fence' and not has_sequence_privilege(c.oid, 'UPDATE')
  union all
  select 'functions', 'all functions in schema {s}', array['EXECUTE'] where exists (
    select from pg_proc f where f.pronamespace = to_regnamespace('{s}') and f.proname in ({functions})
      and not has_function_privilege(f.oid, 'EXECUTE'))) m
where m.rights <> array[]::text[]";

/// The tables whose rows are hidden by row-level security, and the lines that show all of them to the role. A policy for all
/// rows, beside which no other restricts the role, hides none.
const HIDDEN: &str = "
with policy as (
  select p.polrelid, not p.polpermissive as is_restrictive, p.polpermissive and p.polcmd = '*'
    and pg_get_expr(p.polqual, p.polrelid) = 'true' and coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'true') = 'true' as is_open
  from pg_policy p where exists (select from unnest(p.polroles) r where r = 0 or pg_has_role(r, 'USAGE')))
select string_agg(c.relname, ', ' order by c.relname),
  string_agg('create policy scheduler on {s}.' || c.relname || ' to ' || quote_ident(current_user) || ' using (true);',
    E'\\n      ' order by c.relname)
from pg_class c
where c.relnamespace = to_regnamespace('{s}') and c.relname in ({tables}) and row_security_active(c.oid)
  and (exists (select from policy where polrelid = c.oid and is_restrictive)
    or not exists (select from policy where polrelid = c.oid and is_open))";

/// The schema, if every role may create something in it, and the line that ends that: a function that another role puts there could
/// be called in place of one of the store.
const WRITABLE: &str = "
select n.nspname::text, 'revoke create on schema ' || quote_ident(n.nspname) || ' from public;'
from (select to_regnamespace('{s}')::oid as oid) s left join pg_namespace n on n.oid = s.oid and has_schema_privilege('public', n.oid, 'CREATE')";

/// A schema that is open to all is an error of the start, and so is a table whose rows the role cannot all read and write.
fn check_access(connection: &mut BlockingConnection, schema: &Schema) -> Result<(), ConnectError> {
    let name = schema.name();
    let looks = [
        (WRITABLE, "every role may create functions in the schema".to_owned()),
        (RIGHTS, format!("the role lacks rights in schema `{name}`")),
        (HIDDEN, format!("row-level security hides rows from the role in schema `{name}`")),
    ];
    let refused = |error: Error| connect_error(&error);
    for (look, fault) in looks {
        let functions: Vec<_> = MIGRATIONS.into_iter().flat_map(functions_of).collect();
        let functions = format!("'{}'", functions.join("', '"));
        let look = look.replace("{tables}", TABLES).replace("{functions}", &functions);
        let look = schema.sql(&look);
        let found = connection.transact(|tx| {
            tx.batch_execute(&schema.sql("set local {path}"))?;
            let row = tx.query_typed_one(&look, &[])?;
            Ok((row.try_get::<_, Option<String>>(0)?, row.try_get::<_, Option<String>>(1)?))
        });
        if let (Some(tables), Some(lines)) = found.map_err(refused)? {
            return Err(ConnectError::Refused(format!("{fault}: {tables}\nhelp: {lines}")));
        }
    }
    Ok(())
}

fn newer(refusal: &Refusal) -> ConnectError {
    ConnectError::NewerSchema(refusal.to_string())
}

/// Refuses tables that a newer library has changed so that this one does not understand them. Returns true if no migration
/// is missing.
fn is_current(schema: &Schema, found: Option<(i32, i32)>) -> Result<bool, Refusal> {
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
    let exists = schema.sql("select pg_catalog.to_regclass('{s}.meta') is not null");
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

    use super::{MIGRATIONS, script_of};
    use crate::sql::Schema;

    #[test]
    fn each_place_in_a_migration_is_filled() {
        let schema = Schema::new("filled").expect("a name");
        let script = script_of(&schema, &MIGRATIONS);
        let is_name = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_lowercase());
        let left = script.split('{').skip(1).find(|rest| is_name(rest) && !rest.starts_with("f}"));
        assert_eq!(left, None);
        assert!(!script.contains("define "), "a definition is no statement");
    }

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
