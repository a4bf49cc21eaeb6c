//! The builder of a dashboard.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::request::Parts;
use scheduler::store::Action;
use scheduler::{Builder, Event, EventKind, Listener, Tasks};

use crate::access::{Auth, Hosts, Token, Visitor, random_text};
use crate::app::{App, Options};
use crate::log::Recorder;
use crate::server::{Bound, DashboardServer};
use crate::web::router;

/// The number of runs of each task that are kept.
const RUNS_KEPT: usize = 100;

/// A dashboard for the tasks of one scheduler.
///
/// ```
/// use scheduler::{Schedule, Scheduler};
/// use scheduler_dashboard::Dashboard;
///
/// let dashboard = Dashboard::new();
/// let scheduler = Scheduler::builder()
///     .task("purge", Schedule::fixed_rate("1h"), |_| {})
///     .listener(dashboard.listener())
///     .spawn()?;
/// let server = dashboard.serve(scheduler.tasks(), "127.0.0.1:0")?;
/// println!("dashboard {}", server.link());
/// drop(server);
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It works without the [listener](Self::listener), too: then the history has the last 20 runs of each task, and the
/// metrics have no histograms.
#[must_use = "a dashboard does nothing until it is served or mounted"]
pub struct Dashboard {
    options: Options,
    recorder: Arc<Recorder>,
}

impl Dashboard {
    /// A dashboard with the default settings, in which no visitor may do anything yet: see
    /// [`serve`](Self::serve), [`operator`](Self::operator) and [`authorize`](Self::authorize).
    pub fn new() -> Self {
        Self { options: Options::new(), recorder: Arc::new(Recorder::new(RUNS_KEPT)) }
    }

