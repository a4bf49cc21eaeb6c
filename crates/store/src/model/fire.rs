//! Fires a tick.

use super::state::State;
use crate::change::FireStep;
use crate::request::{Fire, Fired};
use crate::time::StoreTime;

impl State {
    pub(super) fn fire(&mut self, request: &Fire, now: StoreTime) -> Fired {
        if !self.is_alive(request.session, now) {
            return Fired::Ended;
        }
        let is_busy = self.busy(&request.schedule).is_some();
        let Some(schedule) = self.schedules.get_mut(&request.schedule) else {
            return Fired::Refused(None);
        };
        let tick = match schedule.fire(request, now, is_busy) {
            FireStep::Answer(fired) => return fired,
            FireStep::Insert(tick) => tick,
        };
        let (definition, is_exclusive) = (schedule.definition.clone(), schedule.is_exclusive());
        if !self.insert_of(&definition, is_exclusive, &tick, false, now) {
            return Fired::Moved(None);
        }
        if let Some(schedule) = self.schedules.get_mut(&request.schedule) {
            schedule.has_fired(tick.tick);
        }
        let is_paused = self.jobs.get(&tick.id).is_some_and(|row| self.is_paused(&row.job, now));
        let is_known = request.claim.is_some_and(|known| definition.payload.version <= known);
        let is_claimed = is_known && tick.run_at <= now && !is_paused;
        let job = is_claimed.then(|| self.claim(tick.id, request.session, now)).flatten();
        Fired::Moved(job.map(Box::new))
    }
}
