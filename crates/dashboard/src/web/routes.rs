//! All routes of the API.

use std::sync::Arc;

use axum::routing::{MethodRouter, get, post};
use scheduler_api::{
    Actions, ActionsQuery, Changed, ChangedJobs, Described, EditRequest, Info, Job, JobErrors,
    JobFilter, Jobs, JobsRequest, LimitRequest, Limits, NextQuery, NextTimes, Node, Nodes,
    PartitionRequest, PauseRequest, Preview, Queue, Queues, RuleRequest, Runs, RunsQuery, Task,
    TaskLimits, Tasks, Throughput, Timeline, Type,
};

use crate::app::App;
use crate::web::actions::Act;
use crate::web::{actions, api, jobs, limits, nodes, ops, search};

/// A route.
pub(super) struct Route {
    pub(super) path: &'static str,
    pub(super) handler: MethodRouter<Arc<App>>,
    /// True for a POST, which changes something, and is for operators.
    pub(super) is_change: bool,
    pub(super) summary: &'static str,
    pub(super) query: Option<Type>,
    pub(super) body: Option<Type>,
    pub(super) answer: AnswerKind,
    /// The status of success.
    pub(super) status: u16,
}

/// The body of an answer.
#[derive(Clone, Copy)]
pub(super) enum AnswerKind {
    Json(Type),
    /// JSON of this kind, whose form another project describes.
    Foreign(&'static str),
    Text(&'static str),
}

impl Route {
    fn read(path: &'static str, handler: MethodRouter<Arc<App>>, summary: &'static str) -> Self {
        let answer = AnswerKind::Foreign("application/json");
        Self {
            path,
            handler,
            is_change: false,
            summary,
            query: None,
            body: None,
            answer,
            status: 200,
        }
    }

    fn change(path: &'static str, handler: MethodRouter<Arc<App>>, summary: &'static str) -> Self {
        Self { is_change: true, ..Self::read(path, handler, summary) }
    }

    fn query<Q: Described>(self) -> Self {
        Self { query: Some(Q::TYPE), ..self }
    }

    fn body<B: Described>(self) -> Self {
        Self { body: Some(B::TYPE), ..self }
    }

    fn answer<A: Described>(self) -> Self {
        Self { answer: AnswerKind::Json(A::TYPE), ..self }
    }

    fn actuator(self) -> Self {
        Self { answer: AnswerKind::Foreign(ops::CONTENT_TYPE_V3), ..self }
    }

    fn text(self, kind: &'static str) -> Self {
        Self { answer: AnswerKind::Text(kind), ..self }
    }

    fn accepted(self) -> Self {
        Self { status: 202, ..self }
    }
}

/// All routes but the page and the description.
pub(super) fn all() -> Vec<Route> {
    let tasks = [of_dashboard(), of_tasks(), of_task_changes()];
    let parts = tasks.into_iter().chain([of_jobs(), of_limits(), of_monitoring()]);
    parts.flatten().collect()
}

fn of_dashboard() -> Vec<Route> {
    let read = Route::read;
    vec![
        read("/api/v1/info", get(api::info), "The dashboard, the visitor, and numbers")
            .answer::<Info>(),
        read("/api/v1/actions", get(api::actions), "What visitors changed, the latest first")
            .query::<ActionsQuery>()
            .answer::<Actions>(),
        read("/api/v1/timeline", get(api::timeline), "The last and the next hour of all tasks")
            .answer::<Timeline>(),
        read("/api/v1/throughput", get(api::throughput), "Runs and waits in the last hour")
            .answer::<Throughput>(),
        read("/api/v1/events", get(api::events), "Rows of tasks, as they change")
            .text("text/event-stream"),
    ]
}

fn of_tasks() -> Vec<Route> {
    let read = Route::read;
    vec![
        read("/api/v1/tasks", get(api::tasks), "All tasks").answer::<Tasks>(),
        read("/api/v1/tasks/{name}", get(api::task), "A task, with its next fire times")
            .answer::<Task>(),
        read("/api/v1/tasks/{name}/runs", get(api::task_runs), "Its runs, the latest first")
            .query::<RunsQuery>()
            .answer::<Runs>(),
        read("/api/v1/tasks/{name}/next", get(api::task_next), "Its next fire times")
            .query::<NextQuery>()
            .answer::<NextTimes>(),
        read("/api/v1/tasks/{name}/preview", get(actions::preview), "What another rule would be")
            .query::<RuleRequest>()
            .answer::<Preview>(),
    ]
}

fn of_task_changes() -> Vec<Route> {
    let one =
        |path, handler, summary| Route::change(path, handler, summary).answer::<Task>().accepted();
    let many = |path, handler, summary| Route::change(path, handler, summary).answer::<Changed>();
    let act = |act: Act| post(move |app, name, by| actions::done(app, name, by, act.clone()));
    vec![
        one("/api/v1/tasks/{name}/run", act(Act::Run), "Runs a task now"),
        one("/api/v1/tasks/{name}/pause", post(actions::pause), "Pauses a task")
            .body::<PauseRequest>(),
        one("/api/v1/tasks/{name}/resume", post(actions::resume), "Lets a paused task go on")
            .body::<PauseRequest>(),
        one("/api/v1/tasks/{name}/cancel", act(Act::Cancel), "Asks its runs in progress to stop"),
        one("/api/v1/tasks/{name}/enable", act(Act::Enable), "Enables a disabled task"),
        one(
            "/api/v1/tasks/{name}/reschedule",
            post(actions::reschedule),
            "Gives a task another rule",
        )
        .body::<RuleRequest>(),
        many("/api/v1/tasks:pause", post(actions::pause_many), "Pauses several tasks")
            .body::<PauseRequest>(),
        many("/api/v1/tasks:resume", post(actions::resume_many), "Lets several tasks go on")
            .body::<PauseRequest>(),
    ]
}

fn of_jobs() -> Vec<Route> {
    let read = Route::read;
    let one = |path, act: jobs::JobOperation, summary| {
        let handler = post(move |app, id, by| jobs::act(app, id, by, act));
        Route::change(path, handler, summary).answer::<Job>().accepted()
    };
    let many = |path, act: jobs::JobOperation, summary| {
        let handler = post(move |app, by, body| jobs::many(app, by, body, act));
        Route::change(path, handler, summary).body::<JobsRequest>().answer::<ChangedJobs>()
    };
    vec![
        read("/api/v1/jobs", get(jobs::jobs), "Jobs that match, the newest first")
            .query::<JobFilter>()
            .answer::<Jobs>(),
        read("/api/v1/jobs:errors", get(search::errors), "Jobs that match, counted by error")
            .query::<JobFilter>()
            .answer::<JobErrors>(),
        many("/api/v1/jobs:retry", jobs::RETRY, "Makes jobs due at once"),
        many("/api/v1/jobs:cancel", jobs::CANCEL, "Cancels jobs, or asks them to stop"),
        many("/api/v1/jobs:delete", jobs::DELETE, "Deletes jobs that are not running"),
        read("/api/v1/jobs/{id}", get(jobs::job), "A job, with its payload").answer::<Job>(),
        one("/api/v1/jobs/{id}/retry", jobs::RETRY, "Makes a job due at once"),
        one("/api/v1/jobs/{id}/cancel", jobs::CANCEL, "Cancels a job, or asks it to stop"),
        one("/api/v1/jobs/{id}/delete", jobs::DELETE, "Deletes a job that is not running"),
        Route::change("/api/v1/jobs/{id}/edit", post(jobs::edit), "Gives a job another payload")
            .body::<EditRequest>()
            .answer::<Job>()
            .accepted(),
        read("/api/v1/queues", get(jobs::queues), "Numbers of jobs in each queue")
            .answer::<Queues>(),
        Route::change("/api/v1/queues/{name}/pause", post(actions::pause_queue), "Pauses a queue")
            .body::<PauseRequest>()
            .answer::<Queue>()
            .accepted(),
        Route::change("/api/v1/queues/{name}/resume", post(actions::resume_queue), "Lets it go on")
            .body::<PauseRequest>()
            .answer::<Queue>()
            .accepted(),
        read("/api/v1/nodes", get(nodes::nodes), "The processes that use the store")
            .answer::<Nodes>(),
        Route::change("/api/v1/nodes/{name}/pause", post(nodes::pause), "Pauses a process")
            .body::<PauseRequest>()
            .answer::<Node>()
            .accepted(),
        Route::change("/api/v1/nodes/{name}/resume", post(nodes::resume), "Lets it go on")
            .body::<PauseRequest>()
            .answer::<Node>()
            .accepted(),
    ]
}

fn of_limits() -> Vec<Route> {
    let read = Route::read;
    vec![
        read("/api/v1/limits", get(limits::limits), "The limits of all tasks").answer::<Limits>(),
        read("/api/v1/tasks/{name}/limits", get(limits::of_task), "Its limits and partitions")
            .answer::<TaskLimits>(),
        Route::change(
            "/api/v1/tasks/{name}/limit",
            post(limits::change),
            "Sets a limit of it by hand, or restores those in the code",
        )
        .body::<LimitRequest>()
        .answer::<TaskLimits>()
        .accepted(),
        Route::change(
            "/api/v1/tasks/{name}/partitions/pause",
            post(limits::pause_partition),
            "Pauses the jobs of a partition",
        )
        .body::<PartitionRequest>()
        .answer::<TaskLimits>()
        .accepted(),
        Route::change(
            "/api/v1/tasks/{name}/partitions/resume",
            post(limits::resume_partition),
            "Lets the jobs of a partition go on",
        )
        .body::<PartitionRequest>()
        .answer::<TaskLimits>()
        .accepted(),
    ]
}

fn of_monitoring() -> Vec<Route> {
    let read = Route::read;
    let metrics = |path| read(path, get(ops::metrics), "Metrics for Prometheus").text("text/plain");
    vec![
        read("/actuator", get(ops::index), "The index of Spring's actuator").actuator(),
        read("/actuator/health", get(ops::readyz), "Health, as Spring Boot has it").actuator(),
        read(
            "/actuator/scheduledtasks",
            get(ops::scheduled_tasks),
            "Tasks, as Spring Boot has them",
        )
        .actuator(),
        metrics("/actuator/prometheus"),
        metrics("/metrics"),
        read("/healthz", get(ops::healthz), "UP while the server answers"),
        read(
            "/readyz",
            get(ops::readyz),
            "503 while a critical task is overdue, the store is away, or the scheduler stops",
        ),
    ]
}
