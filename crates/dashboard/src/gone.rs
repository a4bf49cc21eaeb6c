//! Processes that used the store and died.
//!
//! The store forgets a process when another one has taken over its jobs. Remembered here are those that this process took
//! over itself, and those whose lease was seen to have run out before they vanished, with their names if they were seen.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::SessionInfo;
use scheduler_api::GoneNode;

use crate::times::instant;

/// The time for which a dead process is shown.
const KEPT_FOR: TimeDelta = TimeDelta::hours(1);
/// The number of processes that are remembered.
const PROCESSES_MAX: usize = 200;

/// The processes that were seen.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<BTreeMap<String, Process>>);

#[derive(Debug)]
struct Process {
    label: String,
    at: DateTime<Utc>,
    has_run_out: bool,
}

impl Seen {
    /// Notes the processes that there are; returns those that died within the last hour, the latest first. `taken_over`
    /// are the sessions that this process has ended.
    pub(crate) fn look(
        &self,
        now: DateTime<Utc>,
        sessions: &[SessionInfo],
        taken_over: &[(impl AsRef<str>, DateTime<Utc>)],
    ) -> Vec<GoneNode> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            let (label, has_run_out) = (session.label.clone(), session.has_run_out);
            seen.insert(session.id.to_string(), Process { label, at: now, has_run_out });
        }
        seen.retain(|_, process| now - process.at < KEPT_FOR);
        while seen.len() > PROCESSES_MAX {
            let oldest = seen.iter().min_by_key(|(_, process)| process.at);
            let Some(oldest) = oldest.map(|(session, _)| session.clone()) else { break };
            seen.remove(&oldest);
        }
        let is_there = |session: &str| sessions.iter().any(|other| other.id.to_string() == session);
        let lost = seen.iter().filter(|(_, process)| process.has_run_out);
        let lost = lost.map(|(session, process)| (&**session, process.at));
        // A session that was taken over died then, also if its lease was seen to have run out.
        let taken_over = taken_over.iter().map(|(session, at)| (session.as_ref(), *at));
        let mut gone: BTreeMap<&str, DateTime<Utc>> = lost.chain(taken_over).collect();
        gone.retain(|session, at| now - *at < KEPT_FOR && !is_there(session));
        let mut gone: Vec<_> = gone.into_iter().collect();
        gone.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        let node = |(session, at): (&str, _)| GoneNode {
            session: session.to_owned(),
            at: instant(at),
            label: seen.get(session).map(|process| process.label.clone()),
        };
        gone.into_iter().map(node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::store::{SessionId, StoreTime};

    fn id(number: u32) -> SessionId {
        format!("00000000-0000-0000-0000-{number:012}").parse().unwrap()
    }

    fn session(number: u32, label: &str, has_run_out: bool) -> SessionInfo {
        let mut session = SessionInfo::new(id(number), StoreTime::default());
        (session.label, session.has_run_out) = (label.to_owned(), has_run_out);
        session
    }

    #[test]
    fn who_died_is_known_for_an_hour_and_who_left_is_not() {
        let seen = Seen::default();
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let none: [(&str, DateTime<Utc>); 0] = [];
        let (web, left) = (session(1, "web-1", false), session(2, "web-2", false));
        let dead = session(3, "web-3", true);
        assert_eq!(seen.look(at(0), &[web.clone(), left, dead.clone()], &none), []);
        let labels =
            |gone: Vec<GoneNode>| gone.into_iter().map(|node| node.label).collect::<Vec<_>>();
        let web = [web];
        assert_eq!(labels(seen.look(at(1), &web, &none)), [Some("web-3".to_owned())]);
        let taken = [(id(2).to_string(), at(1)), (dead.id.to_string(), at(0))];
        let names = [Some("web-2".to_owned()), Some("web-3".to_owned())];
        assert_eq!(labels(seen.look(at(2), &web, &taken)), names);
        assert_eq!(seen.look(at(70), &web, &taken), []);
    }
}
