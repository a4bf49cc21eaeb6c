//! Generated code of methods that run jobs, under strict lints.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused)]
#![deny(unused_qualifications, unused_results, unused_lifetimes, let_underscore_drop)]
#![deny(rust_2018_idioms, future_incompatible, nonstandard_style)]

mod mail {
    use scheduler::{Run, job, scheduled};

    /// Sends mail.
    #[derive(Debug)]
    pub(crate) struct Mailer<T> {
        pub(crate) host: T,
    }

    /// A mail.
    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    pub(crate) struct Mail {
        to: String,
    }

    #[scheduled]
    impl Mailer<String> {
        /// A mail.
        pub(crate) fn mail(to: &str) -> Mail {
            Mail { to: to.to_owned() }
        }

        /// Sends one.
        #[job(name = "send", retry(max = 5, base = "5s"), version = 2, upgrade = from_v1)]
        pub(crate) async fn send(&self, #[payload] mail: Mail, run: Run) -> Result<(), String> {
            println!("{} to {} by {}", run.attempt(), mail.to, self.host);
            Ok(())
        }

        #[job(name = "forget")]
        fn r#yield(self: &Self) {}

        #[job(name = "of-type")]
        fn of_type(#[payload] _only: Option<Mail>) {}

        #[cfg_attr(all(), job(name = "conditional"))]
        fn conditional(&self) {}

        #[cfg(any())]
        #[job(name = "absent")]
        fn absent(&self) {}

        #[scheduled(cron = "@daily")]
        fn nightly(&self) {}
    }

    fn from_v1(old: serde_json::Value) -> Result<Mail, String> {
        let to = old.as_str().ok_or("no receiver")?;
        Ok(Mail { to: to.to_owned() })
    }

    pub(crate) fn own() -> [scheduler::Job; 3] {
        type Own = Mailer<String>;
        [Own::yield_job(), Own::of_type_job(None), Own::conditional_job()]
    }
}

struct Counter;

/// The annotation of a block is found by its name alone.
#[scheduler::scheduled]
impl Counter {
    #[scheduler::job(name = "count")]
    fn count(&self, #[payload] own: Wrapped<Self>) {
        assert_eq!(own.by, 1);
    }

    fn job() -> scheduler::Job {
        Self::count_job(Wrapped { by: 1, of: std::marker::PhantomData })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Wrapped<T> {
    by: u32,
    #[serde(skip)]
    of: std::marker::PhantomData<fn() -> T>,
}

fn main() {
    use mail::Mailer;
    let job = Mailer::send_job(Mailer::<String>::mail("ada")).key("ada");
    assert_eq!(job.task_name(), "send");
    let names = mail::own().map(|job| job.task_name().to_owned());
    assert_eq!(names, ["forget", "of-type", "conditional"]);
    assert_eq!(Counter::job().task_name(), "count");
    drop(Mailer { host: "localhost".to_owned() });
}
