//! Columns as PostgreSQL has them: types, values and lists.

use std::borrow::Cow;
use std::error::Error;
use std::sync::LazyLock;

use scheduler_store::{
    ACTION_COLUMNS, Column, ColumnKind, ColumnValue, EndedColumn, JOB_COLUMNS, JobRow,
    LIMIT_COLUMNS, NEW_JOB_COLUMNS, NewColumn, SCHEDULE_COLUMNS, StoreTime,
};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

const TABLES: &str = include_str!("sql/0001/1_tables.sql");

/// The name of a column. A choice is a flag here, named for its second word.
pub(crate) fn name(column: &'static str) -> &'static str {
    match column {
        "on_lost" => "is_abandoned",
        "key_until" => "is_key_until_start",
        "cursor" => "cursor_at",
        "next" => "next_kind",
        "next_tick" => "next_at",
        "pause_by" => "paused_by",
        same => same,
    }
}

/// The type of a column, its name, and the type of an array of its values.
pub(crate) fn type_of(kind: ColumnKind) -> (Type, &'static str, Type) {
    match kind {
        ColumnKind::Uuid => (Type::UUID, "uuid", Type::UUID_ARRAY),
        ColumnKind::Text | ColumnKind::Words(_) => (Type::TEXT, "text", Type::TEXT_ARRAY),
        ColumnKind::Bytes => (Type::BYTEA, "bytea", Type::BYTEA_ARRAY),
        ColumnKind::Flag | ColumnKind::Choice(_) => (Type::BOOL, "boolean", Type::BOOL_ARRAY),
        ColumnKind::Time => (Type::TIMESTAMPTZ, "timestamptz", Type::TIMESTAMPTZ_ARRAY),
        ColumnKind::Rank => (Type::INT2, "smallint", Type::INT2_ARRAY),
        ColumnKind::Count => (Type::INT4, "integer", Type::INT4_ARRAY),
        ColumnKind::Number | ColumnKind::AtLeastOne | ColumnKind::Long | ColumnKind::Micros => {
            (Type::INT8, "bigint", Type::INT8_ARRAY)
        }
    }
}

/// A value that is a parameter.
#[derive(Debug)]
pub(crate) struct BoundValue<'a>(pub(crate) ColumnKind, pub(crate) ColumnValue<'a>);

impl ToSql for BoundValue<'_> {
    fn to_sql(
        &self,
        type_: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (&self.1, self.0) {
            (ColumnValue::Null, _) => Ok(IsNull::Yes),
            (ColumnValue::Uuid(id), _) => id.to_sql(type_, out),
            (ColumnValue::Text(text), _) => text.to_sql(type_, out),
            (ColumnValue::Bytes(bytes), _) => bytes.as_ref().to_sql(type_, out),
            (ColumnValue::Int(flag), ColumnKind::Flag | ColumnKind::Choice(_)) => {
                (*flag != 0).to_sql(type_, out)
            }
            (ColumnValue::Int(at), ColumnKind::Time) => {
                At(StoreTime::from_micros(*at)).to_sql(type_, out)
            }
            (ColumnValue::Int(rank), ColumnKind::Rank) => i16::try_from(*rank)?.to_sql(type_, out),
            (ColumnValue::Int(count), ColumnKind::Count) => {
                i32::try_from(*count)?.to_sql(type_, out)
            }
            (ColumnValue::Int(number), _) => number.to_sql(type_, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Reads the value in this place of a row. A number outside of its range is moved into it, and none stands for an unknown word.
pub(crate) fn value<'a, R>(
    row: &'a Row,
    at: usize,
    column: &Column<R>,
) -> Result<Option<ColumnValue<'a>>, tokio_postgres::Error> {
    fn get<'a, T: FromSql<'a>>(
        row: &'a Row,
        at: usize,
    ) -> Result<Option<T>, tokio_postgres::Error> {
        row.try_get(at)
    }
    let number = match column.kind {
        ColumnKind::Uuid => {
            return Ok(Some(get(row, at)?.map_or(ColumnValue::Null, ColumnValue::Uuid)));
        }
        ColumnKind::Text | ColumnKind::Words(_) => {
            let text = get::<&str>(row, at)?;
            let is_unknown = matches!((column.kind, text), (ColumnKind::Words(words), Some(text)) if !words.contains(&text));
            let value =
                text.map_or(ColumnValue::Null, |text| ColumnValue::Text(Cow::Borrowed(text)));
            return Ok((!is_unknown).then_some(value));
        }
        ColumnKind::Bytes => {
            let bytes = get::<&[u8]>(row, at)?;
            return Ok(Some(
                bytes.map_or(ColumnValue::Null, |bytes| ColumnValue::Bytes(Cow::Borrowed(bytes))),
            ));
        }
        ColumnKind::Flag | ColumnKind::Choice(_) => get(row, at)?.map(i64::from as fn(bool) -> i64),
        ColumnKind::Time => get::<At>(row, at)?.map(|at| at.0.as_micros()),
        ColumnKind::Rank => get::<i16>(row, at)?.map(i64::from),
        ColumnKind::Count => get::<i32>(row, at)?.map(i64::from),
        ColumnKind::Number | ColumnKind::AtLeastOne | ColumnKind::Long | ColumnKind::Micros => {
            get(row, at)?
        }
    };
    let range = column.kind.range();
    let number = number.map(|number| number.clamp(*range.start(), *range.end()));
    Ok(Some(number.map_or(ColumnValue::Null, ColumnValue::Int)))
}

/// The columns of a job that programs read.
pub(crate) fn shown() -> impl Iterator<Item = &'static Column<JobRow>> {
    JOB_COLUMNS.iter().filter(|column| !column.is_hidden)
}

