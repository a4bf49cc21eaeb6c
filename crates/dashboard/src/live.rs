//! Live updates: server-sent events for each watcher, bounded in number, in rate and in what waits for a slow one.
//!
//! While a client watches, and for half a minute after, a pump looks four times a second which tasks have changed, and
//! sends their rows, once, to all watchers. A watcher that has not read its last messages is dropped: its browser
//! connects again, says which update it has seen last, and gets those that came since, or a whole list if they are not
//! kept any more.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use scheduler::TaskSnapshot;
use scheduler_api::{Task, Tasks, Tick};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::access::Visitor;
use crate::app::App;
use crate::hub::{MESSAGES_MAX, Watcher};
use crate::times::{instant, now};
use crate::view;

const BEAT: Duration = Duration::from_millis(250);
/// Every so many beats a watcher is sent the time, so that it knows that the connection lives.
const BEATS_PER_TICK: u32 = 60;

/// For how many beats the pump goes on without a stream, so that a client that reconnects misses nothing.
const BEATS_ALONE: u32 = 120;
/// Every so many beats the store is asked for its schedules.
const BEATS_PER_LOOK: u32 = 8;

/// The number of times that a new watcher tries to begin between two updates.
const TRIES_MAX: usize = 50;
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Returns a stream of events, which begins with all tasks, or with what came since the update `seen`; `None` if too
/// many watch.
pub(crate) async fn watch(
    app: &Arc<App>,
    visitor: &Visitor,
    seen: Option<&str>,
) -> Option<Response> {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let watcher = Watcher { sender, visitor: visitor.name().into() };
    if !app.hub.lock().make_room(&watcher.visitor) {
        return None;
    }
    if seen.is_some_and(|id| app.hub.go_on(&watcher, id)) {
        return Some(response(receiver));
    }
    app.refresh_schedules().await;
    // One that has missed something is sent that it has.
    let event = if seen.is_some() { "reset" } else { "snapshot" };
    let mut tries = 0;
    let is_pumping = loop {
        tries += 1;
        let updates = {
            let mut watchers = app.hub.lock();
            if !watchers.make_room(&watcher.visitor) {
                return None;
            }
            app.recorder.watch(true);
            watchers.updates
        };
        let list = Tasks { now: instant(now()), tasks: rows(app) };
        let list = message(event, &list);
        let begun = app.hub.begin(&watcher, list, (updates, tries >= TRIES_MAX));
        if let Some(is_pumping) = begun {
            break is_pumping;
        }
        tokio::time::sleep(TRY_AGAIN).await;
    };
    drop(watcher);
    if !is_pumping {
        tokio::spawn(pump(Arc::clone(app)));
    }
    Some(response(receiver))
}

fn response(receiver: mpsc::Receiver<Bytes>) -> Response {
    let mut response = Body::new(Stream(receiver)).into_response();
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    // A proxy would otherwise collect events before it passes them on.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The rows of all tasks. The trigger of a task may describe itself, so no lock may be held.
fn rows(app: &App) -> Vec<Task> {
    app.list().iter().map(|task| view::row(app, task)).collect()
}

/// Sends what has changed, until there has been no stream for a while.
async fn pump(app: Arc<App>) {
    let app = Pumping(app);
    let (mut beats, mut next_update, mut watched): (u32, u32, u32) = (0, 0, 0);
    loop {
        tokio::time::sleep(BEAT).await;
        beats = beats.wrapping_add(1);
        if beats.is_multiple_of(BEATS_PER_LOOK)
            && let Ok(store) = app.0.store()
        {
            // Its answer makes rows of a later update.
            drop(store.spawn_look());
        }
        app.0.hub.lock().updates += 1;
        let rows = if beats >= next_update { changed(&app.0) } else { Vec::new() };
        // Many changes at once come less often, so that the pump takes a small part of a core.
        let pause = u32::try_from(rows.len() / 200).unwrap_or(u32::MAX).min(8);
        let update = (!rows.is_empty())
            .then(|| message("tasks", &Update { now: instant(now()), tasks: rows }));
        let tick = beats.is_multiple_of(BEATS_PER_TICK).then(|| message("tick", &tick(&app.0)));
        next_update = beats + pause;
        let mut watchers = app.0.hub.lock();
        watchers.updates += 1;
        update.iter().for_each(|update| watchers.send_update(update));
        tick.iter().for_each(|tick| watchers.send(tick));
        watchers.list.retain(|watcher| !watcher.sender.is_closed());
        if !watchers.list.is_empty() {
            watched = beats;
        } else if beats - watched >= BEATS_ALONE {
            watchers.is_pumping = false;
            app.0.recorder.watch(false);
            return;
        }
    }
}

/// Ends the streams if the pump panics, in code of the program that redacts a text or describes a trigger: then
/// browsers connect again, which starts another pump.
struct Pumping(Arc<App>);

impl Drop for Pumping {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut watchers = self.0.hub.lock();
            watchers.list.clear();
            watchers.is_pumping = false;
            watchers.updates += watchers.updates % 2;
        }
    }
}

/// The event `tasks`.
#[derive(Serialize)]
struct Update {
    now: String,
    tasks: Vec<Change>,
}

/// A changed row, or the name of a task that is gone.
#[derive(Serialize)]
#[serde(untagged)]
enum Change {
    Row(Box<Task>),
    #[serde(rename_all = "camelCase")]
    Removed {
        name: Arc<str>,
        is_removed: bool,
    },
}

/// The rows of the tasks that have changed. Without a listener, all that run or have run in the last seconds.
fn changed(app: &App) -> Vec<Change> {
    let row = |task: &TaskSnapshot| Change::Row(Box::new(view::row(app, task)));
    let of_store = app.store().map(|store| store.take_changed()).unwrap_or_default();
    if !app.recorder.has_heard() {
        let since = now() - Duration::from_secs(2);
        let tasks = app.list();
        let is_new = |task: &&TaskSnapshot| {
            let ended = task.last_runs.first().map(|run| run.started_at + run.took);
            task.running > 0
                || ended.is_some_and(|at| at > since)
                || task.is_paused
                || of_store.contains(task.name())
        };
        return tasks.iter().filter(is_new).map(row).collect();
    }
    let mut names: BTreeSet<Arc<str>> = app.recorder.take_changed().into_iter().collect();
    // A schedule that has no task here has no row.
    let tasks = of_store.iter().filter_map(|name| app.tasks.get(name).ok());
    names.extend(tasks.map(|task| Arc::from(task.name())));
    let rows = names.into_iter().map(|name| match app.tasks.get(&name) {
        Ok(task) if task.name() == &*name => row(&task.snapshot()),
        _ => Change::Removed { name, is_removed: true },
    });
    rows.collect()
}

fn tick(app: &App) -> Tick {
    Tick { now: instant(now()), count: app.list().len() as u64 }
}

fn message(event: &str, data: &impl Serialize) -> Bytes {
    // The types of the API can always be written, and their JSON has no line breaks.
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}

/// The messages for a watcher as the body of a response; ends when the watcher was dropped.
struct Stream(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}