    /// The name of the program at the top of the page; by default the name of its file.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.options.title = title.into();
        self
    }

    /// Adds an operator, who may do everything, with a token of at least 16 letters, digits and `-._~+/=`. The name
    /// stands in the list of actions.
    ///
    /// ```
    /// use scheduler_dashboard::Dashboard;
    ///
    /// let token = std::env::var("DASHBOARD_TOKEN").unwrap_or_default();
    /// let dashboard = Dashboard::new().operator("ops", token);
    /// ```
    pub fn operator(self, name: &str, token: impl Into<String>) -> Self {
        self.token(Visitor::operator(name), token.into())
    }

    /// Adds a reader, who may only look, with a token as an [operator](Self::operator) has.
    pub fn viewer(self, name: &str, token: impl Into<String>) -> Self {
        self.token(Visitor::viewer(name), token.into())
    }

    fn token(mut self, visitor: Visitor, secret: String) -> Self {
        if let Auth::Tokens(tokens) = &mut self.options.auth {
            tokens.push(Token { secret, visitor });
        }
        self
    }

    /// Leaves it to the program to know its users: the function gets the head of each request, also for the page, and
    /// returns who it is from. Tokens have no effect then.
    ///
    /// ```
    /// use scheduler_dashboard::{Dashboard, Visitor};
    ///
    /// #[derive(Clone)]
    /// struct User { name: String, is_admin: bool }
    ///
    /// // A layer of the program has put the user into the extensions.
    /// let dashboard = Dashboard::new().authorize(|head| {
    ///     let user = head.extensions.get::<User>()?;
    ///     Some(if user.is_admin { Visitor::operator(&user.name) } else { Visitor::viewer(&user.name) })
    /// });
    /// ```
    pub fn authorize(
        mut self,
        authorize: impl Fn(&Parts) -> Option<Visitor> + Send + Sync + 'static,
    ) -> Self {
        self.options.auth = Auth::Program(Arc::new(authorize));
        self
    }

    /// Allows no visitor any action.
    pub fn read_only(mut self) -> Self {
        self.options.is_read_only = true;
        self
    }

    /// Answers to this name, too, such as `ops.example.com` or `ops.example.com:8443`; without a port with any.
    /// Loopback names and the address of [`serve`](Self::serve) are allowed anyway. Other names are refused, which
    /// stops DNS rebinding.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.options.hosts.push(host.into());
        self
    }

    /// Answers to any name: for a router behind something that checks names itself.
    pub fn allow_any_host(mut self) -> Self {
        self.options.allows_any_host = true;
        self
    }

    /// Believes `X-Forwarded-For` of connections from these addresses: the list of actions and the limit on wrong tokens
    /// have the address of the client then, not of the proxy. Without it no header is believed. A router knows
    /// addresses only if the program serves it `into_make_service_with_connect_info::<SocketAddr>()`.
    ///
    /// ```
    /// use scheduler_dashboard::Dashboard;
    ///
    /// let dashboard = Dashboard::new().trust_proxy(|address| address.is_loopback());
    /// ```
    pub fn trust_proxy(
        mut self,
        is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.options.is_proxy = Some(Arc::new(is_proxy));
        self
    }

    /// Shows metrics and health to everybody who reaches the server. By default they need a token, except on a loopback
    /// address. They have names of tasks in them, and no texts of errors.
    pub fn public_metrics(mut self) -> Self {
        self.options.has_public_metrics = true;
        self
    }

    /// The time that a task with the tag `critical` may go without success before `/readyz` says `DOWN`. By default twice
    /// the longest time between its next fire times, its longest run, and a minute.
    pub fn critical_grace(mut self, grace: Duration) -> Self {
        self.options.grace = Some(grace);
        self
    }

    /// The time for which answers of the store are kept, 5 seconds by default: for so long all pages, scrapes and programs get the same
    /// numbers of jobs, schedules and processes, whatever their number. A change by a visitor is seen at once. The numbers of jobs are
    /// kept for ten times as long as the store took to count them, if that is longer.
    pub fn cache_ttl(mut self, ttl: Duration) -> Self {
        self.options.kept_for = ttl;
        self
    }

    /// Changes the texts of errors, notes, pauses and payloads before they are shown.
    ///
    /// ```
    /// use scheduler_dashboard::Dashboard;
    ///
    /// let dashboard = Dashboard::new().redact(|text| text.replace("s3cr3t", "…"));
    /// ```
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.options.redact = Some(Arc::new(redact));
        self
    }

    /// Decides which visitors see the payloads of the jobs of a task. By default operators see them, and viewers do
    /// not.
    ///
    /// ```
    /// use scheduler_dashboard::{Dashboard, Role};
    ///
    /// let dashboard = Dashboard::new()
    ///     .show_payloads(|visitor, task| visitor.role() == Role::Operator && task != "payroll")
    ///     .hide_payload_fields(["iban", "password"]);
    /// ```
    pub fn show_payloads(
        mut self,
        shows: impl Fn(&Visitor, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.options.shows_payload = Arc::new(shows);
        self
    }

    /// Hides the values of these fields of payloads from all visitors, wherever they are in one, in capital or small
    /// letters. A payload that is no JSON is hidden as a whole then. [`redact`](Self::redact) sees what is left.
    pub fn hide_payload_fields<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.options.hidden_fields.extend(names.into_iter().map(Into::into));
        self
    }

    /// Is called with each action of a visitor, for an audit log elsewhere. The scheduler's log has a line of each, the store
    /// keeps them, and without a store the API has the last 200.
    pub fn on_action(mut self, call: impl Fn(&Action) + Send + Sync + 'static) -> Self {
        self.options.on_action = Some(Arc::new(call));
        self
    }

    /// The number of runs of each task that are kept: 100 by default, about 70 bytes each. To be called before
    /// [`listener`](Self::listener).
    pub fn keep_runs(mut self, runs: usize) -> Self {
        self.recorder = Arc::new(Recorder::new(runs));
        self
    }

    /// Returns the listener that records the history, for [`Builder::listener`].
    pub fn listener(&self) -> impl Listener + use<> {
        Arc::clone(&self.recorder)
    }

    /// The dashboard for a server of the program's own. It works under any prefix, and needs no setting for
    /// that. Mounted by `nest_service` it answers with and without a slash at the end; by `nest` only without.
    ///
    /// Without [tokens](Self::operator) and without [`authorize`](Self::authorize) no visitor sees anything.
    ///
    /// # Errors
    ///
    /// When a token is shorter than 16 bytes, or has a character that cannot be sent.
    ///
    /// ```no_run
    /// use axum::Router;
    /// use scheduler::Scheduler;
    /// use scheduler_dashboard::Dashboard;
    ///
    /// let dashboard = Dashboard::new().operator("ops", std::env::var("DASHBOARD_TOKEN")?);
    /// let scheduler = Scheduler::builder().listener(dashboard.listener()).spawn()?;
    /// let admin = dashboard.router(scheduler.tasks())?;
    /// let app: Router = Router::new().nest_service("/admin/jobs", admin);
    /// # drop(app);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn router(&self, tasks: Tasks) -> io::Result<Router> {
        check_tokens(&self.options.auth)?;
        let Options { hosts, allows_any_host, .. } = &self.options;
        let hosts = Hosts::mounted(hosts, *allows_any_host);
        let known = (tasks, Arc::clone(&self.recorder));
        Ok(router(App::new(known, self.options.clone(), hosts, false)))
    }

    /// Serves the dashboard alone, on a thread with a small Tokio runtime of its own, until the result is stopped or
    /// dropped. The program needs no runtime.
    ///
    /// Without tokens it makes one, which is in the [link](DashboardServer::link), and serves only this machine.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound. When it is reachable from the network and there is neither a token nor
    /// [`authorize`](Self::authorize), or a token is shorter than 16 bytes or has a character that cannot be sent.
    pub fn serve(&self, tasks: Tasks, address: impl ToSocketAddrs) -> io::Result<DashboardServer> {
        let mut options = self.options.clone();
        let mut addresses = address.to_socket_addrs()?;
        let first =
            addresses.next().ok_or_else(|| io::Error::other("the address has no meaning"))?;
        let made = prepare(&mut options, first)?;
        let bound = bind(first, addresses)?;
        let hosts = Hosts::served(bound.address, &options.hosts, options.allows_any_host);
        let is_local = is_loopback(bound.address.ip());
        let app = App::new((tasks, Arc::clone(&self.recorder)), options, hosts, is_local);
        bound.serve(router(app), made.as_deref())
    }

    /// Serves the dashboard from the start of a scheduler to its stop, where [`Builder::start`] does not return in
    /// between. Prints the link to stderr. If it cannot be served, that is an error in the log, and the tasks run on.
    ///
    /// ```no_run
    /// use scheduler::Scheduler;
    /// use scheduler_dashboard::Dashboard;
    ///
    /// fn main() -> Result<(), scheduler::StartError> {
    ///     Dashboard::new().attach(Scheduler::builder(), "127.0.0.1:9095").start()
    /// }
    /// ```
    pub fn attach(self, builder: Builder, address: impl ToSocketAddrs + Send + 'static) -> Builder {
        let place: Arc<Mutex<Option<DashboardServer>>> = Arc::default();
        let served = Arc::clone(&place);
        let end = move |event: &Event| {
            if let EventKind::SchedulerStopped { .. } = event.kind {
                drop(place.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        };
        builder.listener(self.listener()).listener(end).after_start(move |tasks| {
            let server = self.serve(tasks.clone(), address).map_err(|error| not_served(&error))?;
            eprintln!("dashboard {}", server.link());
            *served.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
            Ok::<(), String>(())
        })
    }
}

impl Default for Dashboard {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dashboard").field(&self.options).finish()
    }
}