/// The columns of a new job. The store finds out by itself whether one was sent before.
pub(crate) fn new() -> impl Iterator<Item = &'static NewColumn> {
    NEW_JOB_COLUMNS.iter().filter(|column| column.name != "resent")
}

/// Lists of columns, each with the name that stands for it in a template.
static LISTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let kept = || NEW_JOB_COLUMNS.iter().filter_map(|column| Some((column, column.same?)));
    let json_type = |kind| match kind {
        ColumnKind::Bytes => "text",
        ColumnKind::Time => "bigint",
        kind => type_of(kind).1,
    };
    let json_value = |column: &NewColumn| match column.kind {
        ColumnKind::Bytes => format!("coalesce(convert_to(j.{}, 'UTF8'), ''::bytea)", column.name),
        ColumnKind::Time => format!("{{instant(j.{})}}", column.name),
        _ => format!("j.{}", column.name),
    };
    let table = || table().filter(|name| !["kind", "lane"].contains(name));
    vec![
        ("{job_columns}", list(shown(), |column| format!("job.{}", name(column.name)))),
        ("{job_names}", list(shown(), |column| name(column.name).to_owned())),
        (
            "{job_types}",
            list(shown(), |column| format!("{} {}", name(column.name), type_of(column.kind).1)),
        ),
        ("{table_names}", list(table(), str::to_owned)),
        ("{table_values_of_v}", list(table(), |name| format!("v.{name}"))),
        (
            "{new_parameters}",
            list(new(), |column| format!("p_{} {}[]", column.name, type_of(column.kind).1)),
        ),
        ("{new_arguments}", list(new(), |column| format!("p_{}", column.name))),
        ("{new_names}", list(new(), |column| column.name.to_owned())),
        ("{new_same}", list(kept(), |(_, same)| name(same).to_owned())),
        ("{new_same_of_u}", list(kept(), |(column, _)| format!("u.{}", column.name))),
        ("{new_same_of_r}", list(kept(), |(column, _)| format!("r.{}", column.name))),
        (
            "{new_replaced}",
            list(kept().filter(|(column, _)| column.replaces), |(column, same)| {
                format!("{} = r.{}", name(same), column.name)
            }),
        ),
        ("{new_json}", list(new(), |column| format!("{} {}", column.name, json_type(column.kind)))),
        (
            "{new_arrays}",
            list(new(), |column| {
                format!("array_agg({} order by j.n) as {}", json_value(column), column.name)
            }),
        ),
        ("{new_arrays_of_v}", list(new(), |column| format!("v.{}", column.name))),
        ("{action_names}", list(&ACTION_COLUMNS, |column| column.name.to_owned())),
        ("{schedule_names}", schedule_names("")),
        ("{limit_names}", list(&LIMIT_COLUMNS, |column| column.name.to_owned())),
        ("{schedule_names_of_d}", schedule_names("(d.schedule).")),
    ]
});

fn schedule_names(prefix: &str) -> String {
    list(&SCHEDULE_COLUMNS, |column| format!("{prefix}{}", name(column.name)))
}

/// The statement that writes a limit.
pub(crate) fn upsert_limit() -> String {
    let values = list(1..=LIMIT_COLUMNS.len(), |number| format!("${number}"));
    format!("select {{s}}.write_limit(row({values})::{{s}}.task_limit)")
}

fn list<T>(all: impl IntoIterator<Item = T>, text: impl FnMut(T) -> String) -> String {
    all.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A template with the lists in it.
pub(crate) fn with_lists(template: &str) -> String {
    LISTS.iter().fold(template.to_owned(), |text, (name, list)| match text.contains(name) {
        true => text.replace(name, list),
        false => text,
    })
}

/// The statement that writes a schedule, whose lock or name the transaction has.
pub(crate) fn upsert() -> String {
    let values = list(1..=SCHEDULE_COLUMNS.len(), |number| format!("${number}"));
    let sets =
        list(&SCHEDULE_COLUMNS[1..], |column| format!("{0} = excluded.{0}", name(column.name)));
    format!(
        "insert into {{s}}.schedule ({{schedule_names}}) values ({values}) on conflict (name) do update set {sets}"
    )
}

/// The statement that enqueues a batch.
pub(crate) fn enqueue() -> String {
    let values = list(1..=new().count() + 2, |number| format!("${number}"));
    format!("select outcome, other from {{s}}.enqueue_jobs({values})")
}

/// The names of the columns of the table `job`, in its order.
fn table() -> impl Iterator<Item = &'static str> {
    let table = TABLES.split_once("create table {s}.job (\n").map_or("", |(_, table)| table);
    let lines = table.lines().take_while(|line| !line.starts_with(')'));
    let columns = lines.filter_map(|line| line.strip_prefix("  "));
    let names = columns.filter_map(|line| line.split(' ').next());
    names.filter(|name| name.starts_with(|letter: char| letter.is_ascii_lowercase()))
}

