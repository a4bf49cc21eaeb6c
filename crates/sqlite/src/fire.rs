//! A tick that fires.

use scheduler_store::{Fire, Fired, OnBusy};

use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn fire(&self, request: &Fire) -> rusqlite::Result<Fired> {
        if !self.is_alive(request.session)? {
            return Ok(Fired::Ended);
        }
        let Some(mut schedule) = self.schedule(&request.schedule)? else {
            return Ok(Fired::Refused(None));
        };
        let tick = request.job.as_ref();
        if !request.has_seen(&schedule) {
            return Ok(Fired::Refused(Some(Box::new(schedule))));
        }
        if self.now < request.cursor || tick.is_some_and(|job| self.now < job.tick) {
            return Ok(Fired::TooEarly);
        }
        let is_blocked =
            tick.is_some() && schedule.is_exclusive() && self.busy(&request.schedule)?.is_some();
        if is_blocked && request.on_busy == OnBusy::Wait {
            return Ok(Fired::Busy);
        }
        (schedule.cursor, schedule.next) = (request.cursor, request.next);
        schedule.skips = schedule.skips.plus(request.skips);
        let fired = match tick {
            None => Fired::Moved(None),
            Some(tick) if is_blocked => {
                let skipped = match request.on_busy {
                    OnBusy::Queue => schedule.waiting.replace(tick.clone()),
                    _ => Some(tick.clone()),
                };
                schedule.skips.overlap += u64::from(skipped.is_some());
                if request.on_busy == OnBusy::Queue { Fired::Queued } else { Fired::Skipped }
            }
            Some(tick) => {
                let is_new = self.insert_of(&schedule, tick, false)?;
                if is_new {
                    schedule.fired += 1;
                    schedule.last_fired = Some(tick.tick);
                }
                let is_claimed = is_new && request.claim && tick.run_at <= self.now;
                let row = if is_claimed { self.find(tick.id)? } else { None };
                let job = row.map(|row| self.claim(row, request.session)).transpose()?;
                Fired::Moved(job.map(Box::new))
            }
        };
        self.write_schedule(&schedule)?;
        Ok(fired)
    }
}
