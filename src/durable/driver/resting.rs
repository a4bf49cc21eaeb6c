//! A simulated node rests, and goes on.

use scheduler_store::SessionId;

use super::effects::NodeDriver;
use super::rest::Resting;

impl Resting for NodeDriver {
    fn work_on(&self) {
        if self.rest.as_ref().is_some_and(|rest| rest.set_until(None)) {
            self.rearm();
        }
    }

    fn catch_up(&self) {
        let Some(rest) = self.rest.as_ref().filter(|rest| rest.until().is_some()) else { return };
        let now = self.now();
        let renewed = self.node().skip_to(now);
        if let Some((session, at)) = renewed {
            rest.was_renewed(session, now.since(at));
        }
    }

    fn kept_session(&self) -> Option<SessionId> {
        self.rest.as_ref().filter(|rest| rest.reaches_store())?;
        self.node().session()
    }

    fn settle(&self, may_rest: bool, sessions: &[SessionId]) {
        let Some(rest) = &self.rest else { return };
        let may_rest = may_rest && rest.reaches_store() && rest.is_unchanged(sessions);
        let until = may_rest.then(|| self.node().rests_until(self.now())).flatten();
        if rest.set_until(until) {
            self.rearm();
        }
    }

    fn disturb(&self) {
        if let Some(rest) = &self.rest {
            rest.disturb();
        }
    }
}