/// The columns of jobs that the table `done` has as arrays, beside the identity, in the order of the table `job`.
fn done() -> impl Iterator<Item = (&'static str, &'static Column<JobRow>)> {
    table().filter_map(|of_table| {
        let mut columns = JOB_COLUMNS.iter();
        let column = columns.find(|column| name(column.name) == of_table)?;
        // One row has the jobs of one session.
        let is_array = column.ended != EndedColumn::Apart && of_table != "session";
        is_array.then_some((of_table, column))
    })
}

/// Joins a text for each column of `done`.
pub(crate) fn each_done(
    separator: &str,
    text: impl Fn(&str, &'static Column<JobRow>) -> String,
) -> String {
    let texts: Vec<_> = done().map(|(name, column)| text(name, column)).collect();
    texts.join(separator)
}

/// The arrays of a row of `done`, from jobs `j`.
pub(crate) fn packed() -> String {
    let columns = each_done(", ", |name, column| {
        let all = format!("array_agg(j.{name})");
        let is_one = match (column.ended, column.kind) {
            (EndedColumn::Each | EndedColumn::Apart, _) => return all,
            (EndedColumn::Same, _) => format!("({all})[1] = all({all})"),
            (EndedColumn::Blank, _) if column.is_nullable => format!("count(j.{name}) = 0"),
            (EndedColumn::Blank, ColumnKind::Bytes) => format!("max(octet_length(j.{name})) = 0"),
            (EndedColumn::Blank, ColumnKind::Flag | ColumnKind::Choice(_)) => {
                format!("false = all({all})")
            }
            (EndedColumn::Blank, _) => format!("0 = all({all})"),
        };
        format!("case when {is_one} then ({all})[1:1] else {all} end")
    });
    format!("array_agg(j.id), {columns}")
}

/// The arrays of a row of `done` that has nothing of its jobs `j` but their identities, and who has ended them.
pub(crate) fn gone() -> String {
    let columns = each_done(", ", |name, column| match name {
        "fence" => "array_agg(j.fence)".to_owned(),
        "is_abandoned" => {
            "case when bool_or(j.is_abandoned) then array_agg(j.is_abandoned) else array[false] end"
                .to_owned()
        }
        "state" => "array['done']".to_owned(),
        _ => format!("'{{}}'::{}[]", type_of(column.kind).1),
    });
    format!("array_agg(j.id), {columns}")
}

/// A row of `job` for each element `u` of a row `d` of `done`, whose first elements are in `c`.
pub(crate) fn unpacked() -> String {
    list(table(), |name| {
        let value = match name {
            "id" => "u.id".to_owned(),
            "session" => "d.session".to_owned(),
            "finished_at" => "d.ended_at".to_owned(),
            "is_cancel_requested" => "false".to_owned(),
            "kind" => "0::bigint".to_owned(),
            "lane" => "null::text".to_owned(),
            "seen_due_at" | "held_until" => "null::timestamptz".to_owned(),
            name => format!("case when c.is_one_{name} then c.one_{name} else u.{name} end"),
        };
        format!("{value} as {name}")
    })
}

/// The columns of a job that its end does not change.
pub(crate) fn unchanged() -> String {
    let changed =
        ["state", "attempt", "undecoded", "lost", "max_attempts", "error", "attempts", "progress"];
    list(done().filter(|(name, _)| !changed.contains(name)), |(name, _)| format!("j.{name}"))
}

/// A wrong value of a schedule.
pub(crate) fn shown_value(value: &ColumnValue<'_>) -> String {
    match value {
        ColumnValue::Null => "missing".to_owned(),
        ColumnValue::Int(number) => count(*number).to_string(),
        other => other.text().to_owned(),
    }
}

/// From 1970 to 2000, where PostgreSQL begins to count, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;

/// The parameters of a statement.
pub(crate) type Params<'a> = &'a [Param<'a>];

/// A parameter, and its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// An instant as `timestamptz`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) StoreTime);

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&(self.0.as_micros() - EPOCH).to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(type_: &Type) -> bool {
        *type_ == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(StoreTime::from_micros(micros.saturating_add(EPOCH))))
    }

    fn accepts(type_: &Type) -> bool {
        *type_ == Type::TIMESTAMPTZ
    }
}

/// A count as `bigint`, at most its greatest value.
pub(crate) fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from `bigint`: negative ones, which only other programs write, are zero.
pub(crate) fn count(long: i64) -> u64 {
    u64::try_from(long).unwrap_or(0)
}

/// As [`count`], in 32 bits.
pub(crate) fn small(long: i64) -> u32 {
    u32::try_from(count(long)).unwrap_or(u32::MAX)
}
