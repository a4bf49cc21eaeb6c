//! A tick that fires.

use super::state::State;
use crate::request::{Fire, Fired, OnBusy};
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
        let tick = request.job.as_ref();
        if !request.has_seen(schedule) {
            return Fired::Refused(Some(Box::new(schedule.clone())));
        }
        if now < request.cursor || tick.is_some_and(|job| now < job.tick) {
            return Fired::TooEarly;
        }
        let is_exclusive = schedule.is_exclusive();
        let is_blocked = tick.is_some() && is_busy && is_exclusive;
        if is_blocked && request.on_busy == OnBusy::Wait {
            return Fired::Busy;
        }
        (schedule.cursor, schedule.next) = (request.cursor, request.next);
        schedule.skips = schedule.skips.plus(request.skips);
        let Some(tick) = tick else { return Fired::Moved(None) };
        if is_blocked {
            let skipped = match request.on_busy {
                OnBusy::Queue => schedule.waiting.replace(tick.clone()),
                _ => Some(tick.clone()),
            };
            schedule.skips.overlap += u64::from(skipped.is_some());
            return if request.on_busy == OnBusy::Queue { Fired::Queued } else { Fired::Skipped };
        }
        let definition = schedule.definition.clone();
        if !self.insert_of(&definition, is_exclusive, tick, false, now) {
            return Fired::Moved(None);
        }
        self.has_fired(&request.schedule, tick.tick);
        let is_claimed = request.claim && tick.run_at <= now;
        let job = is_claimed.then(|| self.claim(tick.id, request.session, now)).flatten();
        Fired::Moved(job.map(Box::new))
    }
}
