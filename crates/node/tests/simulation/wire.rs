//! The messages between processes, people and the store.

use scheduler_store::{Command, CommandOutcome, Enqueue, Enqueued, StoreError, StoreTime};

use scheduler_node::{Answer, Channel, Request, RequestId};

/// The sender of a message, which gets the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A node: the process and which of its lives.
    Node { process: usize, life: u64, channel: Channel, request: RequestId },
    /// The program, or a person, by the number of what they want.
    Client { wish: usize },
}

/// A message to the store.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) sender: Sender,
    pub(crate) sent: u64,
    pub(crate) what: What,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Node(Request),
    Enqueue(Enqueue),
    Command(Command, StoreTime),
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Node(Result<Answer, StoreError>),
    Enqueue(Result<Vec<Enqueued>, StoreError>),
    Command(Result<CommandOutcome, StoreError>),
}

/// An event at an instant of true time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A message reaches the store.
    Reach(Box<Message>),
    /// An answer reaches its sender.
    Reply(Sender, Box<Reply>),
    /// A request of a node is given up.
    Deadline { process: usize, life: u64, request: RequestId },
    /// A thread of a node looks again.
    Wake { process: usize, life: u64, channel: Channel },
    /// A process hears that something has changed in the store.
    Nudge { process: usize, life: u64 },
    /// A run reports its progress.
    Reports { process: usize, life: u64, run: usize, number: u32 },
    /// A run ends.
    RunEnds { process: usize, life: u64, run: usize },
    /// A process fails, or gets a signal.
    Process(usize, Happening),
    /// A client wants something, or wants it still.
    Wish(usize),
    /// The clock of the store is set by so many microseconds.
    Step(i64),
    /// The store goes away, or comes back.
    Store(bool),
    /// The faults end.
    Calm,
    /// The end is near: schedules are paused.
    Quiet,
    /// Look whether all is done.
    Look,
}

/// An event in the life of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Start,
    Crash,
    Freeze(u64),
    Hang,
    Stop,
}
