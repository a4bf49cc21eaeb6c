//! A page, a JSON API, Spring's actuator and Prometheus metrics for the tasks of [`scheduler`].
//!
//! ```no_run
//! use scheduler::{Scheduler, scheduled};
//! use scheduler_dashboard::Dashboard;
//!
//! #[scheduled(fixed_rate = "5s")]
//! fn tick() {}
//!
//! fn main() -> Result<(), scheduler::StartError> {
//!     Dashboard::new().attach(Scheduler::builder(), "127.0.0.1:9095").start()
//! }
//! ```
//!
//! prints `dashboard http://127.0.0.1:9095/#token=…`, which is to be opened in a browser. Beside a program that goes on:
//! [`Dashboard::serve`]. Inside its own axum server: [`Dashboard::router`].
//!
//! # Who gets in
//!
//! In this order, for each request:
//!
//! 1. [`serve`](Dashboard::serve) refuses an address that the network reaches, unless there is a token.
//! 2. `Host` is a loopback name, the address itself, or [allowed](Dashboard::allow_host); otherwise 403.
//! 3. A token, as `Authorization: Bearer …`; or the program [decides](Dashboard::authorize). The link has a token that was made in its
//!    fragment, which browsers never send; the page takes it from there into the storage of its tab, and sends it as a
//!    header. There are no cookies. After ten wrong tokens within a minute an address gets one answer a
//!    second, except for those who have signed in from it before.
//! 4. The [role](Role): a viewer changes nothing, and sees no [payloads](Dashboard::show_payloads). [`read_only`](Dashboard::read_only) is for all.
//! 5. A change is a POST with `Content-Type: application/json`, without an `Origin` or a `Sec-Fetch-Site` of
//!    another site. No GET changes anything, and there are no CORS headers.
//! 6. The policy of the page allows its own script and style, and requests to its own server, and nothing else.
//! 7. `/metrics` and health are public on a loopback address, but not through a proxy, and otherwise need a token, or
//!    [`public_metrics`](Dashboard::public_metrics). `/healthz` and `/readyz` say `UP` or `DOWN` to all.
//!
//! # The API
//!
//! Below `/api/v1`, in JSON; `GET /openapi.json` describes it for programs. Answers are compressed for clients that accept
//! gzip. Names are in camel case, instants are RFC 3339 in UTC, to be shown in the `zone` of the task or
//! of `info`, durations are milliseconds (`tookMs`). Absent values are left out. Later versions may
//! add names and sections. In paths a `/` in the name of a task is `%2F`; an unambiguous end of the name is enough.
//!
//! | request | answer |
//! |---|---|
//! | `GET /info` | `application`, `version`, `sections`, `now`, `zone`, `visitor`, `counts`, `down` (critical tasks that are), `pools`, `history`, `streams` |
//! | `GET /tasks` | `now`, `storeNow`, `tasks`: a row for each |
//! | `GET /tasks/{name}` | its row, with `upcoming` (the next ten fire times) and `durations` |
//! | `GET /tasks/{name}/runs?limit=100&before=17` | `runs`, the latest first, and `hasMore` |
//! | `GET /tasks/{name}/next?n=10` | `times`: `at` and, after a change of the clocks, `clockChange` |
//! | `GET /timeline` | `tasks`: `name`, `past` and `next`, a letter for each minute of the last and of the next hour: `x` a run failed, `l` late or overdue, `r` in progress, `o` succeeded, `p` paused, `n` due, `?` not kept, `.` nothing |
//! | `GET /throughput` | the last hour of this process: `all` and `queues`, each with 60 numbers of `started`, `succeeded`, `failed`, `waitMs` (mean time from due to start) and `longestWaitMs`, the present minute last; `knownSince` |
//! | `GET /actions?task=…&by=…&since=…&after=…&limit=100` | `actions`: who changed what by hand, the latest first, and `hasMore`; the next page is that `after` the last `id`. With a store those of all processes; `isPartial` if it does not answer, and they are of this one. For operators also `from` where |
//! | `GET /events` | server-sent events, see below |
//! | `POST /tasks/{name}/run` | 202 and the row; 409 if it runs already, with the reason |
//! | `POST /tasks/{name}/pause` | body: `reason`, and `until` (an instant) or `forMs`, all optional. A kind of job is paused in all processes |
//! | `POST /tasks/{name}/resume`, `/cancel`, `/enable` | `cancel` asks the runs in progress to stop; body of `resume`, as of all that end a pause: as wanted `reason` |
//! | `GET /tasks/{name}/preview?cron=…&zone=…` | `words`, `rule`, `zone` and the next five `times` that the rule would have, or what is wrong with it; also by `fixedRate`, `fixedDelay`, `initialDelay`, `at` |
//! | `POST /tasks/{name}/reschedule` | body: the same names, or `"reset": true` for the rule in the code of a durable task |
//! | `POST /tasks:pause`, `/tasks:resume` | body: `names`, `tag` or `"all": true`, and those of a pause; answer: `changed`, and `after` and `action` for the next request if there was no time for all |
//! | `POST /nodes/{name}/pause`, `/nodes/{name}/resume` | pauses a process, by its name or its session: it takes no jobs and fires no ticks; body as for a task; answer: the node |
//! | `POST /queues/{name}/pause`, `/queues/{name}/resume` | pauses the jobs of a queue in all processes: body as for a task; answer: the queue |
//!
//! With a store, also these; without, 404:
//!
//! | request | answer |
//! |---|---|
//! | `GET /jobs?state=…&queue=…&partition=…&task=…&key=…&schedule=…&error=…&limit=50&after=…` | `jobs`, the newest first, and `hasMore`; the next page is that with `after`. `error` is a part of the error, and `*` in it is any text |
//! | `GET /jobs:errors?state=…` (and the others) | `errors`: `task`, `error` with `*` in place of numbers, `count`, `firstAt`, `lastAt`; the most frequent first |
//! | `GET /jobs/{id}` | the job, with its `payload` and its `attempts` |
//! | `POST /jobs/{id}/retry`, `/cancel`, `/delete` | 202 and the job; 409 in a state in which this is not possible |
//! | `POST /jobs/{id}/edit` | body: `payload`, a text that is JSON, and if wanted its `version` and the `fence` that was seen; answer: 202 and the job. 400 if the process has the task and could not decode the payload; 409 if it is running, has ended, or was claimed since then; 403 if a part of the payload is hidden from the visitor |
//! | `POST /jobs:retry`, `/jobs:cancel`, `/jobs:delete` | body: `ids`, or `matching` with the names of `GET /jobs`, and `"dryRun": true` to change nothing; answer: `count`, and `after` and `action` if there was no time for all: the next request has both, and is the same action |
//! | `GET /limits` | `limits` of all tasks: `task`, `scope` (`all` or `each`), `code` and `byHand`, each with `text`, `running`, `rate`, `burst`, `waiting` and `ordered`; `byHand` also `by` and `reason` |
//! | `GET /tasks/{name}/limits` | its `limits`, and its `partitions` with the most due jobs, at most 50: `partition`, `due`, `running`, `opensAt`, `pause` |
//! | `POST /tasks/{name}/partitions/pause`, `…/resume` | body: `partition`, and of a pause as wanted `reason`, and `until` or `forMs`; answer: 202 and the limits |
//! | `POST /tasks/{name}/limit` | body: `scope`, and `running`, `rate` (`100/1m`), `burst`, `waiting` and `ordered` (`go_on` or `hold` behind a parked job) as wanted, `reason`; or `"reset": true` for those in the code; answer: 202 and the limits. 409 if none was set by hand |
//! | `GET /queues` | `queues`: `queue`, `due`, `later`, `retrying`, `running`, `parked`, `oldestMs`, `oldestRunningMs`, `pause`, and the same of its `tasks`, with `hasLongRun`, and of a task with a limit `held`: the due jobs that it holds back, and `oldestOpenMs`: how long the oldest has waited that may start, if none was seen to start for half a minute; `unknownTasks`: `task`, `due`, `schedules` and `nearest` of each task that no living process can run, though its jobs have been due for ten seconds (a minute in a deploy) or its schedules fire; also `version` and `knownVersion` if the payloads are too new, and `elsewhere` if a process has it that does not serve their queue; `pausedPartitions`: `partition`, `task`, `pause` |
//! | `GET /nodes` | `nodes`: `session`, `label`, `build`, `openedAt`, `hasRunOut`, `queues` (missing for all), `tasks`, `concurrency`, `clockOffsetMs` and `isClockOff`, `pause`, and the `jobs` it has; `orphans`: jobs whose process is gone; `ended`: processes that stopped or were lost (`isLost`, `foundBy`, `jobs`, `isBack`) within the last hour |
//!
//! A row has `name`, `kind`, `rule`, `words`, `expression`, `zone`, `periodMs`, `initialDelayMs`, `function`, `source`, `pool`,
//! `tags`, `isAsync`; `state`, `isEnded`, `isPaused`, `pause` (`by`, `reason`, `since`, `until`), `next`, `wouldRunAt`, `running`,
//! `runningSince`, `lateSince`, `stuckSince`, `failingSince`, `firstFailure`; `last` (`number`, `startedAt`, `endedAt`, `tookMs`, `outcome`, `message`), `lastSuccess`, `streak`,
//! `triggerFailure`; `recent` (`outcomes`, one letter for each of the last 60 runs, the latest last, and `tookMs`) and
//! `counters`.
//!
//! The row of a durable task has `isDurable`, and what the store says: `schedule` (`fired`, `lastTick`, `skipped`, `isOverridden`,
//! `overriddenBy`, `overriddenAt`, `ruleBefore`, `isWaiting`, `hasEnded`), its pause and its next tick; or `storeFailure`.
//!
//! A job has `id`, `task`, `queue`, `state`, `priority`, `key`, `attempt`, `maxAttempts`, `lost`, `undecoded`, `onLost`, `fence`,
//! `session`, `node` (the name of the process), `isCancelRequested`, `partition`, `waits`, `schedule`, `tick`, `missed`, `runAt`, `expiresAt`, `createdAt`, `startedAt`, `finishedAt`, `error`; by
//! itself also `payload` (`version`, `bytes`, and `text` with `isCut`, or `isHidden`) and `attempts`: the last ten that did not succeed,
//! the earliest first, each with `number`, `outcome` (`failed`, `gave_up`, `lost`, `undecodable`), `startedAt`, `endedAt`, `tookMs`,
//! `error` and `node`, the name of the process if it is known.
//!
//! `waits` of a job that is ready: `reason` (`later`, `paused`, `no_process`, `processes_paused`, `full`, `rate`, `turn`), `text`, and as the reason
//! has them `dueAt`, `scope`, `name`, `pause`, `running`, `limit`, `opensAt`.
//!
//! A run has `number`, `cause`, `fireTime`, `startedAt`, `tookMs`, `lateMs`, `attempts`, `outcome`, `error` (`kind`, `message`,
//! `causes`, `place`), `failedAttempts` (`attempt`, `at`, `message`) and `notes`. The last 20 have everything. Of earlier ones
//! the last texts are there that differ.
//!
//! An action has `id`, `at`, `who`, `action`, `task` (`*` if it is about none, or several), `count`, and one of `queue`, `schedule`, `job` and
//! `matching`, the words for several; `process`, one that was paused or resumed; `note`, the reason; `before` and `after`, rules or lengths of payloads; `node`, and `role` of a change in SQL.
//!
//! Refusals are `application/problem+json`, with a `detail` that says what to change.
//!
//! # Live updates
//!
//! `GET /api/v1/events` begins with an event `snapshot`, which has what `GET /tasks` has. Then `tasks` has the rows that have
//! changed, at most four times a second; a row with `isRemoved` is gone. Every 15 seconds `tick` has `now` and `count`. There
//! may be 32 streams; then a visitor with fewer streams takes one from the visitor with the most. One that does not read is closed. A client that comes again with the `id` of the last event it has seen,
//! as `Last-Event-ID`, gets what it has missed, or, if that is not kept any more, an event `reset` in place of `snapshot`.
//!
//! # For other programs
//!
//! | request | answer |
//! |---|---|
//! | `GET /actuator`, `/actuator/scheduledtasks`, `/actuator/health` | as Spring Boot 4 |
//! | `GET /metrics`, `/actuator/prometheus` | Prometheus: `scheduler_…`, and Spring's `tasks_scheduled_execution_…` and `executor_…` |
//! | `GET /healthz` | `UP` while the server answers |
//! | `GET /readyz` | 503 and `DOWN` while a task with the tag `critical` has not succeeded within its [grace](Dashboard::critical_grace), or the store has not renewed the lease of the process when that was last due; 503 and `OUT_OF_SERVICE` while the scheduler stops. With a token also the tasks, and the `reason`, `unknownTasks`, `pausedTasks` and `pausedQueues` of the store |
//!
//! In `scheduledtasks` the type of an exception is `error`, `panic`, `timeout` or `cancelled`; `target` has `.` in place of
//! `::`; one-time tasks are `custom`; and the next time of a cron task is there also while it runs.
//
// A dashboard delays no task and keeps none alive, and its memory is bounded. It lets no visitor in without a token or the program's
// consent. It never shows a past time as the next one, nor UTC without a mark, and it asks no other server.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/dashboard.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/dashboard.md")]
struct Details;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod access;
mod app;
mod dashboard;
mod health;
mod live;
mod log;
mod looks;
mod lost;
mod problem;
mod prometheus;
mod retrying;
mod server;
mod store;
mod times;
mod view;
mod web;

pub use access::{Role, Visitor};
pub use dashboard::Dashboard;
pub use server::DashboardServer;
