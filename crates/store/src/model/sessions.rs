//! Sessions: opened, renewed, closed, reaped; and what they register.

use std::sync::Arc;

use super::state::{SessionRow, State};
use crate::decide::EndedNodes;
use crate::id::{Fence, SessionId};
use crate::job::{ClaimRef, JobState, StoredJob};
use crate::request::{
    Close, End, Lease, Open, Opened, OtherApplication, Reap, Reaped, Register, Registered, Renew,
    Renewed, SessionInfo, reap_count,
};
use crate::schedule::{ScheduleSpec, StoredSchedule};
use crate::text::storable;
use crate::time::StoreTime;

impl State {
    pub(super) fn open(&mut self, request: &Open, now: StoreTime) -> Opened {
        if let Some(replaced) = request.replaces {
            self.sessions.remove(&replaced);
        }
        self.sessions.entry(request.id).or_insert_with(|| SessionRow {
            label: storable(&request.label),
            build: storable(&request.build),
            application: storable(&request.application),
            tasks: Arc::clone(&request.tasks),
            opened_at: now,
            lease_until: now.after(request.lease),
            renewals: 0,
        });
        let others = self.sessions.iter().filter(|(id, _)| **id != request.id);
        let others = others.filter(|(_, row)| now < row.lease_until).map(|(_, row)| {
            let (application, label) = (row.application.clone(), row.label.clone());
            let other = OtherApplication { application, label };
            (other, row.tasks.iter().map(|task| &*task.name).collect())
        });
        Opened { now, other_application: request.other_application(others) }
    }

    pub(super) fn renew(&mut self, request: &Renew, now: StoreTime) -> Renewed {
        let is_alive = self.is_alive(request.session, now);
        if let Some(row) = self.sessions.get_mut(&request.session).filter(|_| is_alive) {
            row.lease_until = now.after(request.lease);
            row.renewals += 1;
        }
        Renewed { now, is_alive }
    }

    /// The leases of all other sessions.
    #[must_use]
    pub fn leases(&self, session: SessionId, now: StoreTime) -> Vec<Lease> {
        let others = self.sessions.iter().filter(|(id, _)| **id != session);
        let lease = |(id, row): (&SessionId, &SessionRow)| Lease {
            session: *id,
            mark: row.renewals,
            has_run_out: row.lease_until <= now,
        };
        others.map(lease).collect()
    }

    pub(super) fn close(&mut self, request: &Close, now: StoreTime) {
        for held in self.held(request.session) {
            self.end_claim(request.session, held, &End::GiveBack, now);
        }
        self.sessions.remove(&request.session);
    }

    pub(super) fn register(&mut self, request: &Register, now: StoreTime) -> Registered {
        let is_alive = self.is_alive(request.session, now);
        let definitions = if is_alive { &*request.definitions } else { &[] };
        let opened = request.first_opened;
        let register = |definition: &ScheduleSpec| {
            self.on_row(&definition.name, |row, is_busy| {
                StoredSchedule::register_as(row, definition, opened, now, is_busy)
            })
        };
        Registered { now, is_alive, schedules: definitions.iter().map(register).collect() }
    }

    pub(super) fn reap(&mut self, request: &Reap, now: StoreTime) -> Reaped {
        let (mut reaped, mut ended_nodes) = (Reaped::default(), EndedNodes::default());
        for lease in &request.dead {
            let is_dead = self
                .sessions
                .get(&lease.session)
                .is_some_and(|row| row.renewals == lease.mark && row.lease_until <= now);
            if is_dead && let Some(row) = self.sessions.remove(&lease.session) {
                ended_nodes.add(lease.session, row.label);
                reaped.sessions.push(lease.session);
            }
        }
        let is_orphan = |job: &StoredJob| {
            job.state == JobState::Running
                && job.session.is_none_or(|session| !self.sessions.contains_key(&session))
        };
        let orphans = self.jobs.values().map(|row| &row.job).filter(|job| is_orphan(job));
        let orphans: Vec<_> = orphans.map(|job| (job.id, job.payload.bytes.len())).collect();
        let count = reap_count(orphans.iter().map(|(_, length)| *length));
        for (id, _) in orphans.into_iter().take(count) {
            let Some(job) = self.jobs.get_mut(&id).map(|row| &mut row.job) else { continue };
            let last = &mut self.fence;
            let next_fence = || {
                *last += 1;
                Fence(*last)
            };
            let node = ended_nodes.of(job).to_owned();
            job.lose(request, &node, next_fence, now);
            let ended = (job.state != JobState::Ready).then(|| job.origin.clone()).flatten();
            reaped.jobs.push(job.clone());
            if let Some(origin) = ended {
                self.after_job(&origin.schedule, now);
            }
        }
        reaped
    }

    pub(super) fn held(&self, session: SessionId) -> Vec<ClaimRef> {
        let jobs = self.jobs.values().map(|row| &row.job);
        let held =
            jobs.filter(|job| job.state == JobState::Running && job.session == Some(session));
        held.map(StoredJob::held).collect()
    }

    pub(super) fn session_infos(&self, now: StoreTime) -> Vec<SessionInfo> {
        let sessions = self.sessions.iter().map(|(id, row)| SessionInfo {
            id: *id,
            label: row.label.clone(),
            build: row.build.clone(),
            application: row.application.clone(),
            tasks: row.tasks.to_vec(),
            opened_at: row.opened_at,
            has_run_out: row.lease_until <= now,
        });
        sessions.collect()
    }
}
