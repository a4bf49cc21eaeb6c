//! The requests and answers of processes, and their lives.

use std::time::Duration;

use scheduler_store::{SessionId, StoreError};

use super::facts::{Asked, Checker, LifeFacts};
use scheduler_node::Tick;
use scheduler_node::{Answer, Channel, Request, RequestId};

/// A second of true time.
const SECOND: u64 = 1_000_000_000;
/// More statements in a second than that are a loop.
const BUSIEST: usize = 300;

impl Checker {
    pub(crate) fn started(&mut self, process: usize, life: u64) {
        self.lives.insert(process, LifeFacts { life, ..LifeFacts::default() });
    }

    /// Statements while the store is away: at most two a second for each process.
    fn counts(&mut self, process: usize, now: u64) {
        let away = self.away_since.map(|since| now.saturating_sub(since));
        let Some(life) = self.lives.get_mut(&process) else { return };
        life.recent.retain(|at| now < at + SECOND);
        life.recent.push(now);
        let count = life.recent.len();
        self.must(count <= BUSIEST, || format!("process {process} asks without a pause"));
        let is_away = away.is_some_and(|away| away > 3 * SECOND);
        self.must(!is_away || count <= 3, || {
            format!("process {process} asks a store that is away {count} times in a second")
        });
    }

    /// A thread looks again by itself.
    pub(crate) fn woke(&mut self, process: usize, channel: Channel, now: u64) {
        self.now = now;
        let Some(life) = self.lives.get_mut(&process) else { return };
        if life.woken_since + SECOND < now {
            (life.woken_since, life.wakes) = (now, 0);
        }
        life.wakes += 1;
        let is_loop = life.wakes > BUSIEST;
        self.must(!is_loop, || format!("the thread of {channel:?} of process {process} spins"));
    }

    #[expect(clippy::too_many_arguments, reason = "all that is known when something is asked")]
    pub(crate) fn asked(
        &mut self,
        (process, life): (usize, u64),
        channel: Channel,
        request: RequestId,
        what: &Request,
        sent: Tick,
        lease: Duration,
        now: u64,
    ) {
        self.now = now;
        self.counts(process, now);
        let lease_of = match what {
            Request::Open(open) => Some(open.id),
            Request::Renew(renew) => Some(renew.session),
            _ => None,
        };
        let mut progress = Vec::new();
        if let Request::Renew(renew) = what {
            self.sends_progress((process, life), renew);
            progress.clone_from(&renew.progress);
        }
        let Some(facts) = self.lives.get_mut(&process).filter(|facts| facts.life == life) else {
            return;
        };
        let others = facts.asked.values().filter(|asked| asked.channel == channel).count();
        facts.asked.insert(request, Asked { channel, sent, lease_of, lease, progress });
        self.must(others == 0, || format!("two requests on {channel:?} at once"));
    }

    pub(crate) fn channel_of(&self, process: usize, request: RequestId) -> Option<Channel> {
        Some(self.lives.get(&process)?.asked.get(&request)?.channel)
    }

    pub(crate) fn given_up(&mut self, process: usize, request: RequestId) {
        if let Some(life) = self.lives.get_mut(&process) {
            life.asked.remove(&request);
        }
    }

    /// An answer arrives: a lease is valid until 0.85 of it have passed since it was asked for. A late yes is a no.
    pub(crate) fn replied(
        &mut self,
        process: usize,
        request: RequestId,
        result: &Result<Answer, StoreError>,
        now: Tick,
    ) {
        let Some(life) = self.lives.get_mut(&process) else { return };
        let Some(asked) = life.asked.remove(&request) else { return };
        if let Ok(Answer::Poll(polled)) = result
            && let Some(told) = life.polls.remove(&(request, polled.now))
        {
            life.told = told;
        }
        if let Ok(Answer::Renew(renewed)) = result
            && renewed.is_complete
        {
            let written = asked.progress.iter();
            let written = written.map(|(held, text)| ((held.job, held.fence), text.clone()));
            life.written.extend(written);
        }
        let is_yes = match result {
            Ok(Answer::Renew(renewed)) => renewed.is_alive,
            Ok(Answer::Open(_)) => true,
            _ => false,
        };
        let valid_until = asked.sent + asked.lease / 100 * 85;
        let session = asked.lease_of.and_then(|session| self.sessions.get_mut(&session));
        if let Some(session) = session.filter(|_| is_yes) {
            let is_first = matches!(result, Ok(Answer::Open(_)));
            if is_first && now < valid_until || now < session.valid_until {
                if let Ok(Answer::Open(opened)) = result {
                    let by = (session.process, session.life);
                    let registrant = self.registrants.entry(by).or_default();
                    registrant.first_opened.get_or_insert(opened.now);
                }
                session.valid_until = session.valid_until.max(valid_until);
            }
        }
    }

    /// A process takes its session for lost: it was not renewed in time, or has ended in the store.
    pub(crate) fn session_lost(&mut self, session: SessionId, now: Tick) {
        self.losses += 1;
        if let Some(facts) = self.sessions.get_mut(&session) {
            let is_right = now >= facts.valid_until || facts.ended.is_some() || self.was_set;
            facts.valid_until = Tick::ZERO;
            self.must(is_right, || "a session is lost whose lease was renewed".to_owned());
        }
    }

    pub(crate) fn store_is_away(&mut self, is_away: bool, now: u64) {
        self.away_since = is_away.then_some(now);
    }
}
