//! Fires ticks.

use scheduler_store::{Fire, Fired, Next, OnBusy, Uuid};
use tokio_postgres::Error;
use tokio_postgres::types::Type;

use crate::blocking_connection::{BlockingConnection, Run};
use crate::job;
use crate::schedule;
use crate::value::{At, Params, long};

/// The statement that fires a tick.
pub(crate) const FIRE: &str = "select * from {s}.fire(row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)::{s}.firing)";

/// The statement that reads a schedule by name.
pub(crate) const SCHEDULE: &str = "select {schedule_names} from {s}.schedules(array[$1])";

/// Fires a tick. A refusal is answered with the schedule as it is.
pub(crate) fn fire(
    connection: &mut BlockingConnection,
    sql: &str,
    schedule_sql: &str,
    request: &Fire,
) -> Result<Fired, Error> {
    let next_at = if let Next::At(tick) = request.next { Some(At(tick)) } else { None };
    let tick = request.job.as_ref();
    let on_busy = match request.on_busy {
        OnBusy::Skip => "skip",
        OnBusy::Queue => "queue",
        OnBusy::Wait => "wait",
    };
    let params: Params<'_> = &[
        (&request.session.as_uuid(), Type::UUID),
        (&request.schedule, Type::TEXT),
        (&request.rule, Type::TEXT),
        (&At(request.seen), Type::TIMESTAMPTZ),
        (&request.pause.map(|pause| At(pause.since)), Type::TIMESTAMPTZ),
        (&request.pause.and_then(|pause| pause.until).map(At), Type::TIMESTAMPTZ),
        (&At(request.cursor), Type::TIMESTAMPTZ),
        (&request.next.word(), Type::TEXT),
        (&next_at, Type::TIMESTAMPTZ),
        (&tick.map(|tick| tick.id.as_uuid()), Type::UUID),
        (&tick.map(|tick| At(tick.tick)), Type::TIMESTAMPTZ),
        (&tick.map(|tick| long(tick.missed)), Type::INT8),
        (&tick.map(|tick| At(tick.run_at)), Type::TIMESTAMPTZ),
        (&on_busy, Type::TEXT),
        (&long(request.skips.overlap), Type::INT8),
        (&long(request.skips.missed), Type::INT8),
        (&long(request.skips.paused), Type::INT8),
        (&request.claim.map(i64::from), Type::INT8),
        (&At(request.not_after), Type::TIMESTAMPTZ),
    ];
    let rows = connection.rows(sql, params)?;
    let Some(row) = rows.first() else { return Ok(Fired::Ended) };
    Ok(match row.try_get(0)? {
        "moved" => {
            let is_claimed = row.try_get::<_, Option<Uuid>>(1)?.is_some();
            let job = is_claimed.then(|| job::read(row, 1)).transpose()?;
            Fired::Moved(job.map(Box::new))
        }
        "skipped" => Fired::Skipped,
        "queued" => Fired::Queued,
        "busy" => Fired::Busy,
        "too_early" => Fired::TooEarly,
        "ended" => Fired::Ended,
        "locked" => Fired::Locked,
        _ => {
            let params: Params<'_> = &[(&request.schedule, Type::TEXT)];
            let row = connection.query_typed_opt(schedule_sql, params)?;
            let schedule = row.and_then(|row| schedule::read(&row).ok());
            Fired::Refused(schedule.map(Box::new))
        }
    })
}
