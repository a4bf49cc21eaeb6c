//! Guides, to be read from the beginning.
//!
//! | guide | for whom |
//! |---|---|
//! | [`tutorial`] | those who write their first task |
//! | [`from_spring`], [`from_celery`], [`from_sidekiq`], [`from_cron`] | those who know another scheduler |
//! | [`questions`] | those who have one |
//! | [`policies`], [`policy_cases`] | those who want to know what happens when things do not go as planned |
//! | [`settings`] | those who change schedules without a build |
//! | [`production`], [`process`], [`kubernetes`], [`observe`], [`incidents`] | those who run a program |
//! | [`durable`], [`durable_details`] | those whose jobs have to survive a restart, or are shared by processes |
//! | [`limits`] | those whose jobs call an API with a limit, or belong to tenants |
//! | [`outbox`] | those whose jobs belong to a transaction of their own |
//! | [`web_and_worker`] | those whose web processes enqueue what workers run |
//! | [`cluster`] | those who run several processes on a store |
//! | [`how_it_works`] | those who want to know what happens between the annotation and the run |
//! | [`upgrades`], [`stability`] | those who deploy and update: what may change, and where it runs |
//!
//! A further one, on tests of schedules, is the module `testing`, which comes with the feature of that
//! name; [`simulations`] goes on from there. The same texts are files in the folder `docs` of the repository, whose links lead to files; the
//! links that stand here before each text lead to the documentation instead, because the first wins.

/// Where a link leads to a file that is no page of the documentation.
macro_rules! in_repository {
    ($link:literal, $path:literal) => {
        concat!("[", $link, "]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/", $path)
    };
}

/// [arguments]: macro@crate::scheduled#arguments
/// [cli]: https://docs.rs/scheduler-cli
/// [cluster]: crate::guide::cluster
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [durable]: crate::guide::durable
/// [features]: crate#features
/// [policies]: crate::guide::policies
/// [production]: crate::guide::production
/// [server]: crate::guide::production#beside-a-server
/// [settings]: crate::guide::settings
/// [testing]: ../../testing/index.html
/// [transactional]: crate::guide::outbox
#[cfg_attr(feature = "sqlite-system", doc = include_str!("../docs/tutorial.md"))]
pub mod tutorial {}

/// [scheduled]: macro@crate::scheduled
/// [testing]: ../../testing/index.html
/// [production]: crate::guide::production
/// [limit]: crate::guide::production#the-limit-of-the-stop
/// [policies]: crate::guide::policies
/// [durable]: crate::guide::durable#operating-it
#[doc = include_str!("../docs/from-spring.md")]
pub mod from_spring {}

/// [any]: crate::guide::outbox#from-any-language
/// [cli]: https://docs.rs/scheduler-cli
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [limits]: crate::guide::limits
/// [production]: crate::guide::observe#events
/// [testing]: ../../testing/index.html
#[cfg_attr(feature = "durable", doc = include_str!("../docs/from-celery.md"))]
pub mod from_celery {}

/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [limits]: crate::guide::limits
/// [production]: crate::guide::observe#following-a-job
/// [testing]: ../../testing/index.html#durable-tasks
/// [transactional]: crate::guide::outbox
#[cfg_attr(feature = "durable", doc = include_str!("../docs/from-sidekiq.md"))]
pub mod from_sidekiq {}

/// [cli]: https://docs.rs/scheduler-cli
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [lease]: crate::guide::cluster
/// [pause]: crate::guide::durable
/// [testing]: ../../testing/index.html
#[cfg_attr(feature = "durable", doc = include_str!("../docs/limits.md"))]
pub mod limits {}

/// [cli]: https://docs.rs/scheduler-cli
/// [durable]: crate::guide::durable
/// [production]: crate::guide::observe#metrics
#[doc = include_str!("../docs/from-cron.md")]
pub mod from_cron {}

/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [deploys]: crate::guide::upgrades
/// [stop]: crate::guide::production#the-limit-of-the-stop
#[doc = in_repository!("alerts", "docs/prometheus-alerts.yml")]
#[doc = include_str!("../docs/kubernetes.md")]
pub mod kubernetes {}

