//! Generated code of jobs under strict lints, used from elsewhere, too.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused)]
#![deny(unused_qualifications, unused_results, unused_lifetimes, let_underscore_drop)]
#![deny(rust_2018_idioms, future_incompatible, nonstandard_style)]

use scheduler::{Attribute, Job, JobError, Priority, Run, job};

mod mail {
    use scheduler::{Run, State, job};

    /// A mail.
    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    pub(crate) struct Mail {
        pub(crate) to: String,
    }

    /// Sends mail.
    #[job(
        name = "send-mail",
        alias = ["mail", "old-mail"],
        retry(max = 5, base = "5s", cap = "1h"),
        timeout = "10m",
        on_lost = "abandon",
        queue = "mail",
        priority = "high",
        max_concurrent = 4,
        version = 2,
        upgrade = from_v1,
        scheduler = "io",
        tags = "mail, nightly",
        crate = ::scheduler,
    )]
    pub(crate) async fn send_mail(
        host: &String,
        #[payload] mail: Mail,
        port: State<u16>,
        run: Run,
    ) -> Result<(), std::io::Error> {
        println!("{} to {} by {host}:{port}", run.attempt(), mail.to);
        Ok(())
    }

    fn from_v1(old: serde_json::Value) -> Result<Mail, String> {
        let to = old.as_str().ok_or("no receiver")?;
        Ok(Mail { to: to.to_owned() })
    }
}

/// Sweeps.
#[job(name = "sweep")]
pub fn sweep() {}

#[job(name = "puts_off")]
fn r#try(run: &Run, #[payload] days: u32) -> Result<(), JobError> {
    if run.is_lost() {
        return Err(JobError::give_up(days));
    }
    let _ = std::fs::exists("x")?;
    Ok(())
}

#[job(name = "counts", limit(rate = "100/1m"), partition = days)]
fn counts(#[payload] mut days: u32) {
    days += 1;
    assert!(days > 0);
}

#[job(
    name = "plain_outcome",
    limit(running = 50, rate = "1000/1h", burst = 5, waiting = 10_000),
    each(running = "5", rate = "100/1m", burst = 1),
    partition = (second.as_deref().unwrap_or_default(), 17),
)]
fn plain(_: &String, #[payload] (_first, second): (u8, Option<String>)) -> Result<(), &'static str> {
    second.map(drop).ok_or("nothing")
}

fn main() {
    use mail::{Mail, send_mail};
    let made: Job = send_mail::job(Mail { to: "ada".to_owned() }).priority(Priority::Low);
    assert_eq!(made.task_name(), "send-mail");
    assert_ne!(sweep::job().id(), sweep::job().id());
    sweep();
    assert_eq!(r#try::job(3).task_name(), "puts_off");
    assert_eq!(plain::job((1, None)).task_name(), "plain_outcome");
    assert_eq!(counts::job(1).task_name(), "counts");
    let entries = scheduler::__private::entries();
    assert_eq!(entries.len(), 5);
    let entry = entries.iter().find(|entry| entry.name == "send-mail").unwrap();
    assert_eq!(entry.attribute(Attribute::Queue), Some("mail"));
    let facts = entry.job.unwrap();
    assert_eq!((facts.version, facts.aliases), (2, &["mail", "old-mail"][..]));
    assert!(!facts.is_partitioned);
    let entry = entries.iter().find(|entry| entry.name == "plain_outcome").unwrap();
    assert_eq!(entry.attribute(Attribute::EachRate), Some("100/1m"));
    assert!(entry.job.unwrap().is_partitioned);
    let entry = entries.iter().find(|entry| entry.name == "sweep").unwrap();
    assert_eq!(entry.job.unwrap().version, 0);
}
