//! Fires a tick.

use scheduler_store::{Fire, FireStep, Fired};

use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn fire(&self, request: &Fire) -> rusqlite::Result<Fired> {
        if !self.is_alive(request.session)? {
            return Ok(Fired::Ended);
        }
        let Some(mut schedule) = self.schedule(&request.schedule)? else {
            return Ok(Fired::Refused(None));
        };
        let is_busy = self.busy(&request.schedule)?.is_some();
        let fired = match schedule.fire(request, self.now, is_busy) {
            FireStep::Answer(unchanged @ (Fired::Refused(_) | Fired::TooEarly | Fired::Busy)) => {
                return Ok(unchanged);
            }
            FireStep::Answer(fired) => fired,
            FireStep::Insert(tick) => {
                let is_new = self.insert_of(&schedule, &tick, false)?;
                if is_new {
                    schedule.has_fired(tick.tick);
                }
                let of = &schedule.definition;
                let is_paused = || -> rusqlite::Result<bool> {
                    Ok(self.pauses()?.iter().any(|pause| pause.scope.has(&of.task, &of.queue)))
                };
                let is_known = request.claim.is_some_and(|known| of.payload.version <= known);
                let is_claimed = is_new && is_known && tick.run_at <= self.now && !is_paused()?;
                let row = if is_claimed { self.find(tick.id)? } else { None };
                let job = row.map(|row| self.claim(row, request.session)).transpose()?;
                Fired::Moved(job.map(Box::new))
            }
        };
        self.write_schedule(&schedule)?;
        Ok(fired)
    }
}