/// Why there is no dashboard, in one line for a log.
fn not_served(error: &io::Error) -> String {
    let help = match error.kind() {
        ErrorKind::AddrInUse => "; help: name another port, or end the program that has it",
        _ => "",
    };
    format!("the dashboard cannot be served: {}{help}", error.to_string().replace('\n', "; "))
}

/// Refuses tokens that could be guessed, or not be sent.
fn check_tokens(auth: &Auth) -> io::Result<()> {
    let Auth::Tokens(tokens) = auth else { return Ok(()) };
    tokens.iter().find_map(Token::fault).map_or(Ok(()), refuse)
}

fn refuse<T>(text: String) -> io::Result<T> {
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

/// Refuses what would let anybody in; makes a token where only this machine can connect, and returns it.
fn prepare(options: &mut Options, address: SocketAddr) -> io::Result<Option<String>> {
    check_tokens(&options.auth)?;
    let Auth::Tokens(tokens) = &mut options.auth else { return Ok(None) };
    if !tokens.is_empty() {
        return Ok(None);
    }
    if !is_loopback(address.ip()) {
        return refuse(format!(
            "{address} is reachable from the network, and the dashboard has no token\n\
             help: Dashboard::new().operator(\"ops\", token), or serve 127.0.0.1:{}",
            address.port()
        ));
    }
    let secret = random_text()?;
    tokens.push(Token { secret: secret.clone(), visitor: Visitor::operator("local") });
    Ok(Some(secret))
}

/// Binds the first address that can be bound. The others are taken only if they are as open as the first.
fn bind(first: SocketAddr, others: impl Iterator<Item = SocketAddr>) -> io::Result<Bound> {
    let is_local = is_loopback(first.ip());
    let mut failed = match Bound::bind(first) {
        Ok(bound) => return Ok(bound),
        Err(error) => error,
    };
    for address in others.filter(|address| is_loopback(address.ip()) == is_local) {
        match Bound::bind(address) {
            Ok(bound) => return Ok(bound),
            Err(error) => failed = error,
        }
    }
    Err(io::Error::new(failed.kind(), format!("{first}: {failed}")))
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