/// [cli]: https://docs.rs/scheduler-cli
/// [fences]: crate::guide::durable#fences
/// [limits]: crate::guide::limits#why-a-job-does-not-run
/// [pausing]: crate::guide::durable#pausing
/// [role]: crate::guide::cluster#the-roles-and-their-rights
/// [stop]: crate::guide::production#the-limit-of-the-stop
#[doc = in_repository!("alerts", "docs/prometheus-alerts.yml")]
// Its program needs a store.
#[cfg_attr(feature = "sqlite-system", doc = include_str!("../docs/incidents.md"))]
pub mod incidents {}

/// [cases]: crate::guide::policy_cases
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [durable]: crate::guide::durable
/// [stored]: crate::guide::durable_details#policies-across-a-restart
#[doc = include_str!("../docs/policies.md")]
pub mod policies {}

/// [durable]: crate::guide::durable_details#policies-across-a-restart
/// [policies]: crate::guide::policies
#[doc = include_str!("../docs/reference/policies.md")]
pub mod policy_cases {}

/// [testing]: ../../testing/index.html#3-is-everything-there
#[doc = in_repository!("attributes", "docs/reference/attributes.md")]
#[doc = in_repository!("keys", "docs/reference/settings.md")]
#[doc = include_str!("../docs/settings.md")]
pub mod settings {}

#[doc = in_repository!("actions", "docs/reference/dashboard.md")]
/// [claim]: crate::guide::process#a-claim-without-a-store
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [dry-run]: crate::guide::settings#the-dry-run
/// [durable]: crate::guide::durable
/// [kubernetes]: crate::guide::kubernetes
/// [observe]: crate::guide::observe
/// [process]: crate::guide::process
/// [testing]: ../../testing/index.html#3-is-everything-there
#[doc = include_str!("../docs/production.md")]
pub mod production {}

/// [builder]: crate::Builder::messages
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [durable]: crate::guide::durable
#[doc = in_repository!("alerts", "docs/prometheus-alerts.yml")]
#[doc = in_repository!("events", "docs/reference/events.md")]
#[doc = in_repository!("metrics", "docs/reference/metrics.md")]
#[doc = in_repository!("sql", "docs/reference/sql.md")]
#[doc = include_str!("../docs/observe.md")]
pub mod observe {}

/// [durable]: crate::guide::durable
/// [seed]: crate::Builder::seed
#[doc = in_repository!("exit", "docs/reference/exit-codes.md")]
#[doc = include_str!("../docs/reference/process.md")]
pub mod process {}

/// [testing]: ../../testing/index.html
#[cfg_attr(feature = "testing", doc = include_str!("../docs/simulations.md"))]
pub mod simulations {}

/// [any]: crate::guide::outbox#from-any-language
/// [arguments]: macro@crate::scheduled#arguments
/// [away]: crate::guide::durable#the-store-is-away
/// [cli]: https://docs.rs/scheduler-cli
/// [costs]: crate::guide::durable_details#costs
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [durable]: crate::guide::durable
/// [events]: crate::guide::observe#events
/// [following]: crate::guide::observe#following-a-job
/// [incidents]: crate::guide::incidents
/// [instances]: crate::guide::production#several-instances
/// [last-success]: crate::guide::observe#metrics
/// [limits]: crate::guide::limits
/// [monitors]: https://docs.rs/scheduler-monitors
/// [outbox]: crate::guide::outbox
/// [pausing]: crate::guide::durable#pausing
/// [policies]: crate::guide::policies
/// [role]: crate::guide::cluster#the-roles-and-their-rights
/// [scheduled]: macro@crate::scheduled
/// [server]: crate::guide::production#beside-a-server
/// [settings]: crate::guide::settings
/// [stop]: crate::guide::production#the-limit-of-the-stop
/// [testing]: ../../testing/index.html#durable-tasks
/// [time]: crate::guide::how_it_works#time
/// [tokio]: crate::guide::production#programs-with-tokio
/// [twice]: crate::guide::outbox#the-same-request-twice
/// [upgrades]: crate::guide::upgrades
#[doc = in_repository!("alerts", "docs/prometheus-alerts.yml")]
#[doc = in_repository!("node", "docs/reference/settings.md")]
#[cfg_attr(feature = "durable", doc = include_str!("../docs/questions.md"))]
pub mod questions {}

