//! Messages reach a sink in order; a slow one loses some.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::observe::{CAPACITY, Level};
use crate::start::report::{Message, Messages, Sink};

/// Longer than anything here takes; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

/// Messages to a sink that takes each when it is let to, and what it has taken.
fn stepwise() -> (Messages, mpsc::Sender<()>, mpsc::Receiver<String>) {
    let ((step, steps), (sender, printed)) = (mpsc::channel::<()>(), mpsc::channel());
    let steps = Mutex::new(steps);
    let sink = Sink::new(move |text| {
        sender.send(text.to_owned()).unwrap();
        // At the end of the test there are no more steps.
        let _ = steps.lock().unwrap().recv();
    });
    (Messages::start(sink).unwrap(), step, printed)
}

#[test]
fn messages_of_the_stop_come_through_a_full_queue_and_the_lost_ones_are_counted() {
    let (messages, step, printed) = stepwise();
    messages.print(Message::info("stuck"));
    assert_eq!(printed.recv_timeout(LONG).unwrap(), "INFO  stuck");
    for number in 0..CAPACITY * 2 {
        messages.print(Message::new(Level::Debug, &number.to_string()));
    }
    messages.print(Message::error("failed"));
    messages.announce(Message::info("stopping"));
    drop(step);
    messages.close();
    let printed: Vec<String> = printed.iter().collect();
    let lost = CAPACITY * 2 - CAPACITY / 4 * 3;
    let [.., before, warning, failed, last] = printed.as_slice() else { panic!("{printed:?}") };
    assert_eq!(*before, format!("DEBUG {}", CAPACITY / 4 * 3 - 1));
    let head = format!("WARN  {lost} messages could not be printed: ");
    assert!(warning.starts_with(&head), "{warning}");
    assert_eq!([&**failed, last], ["ERROR failed", "INFO  stopping"]);
}

#[test]
fn a_flush_gives_up_and_a_sink_does_not_wait_for_itself() {
    let (messages, step, printed) = stepwise();
    messages.print(Message::info("stuck"));
    assert!(!messages.flush(), "it is being printed");
    drop((messages, step));
    assert_eq!(printed.iter().collect::<Vec<_>>(), ["INFO  stuck"]);
    let place = Arc::new(Mutex::new(None::<Messages>));
    let (own, (flushed, is_flushed)) = (Arc::clone(&place), mpsc::channel());
    let sink = Sink::new(move |_| {
        let messages = own.lock().unwrap().take().unwrap();
        flushed.send(messages.flush()).unwrap();
    });
    let messages = Messages::start(sink).unwrap();
    *place.lock().unwrap() = Some(messages.clone());
    messages.print(Message::info("flush"));
    assert_eq!(is_flushed.recv_timeout(LONG), Ok(true));
}

#[test]
fn a_sink_that_panics_is_given_the_next_message() {
    let (sender, printed) = mpsc::channel();
    let messages = Messages::start(Sink::new(move |text| {
        sender.send(text.to_owned()).unwrap();
        panic!("`{text}` cannot be printed");
    }));
    let messages = messages.unwrap();
    messages.announce_text("a\nb".to_owned(), Vec::new());
    messages.print(Message::info("c"));
    drop(messages);
    assert_eq!(printed.iter().collect::<Vec<_>>(), ["a\nb", "INFO  c"]);
}
