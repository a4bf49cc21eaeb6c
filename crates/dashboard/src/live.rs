//! Live updates: server-sent events for each watcher, bounded.
//!
//! While a client watches, and for half a minute after, a pump looks four times a second which tasks have changed, and
//! sends their rows, once, to all watchers. A watcher that has not read its last messages is dropped: its browser
//! connects again, says which update it has seen last, and gets those that came since, or a whole list if they are not
//! kept any more.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use scheduler::{TaskControl, TaskSnapshot};
use scheduler_api::{Task, Tasks, Tick};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::access::Visitor;
use crate::app::App;
use crate::times::{instant, now};
use crate::view;

const BEAT: Duration = Duration::from_millis(250);
/// Every so many beats a watcher is sent the time, so that it knows that the connection lives.
const BEATS_PER_TICK: u32 = 60;

/// For how many beats the pump goes on without a stream, so that a client that reconnects misses nothing.
const BEATS_ALONE: u32 = 120;
/// Every so many beats the store is asked for its schedules, and for the numbers of jobs.
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
        // It learns that it has missed nothing more.
        drop(watcher.sender.try_send(message("tick", &tick(app))));
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
        let store_now = Some(instant(app.store_now()));
        let list = Tasks { now: instant(now()), tasks: rows(app), store_now };
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
        if beats.is_multiple_of(BEATS_PER_LOOK) {
            // Its answer makes rows of a later update.
            let app = Arc::clone(&app.0);
            tokio::spawn(async move { app.refresh_schedules().await });
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

/// The durable tasks that have failed, and whose rows have to be sent again, because of what happened elsewhere.
fn failing(app: &App) -> BTreeSet<String> {
    let Ok(store) = app.store() else { return BTreeSet::new() };
    let here = app.tasks.list().into_iter().filter(|task| task.streak > 0);
    let names = here.map(|task| task.name().to_owned()).chain(store.all_failing());
    let failing: BTreeMap<String, u64> = names
        .filter_map(|name| app.tasks.get(&name).ok().filter(TaskControl::is_durable))
        .map(|control| (control.name().to_owned(), app.snapshot(&control).streak))
        .collect();
    store.take_failing(failing)
}

/// The rows of the tasks that have changed. Without a listener, all that run or have run in the last seconds.
fn changed(app: &App) -> Vec<Change> {
    let row = |task: &TaskSnapshot| Change::Row(Box::new(view::row(app, task)));
    let mut of_store = app.store().map(|store| store.take_changed()).unwrap_or_default();
    of_store.extend(failing(app));
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
        Ok(task) if task.name() == &*name => row(&app.snapshot(&task)),
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

/// The greatest number of watchers.
pub(crate) const WATCHERS_MAX: usize = 32;
/// The greatest number of messages that may wait for a watcher.
const MESSAGES_MAX: usize = 32;
/// The number of updates that are kept for clients that reconnect, and their greatest size in bytes.
const UPDATES_MAX: usize = 1_000;
const UPDATE_BYTES_MAX: usize = 1 << 20;

/// All watchers.
#[derive(Debug)]
pub(crate) struct Hub(Mutex<Watchers>);

#[derive(Debug)]
struct Watchers {
    /// The oldest first.
    pub(crate) list: Vec<Watcher>,
    is_pumping: bool,
    /// Odd while an update is being made.
    pub(crate) updates: u64,
    dropped: u64,
    log: UpdateLog,
}

/// A client that watches.
#[derive(Clone, Debug)]
struct Watcher {
    pub(crate) sender: mpsc::Sender<Bytes>,
    /// The name of its visitor.
    pub(crate) visitor: Arc<str>,
}

/// The last updates. Each has a number, and those before the first one that is kept are lost.
#[derive(Debug)]
struct UpdateLog {
    /// Unique among dashboards.
    dashboard: i64,
    /// The number of the pump: while there is none, changes are lost.
    pump: u64,
    updates: VecDeque<Bytes>,
    bytes: usize,
    /// The number of the last update.
    last: u64,
}

impl UpdateLog {
    fn new(dashboard: i64, pump: u64) -> Self {
        Self { dashboard, pump, updates: VecDeque::new(), bytes: 0, last: 0 }
    }

    /// Gives an update its identity, and keeps it.
    fn add(&mut self, update: &Bytes) -> Bytes {
        self.last += 1;
        let update = Bytes::from([self.id().as_ref(), update.as_ref()].concat());
        self.bytes += update.len();
        self.updates.push_back(update.clone());
        while self.updates.len() > UPDATES_MAX || self.bytes > UPDATE_BYTES_MAX {
            let Some(oldest) = self.updates.pop_front() else { break };
            self.bytes -= oldest.len();
        }
        update
    }

    /// The line with the identity of the last update.
    fn id(&self) -> Bytes {
        Bytes::from(format!("id: {:x}-{}-{}\n", self.dashboard, self.pump, self.last))
    }

    /// The updates after the one with this identity; `None` if some of them are lost.
    fn after(&self, id: &str) -> Option<Bytes> {
        let (series, number) = id.rsplit_once('-')?;
        let missed = self.last.checked_sub(number.parse().ok()?)?;
        let first = self.updates.len().checked_sub(usize::try_from(missed).ok()?)?;
        let is_same = series == format!("{:x}-{}", self.dashboard, self.pump);
        is_same.then(|| self.updates.range(first..).flatten().copied().collect())
    }
}

impl Hub {
    /// A hub without watchers. The number is unique among dashboards.
    pub(crate) fn new(number: i64) -> Self {
        let log = UpdateLog::new(number, 0);
        let list = Vec::new();
        Self(Mutex::new(Watchers { list, is_pumping: false, updates: 0, dropped: 0, log }))
    }

    fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of watchers, and the number of those that were dropped because they did not read.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let watchers = self.lock();
        let watching = watchers.list.iter().filter(|watcher| !watcher.sender.is_closed()).count();
        (watching, watchers.dropped)
    }

    /// Adds a watcher with its list; returns whether there is a pump. `None` if the list may be old.
    ///
    /// RACE: an update that was made meanwhile may be older than the list, and must not come behind it.
    fn begin(
        &self,
        watcher: &Watcher,
        list: Bytes,
        (updates, is_last): (u64, bool),
    ) -> Option<bool> {
        let mut watchers = self.lock();
        if !is_last && (watchers.updates != updates || updates % 2 != 0) {
            return None;
        }
        let was_pumping = std::mem::replace(&mut watchers.is_pumping, true);
        if !was_pumping {
            watchers.log = UpdateLog::new(watchers.log.dashboard, watchers.log.pump + 1);
        }
        // The channel is empty.
        drop(watcher.sender.try_send(watchers.log.id()));
        drop(watcher.sender.try_send(list));
        watchers.list.push(watcher.clone());
        Some(was_pumping)
    }

    /// Adds a watcher that comes again, with all that it has missed since the update with this identity. Returns false if
    /// some of that is lost.
    fn go_on(&self, watcher: &Watcher, id: &str) -> bool {
        let mut watchers = self.lock();
        let missed = watchers.log.after(id).filter(|_| watchers.is_pumping);
        let Some(missed) = missed else { return false };
        drop(watcher.sender.try_send(missed));
        watchers.list.push(watcher.clone());
        true
    }
}

impl Watchers {
    /// Sends an update to all, and keeps it.
    fn send_update(&mut self, update: &Bytes) {
        let update = self.log.add(update);
        self.send(&update);
    }

    pub(crate) fn send(&mut self, message: &Bytes) {
        self.list.retain(|watcher| match watcher.sender.try_send(message.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped += 1;
                false
            }
            Err(TrySendError::Closed(_)) => false,
        });
    }

    /// Returns true if a visitor may have one more stream. If there are as many as there may be, the visitor with the most
    /// loses the oldest, unless that would only change who has the most.
    pub(crate) fn make_room(&mut self, visitor: &str) -> bool {
        self.list.retain(|watcher| !watcher.sender.is_closed());
        if self.list.len() < WATCHERS_MAX {
            return true;
        }
        let mut counts = HashMap::<&str, usize>::new();
        for watcher in &self.list {
            *counts.entry(&watcher.visitor).or_default() += 1;
        }
        let own = counts.get(visitor).copied().unwrap_or(0);
        let most = counts.values().copied().max().unwrap_or(0);
        let has_most = |watcher: &Watcher| counts.get(&*watcher.visitor) == Some(&most);
        let oldest = self.list.iter().position(has_most).filter(|_| most > own + 1);
        oldest.map(|index| self.list.remove(index)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(updates: u64, length: usize) -> UpdateLog {
        let mut log = UpdateLog::new(10, 1);
        (0..updates).for_each(|_| drop(log.add(&Bytes::from("x".repeat(length)))));
        log
    }

    fn missed(log: &UpdateLog, id: &str) -> Option<String> {
        log.after(id).map(|missed| String::from_utf8_lossy(&missed).into_owned())
    }

    #[test]
    fn who_comes_again_gets_what_it_missed_or_hears_that_it_is_lost() {
        let all = log(3, 1);
        assert_eq!(missed(&all, "a-1-3").as_deref(), Some(""));
        assert_eq!(missed(&all, "a-1-1").as_deref(), Some("id: a-1-2\nxid: a-1-3\nx"));
        assert_eq!(missed(&all, "a-1-0").map(|text| text.len()), Some(3 * 11));
        for lost in ["a-1-4", "a-0-3", "b-1-3", "a-1", "", "-3", "3", "a-1--1"] {
            assert_eq!(missed(&all, lost), None, "{lost}");
        }
    }

    #[test]
    fn a_visitor_with_many_streams_makes_room_for_one_with_fewer() {
        let hub = Hub::new(1);
        let mut watchers = hub.lock();
        let mut kept = Vec::new();
        let mut come = |watchers: &mut Watchers, visitor: &str| {
            let is_let_in = watchers.make_room(visitor);
            if is_let_in {
                let (sender, receiver) = mpsc::channel(1);
                watchers.list.push(Watcher { sender, visitor: visitor.into() });
                kept.push(receiver);
            }
            is_let_in
        };
        let count = |watchers: &Watchers, visitor: &str| {
            watchers.list.iter().filter(|watcher| &*watcher.visitor == visitor).count()
        };
        assert!((0..WATCHERS_MAX).all(|_| come(&mut watchers, "wall")));
        assert!(!come(&mut watchers, "wall"), "a visitor does not take a stream of his own");
        assert!((0..WATCHERS_MAX / 2).all(|_| come(&mut watchers, "ops")));
        assert_eq!((count(&watchers, "wall"), count(&watchers, "ops")), (16, 16));
        assert!(!come(&mut watchers, "ops") && !come(&mut watchers, "wall"), "both have a half");
        assert!(come(&mut watchers, "third"));
        assert_eq!(watchers.list.len(), WATCHERS_MAX);
    }

    #[test]
    fn the_records_are_bounded_in_number_and_in_bytes() {
        let many = log(1_100, 1);
        assert_eq!(many.updates.len(), UPDATES_MAX);
        assert!(missed(&many, "a-1-100").is_some() && missed(&many, "a-1-99").is_none());
        let large = log(5, UPDATE_BYTES_MAX / 2);
        assert!(large.bytes <= UPDATE_BYTES_MAX && large.updates.len() == 1, "{}", large.bytes);
        assert_eq!(large.bytes, large.updates.iter().map(Bytes::len).sum::<usize>());
    }
}