/// [cli]: https://docs.rs/scheduler-cli
/// [payloads]: macro@crate::job#payloads
/// [role]: crate::guide::cluster#the-roles-and-their-rights
/// [stability]: crate::guide::stability
/// [stop]: crate::guide::production#the-limit-of-the-stop
/// [testing]: ../../testing/index.html#3-is-everything-there
/// [unknown]: crate::guide::durable_details#jobs
#[doc = in_repository!("changelog", "CHANGELOG.md")]
#[cfg_attr(feature = "durable", doc = include_str!("../docs/upgrades.md"))]
pub mod upgrades {}

/// [durable]: crate::guide::durable
/// [policies]: crate::guide::policies
/// [production]: crate::guide::production#the-limit-of-the-stop
/// [testing]: ../../testing/index.html
#[doc = in_repository!("architecture", "ARCHITECTURE.md")]
#[doc = in_repository!("performance", "docs/performance.md")]
#[doc = in_repository!("rules", "docs/durable-rules.md")]
#[doc = include_str!("../docs/how-it-works.md")]
pub mod how_it_works {}

/// [abandon]: crate::guide::durable_details#runs-that-outlive-an-outage
/// [cli]: https://docs.rs/scheduler-cli
/// [cluster]: crate::guide::cluster
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [details]: crate::guide::durable_details
/// [following]: crate::guide::observe#following-a-job
/// [job]: macro@crate::job
/// [outage]: crate::guide::incidents#an-outage-from-the-pause-to-the-retry
/// [outbox]: crate::guide::outbox
/// [testing]: ../../testing/index.html#durable-tasks
/// [upgrades]: crate::guide::upgrades
/// [web]: crate::guide::web_and_worker
#[doc = in_repository!("rules", "docs/durable-rules.md")]
#[doc = in_repository!("settings", "docs/reference/settings.md")]
#[doc = in_repository!("sql", "docs/reference/sql.md")]
// Its programs need a store.
#[cfg_attr(feature = "sqlite-system", doc = include_str!("../docs/durable.md"))]
pub mod durable {}

/// [durable]: crate::guide::durable
/// [policies]: crate::guide::policies
#[doc = in_repository!("events", "docs/reference/events.md")]
#[doc = in_repository!("metrics", "docs/reference/metrics.md")]
#[doc = include_str!("../docs/reference/durable.md")]
pub mod durable_details {}

/// [key]: crate::guide::durable#jobs
/// [role]: crate::guide::cluster#the-roles-and-their-rights
/// [settings]: crate::guide::settings
#[doc = in_repository!("example", "examples/outbox_axum.rs")]
#[doc = in_repository!("sql", "docs/reference/sql.md")]
// Its programs need both stores.
#[cfg_attr(
    all(feature = "postgres", feature = "sqlite-system"),
    doc = include_str!("../docs/outbox.md")
)]
pub mod outbox {}

/// [durable]: crate::guide::durable
// Its program needs a store.
#[cfg_attr(feature = "sqlite-system", doc = include_str!("../docs/web-and-worker.md"))]
pub mod web_and_worker {}

/// [durable]: crate::guide::durable
/// [limits]: crate::guide::limits
/// [upgrades]: crate::guide::upgrades#jobs-and-payloads
#[doc = in_repository!("performance", "docs/performance.md")]
#[doc = in_repository!("sql", "docs/reference/sql.md")]
#[doc = include_str!("../docs/cluster.md")]
pub mod cluster {}

/// [cluster]: crate::guide::cluster
#[doc = in_repository!("api", "docs/reference/api.md")]
#[doc = in_repository!("changelog", "CHANGELOG.md")]
#[doc = include_str!("../docs/stability.md")]
pub mod stability {}
