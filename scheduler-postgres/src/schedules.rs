//! Schedules that a transaction has locked, changed as the model changes them.

use std::collections::HashSet;

use scheduler_store::{
    Command, Commanded, Definition, Registration, Rule, Schedule, SessionId, StoreError, StoreTime,
};
use tokio_postgres::types::Type;

use crate::lane::{Again, Lane};
use crate::schedule::{COLUMNS, read, upsert, write as write_row};
use crate::sql::Schema;
use crate::value::{At, Params};

/// Locks schedules, lets a step change them, and writes those that have changed, all in one transaction.
///
/// READ COMMITTED suffices: the advisory lock keeps out others that may make a schedule, and the row locks those that change
/// one; what the step needs is read after both.
pub(crate) fn change_locked<R: Send + 'static>(
    lane: &Lane,
    schema: &Schema,
    names: Vec<String>,
    session: Option<SessionId>,
    not_after: StoreTime,
    step: impl Fn(&mut Schedules) -> R + Send + 'static,
) -> Result<R, StoreError> {
    let lock = schema.sql("select pg_advisory_xact_lock(hashtextextended('schedules of {s}', 0))");
    let rows = schema.sql(&format!(
        "select {COLUMNS} from {{s}}.schedule where name = any($1) order by name for update"
    ));
    let look = schema.sql(
            "select {s}.in_time($1), exists (select from {s}.session where id = $2 and lease_until > {s}.clock()),
               array(select n from unnest($3) n where {s}.is_busy(n))",
        );
    let (write, remove) =
        (schema.sql(&upsert()), schema.sql("delete from {s}.schedule where name = any($1)"));
    lane.call(Again::Never, move |connection| {
        connection.transact(|tx| {
            tx.query_typed(&lock, &[])?;
            let found = tx.query_typed(&rows, &[(&names, Type::TEXT_ARRAY)])?;
            let session = session.map(SessionId::as_uuid);
            let params: Params<'_> = &[
                (&At(not_after), Type::TIMESTAMPTZ),
                (&session, Type::UUID),
                (&names, Type::TEXT_ARRAY),
            ];
            let row = tx.query_typed_one(&look, params)?;
            let found = found.iter().filter_map(|row| read(row).ok());
            let before: Vec<Schedule> = found.collect();
            let mut schedules = Schedules {
                now: row.try_get::<_, At>(0)?.0,
                is_alive: row.try_get(1)?,
                busy: row.try_get::<_, Vec<String>>(2)?.into_iter().collect(),
                rows: before.clone(),
                removed: Vec::new(),
            };
            let answer = step(&mut schedules);
            for row in schedules.rows.iter().filter(|row| !before.contains(row)) {
                write_row(tx, &write, row)?;
            }
            if !schedules.removed.is_empty() {
                tx.query_typed(&remove, &[(&schedules.removed, Type::TEXT_ARRAY)])?;
            }
            Ok(answer)
        })
    })
}

/// Schedules that a transaction has locked.
pub(crate) struct Schedules {
    pub(crate) now: StoreTime,
    pub(crate) is_alive: bool,
    busy: HashSet<String>,
    rows: Vec<Schedule>,
    removed: Vec<String>,
}

impl Schedules {
    fn get(&mut self, name: &str) -> Option<&mut Schedule> {
        self.rows.iter_mut().find(|row| row.definition.name == name)
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Schedule)) -> Commanded {
        match self.get(name) {
            Some(row) => {
                change(row);
                Commanded::Done
            }
            None => Commanded::NotFound,
        }
    }

    pub(crate) fn register(&mut self, definition: &Definition, opened: StoreTime) -> Registration {
        let (now, is_busy) = (self.now, self.busy.contains(&definition.name));
        let Some(row) = self.get(&definition.name) else {
            self.rows.push(Schedule::new(definition.clone(), opened, now));
            return Registration::New;
        };
        if opened < row.registrant_opened && !row.definition.is_dynamic {
            return Registration::Older;
        }
        row.registrant_opened = opened;
        match row.register(definition.clone(), now, is_busy) {
            true => Registration::Changed,
            false => Registration::Same,
        }
    }

    fn put(&mut self, definition: &Definition) -> Commanded {
        let (now, is_busy) = (self.now, self.busy.contains(&definition.name));
        let definition = Definition { is_dynamic: true, ..definition.clone() };
        match self.get(&definition.name) {
            Some(row) if !row.definition.is_dynamic => return Commanded::InCode,
            Some(row) => {
                row.register(definition, now, is_busy);
            }
            None => self.rows.push(Schedule::new(definition, now, now)),
        }
        Commanded::Done
    }
}

/// Executes a command about a schedule.
pub(crate) fn change(schedules: &mut Schedules, command: &Command) -> Commanded {
    let now = schedules.now;
    match command {
        Command::Pause { schedule, until, by, reason } => {
            schedules.change(schedule, |row| row.pause(*until, by, reason, now))
        }
        Command::Resume { schedule } => schedules.change(schedule, |row| row.resume(now)),
        Command::Reschedule { schedule, rule } => {
            let is_busy = schedules.busy.contains(schedule);
            schedules.change(schedule, |row| {
                let text = |rule: &Option<Rule>| rule.as_ref().map(|rule| rule.text.clone());
                if text(rule) != text(&row.override_rule) {
                    row.override_rule = rule.clone().map(Rule::stored);
                    row.restart(now, is_busy);
                }
            })
        }
        Command::Put { definition } => schedules.put(definition),
        Command::Remove { schedule } => {
            let answer = schedules.change(schedule, |_| ());
            if answer == Commanded::Done {
                schedules.removed.push(schedule.clone());
            }
            answer
        }
        _ => Commanded::NotFound,
    }
}
