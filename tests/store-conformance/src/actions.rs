//! Changes by hand, and who made them.

use crate::given::{Given, SECOND, cron, job};
use crate::test_store::TestStore;
use scheduler_store::{
    Action, ActionFilter, ActionId, Command, CommandAll, CommandOutcome, JobAction, JobFilter,
    JobState, NewJob, Overlap, PauseScope, Payload, Prune, Rule, Signature, TargetKind, Timing,
    Uuid,
};

fn action(number: u128) -> ActionId {
    ActionId::from_uuid(Uuid::from_u128(number))
}

/// A signature of anna's whose action has this number.
fn anna(number: u128) -> Signature {
    let mut signature = Signature::by("anna").address("10.0.0.9").reason("a deploy");
    signature.node = "web-1".to_owned();
    signature.action = Some(action(number));
    signature
}

impl<T: TestStore> Given<T> {
    fn by(&self, signature: &Signature, command: &Command) -> CommandOutcome {
        self.ask().command_by(Some(signature), command, self.in_time()).unwrap()
    }

    fn actions(&self) -> Vec<Action> {
        self.ask().actions(&ActionFilter::default(), 100).unwrap()
    }

    fn ids(&self, filter: &ActionFilter, limit: u32) -> Vec<u128> {
        let actions = self.ask().actions(filter, limit).unwrap();
        actions.iter().map(|action| action.id.as_uuid().as_u128()).collect()
    }
}

/// Commands of each kind, with their words and the tasks that they are about.
fn commands() -> Vec<(Command, &'static str, Option<&'static str>)> {
    let (schedule, by, reason) = ("s".to_owned(), String::new(), "own".to_owned());
    let [mail, slow] = [PauseScope::Task("mail".to_owned()), PauseScope::Queue("slow".to_owned())];
    let pause_jobs = |scope: &PauseScope| {
        let (scope, until) = (scope.clone(), None);
        Command::PauseJobs { scope, until, by: by.clone(), reason: reason.clone() }
    };
    let resume_jobs = |scope: &PauseScope| Command::ResumeJobs { scope: scope.clone() };
    let pause = Command::Pause {
        schedule: schedule.clone(),
        until: None,
        by: by.clone(),
        reason: reason.clone(),
    };
    let set = |rule: Option<Rule>| Command::Reschedule { schedule: schedule.clone(), rule };
    let rule = Rule { text: "by hand".to_owned(), timing: Timing::Computed };
    let edited = Payload { version: 1, bytes: b"12".to_vec() };
    let (of_mail, of_tick) = (Some("mail"), Some("tick"));
    vec![
        (Command::Cancel { job: job(1) }, "cancel", of_mail),
        (Command::Retry { job: job(1) }, "retry", of_mail),
        (Command::Edit { job: job(2), fence: None, payload: edited }, "edit", of_mail),
        (Command::Delete { job: job(2) }, "delete", of_mail),
        (pause_jobs(&mail), "pause", of_mail),
        (resume_jobs(&mail), "resume", of_mail),
        (pause_jobs(&slow), "pause", None),
        (resume_jobs(&slow), "resume", None),
        (pause, "pause", of_tick),
        (Command::Resume { schedule: schedule.clone() }, "resume", of_tick),
        (Command::RunNow { schedule: schedule.clone(), job: job(9) }, "run", of_tick),
        (set(Some(rule)), "reschedule", of_tick),
        (set(None), "reset", of_tick),
        (Command::Put { definition: Box::new(cron("d", Overlap::Skip)) }, "put", of_tick),
        (Command::Remove { schedule: "d".to_owned() }, "remove", of_tick),
    ]
}

/// Each kind of command says what it did, to what, and how that was before.
pub fn a_signed_command_leaves_an_action<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Allow));
    let payload = Payload { version: 1, bytes: b"[1]".to_vec() };
    for number in [1, 2] {
        given.enqueue(NewJob { payload: payload.clone(), ..NewJob::new(job(number), "mail") });
    }
    for (number, (command, verb, task)) in (1..).zip(&commands()) {
        assert_eq!(given.by(&anna(number), command), CommandOutcome::Done, "{command:?}");
        let all = given.actions();
        let kept = all.iter().find(|kept| kept.id == action(number)).expect("an action");
        assert_eq!((&*kept.verb, kept.task.as_deref()), (*verb, *task));
        assert_eq!((&*kept.by, &*kept.role, &*kept.address), ("anna", "", "10.0.0.9"));
        assert_eq!((&*kept.node, &*kept.reason, kept.count), ("web-1", "a deploy", 1));
        assert_eq!((kept.at, all.len() as u128), (given.now, number));
    }
    let kept: Vec<Action> = given.actions().into_iter().rev().collect();
    let values = |place: usize| [&*kept[place].before, &*kept[place].after];
    assert_eq!(values(2), ["3 bytes", "2 bytes"], "never what is in it");
    assert_eq!([values(11), values(12)], [["each second", "by hand"], ["by hand", "each second"]]);
    assert_eq!([values(13), values(14)], [["", "each second"], ["each second", ""]]);
    let target = |place: usize| (kept[place].kind, &*kept[place].name);
    assert_eq!(target(0), (TargetKind::Job, &*job(1).to_string()));
    assert_eq!(target(4), (TargetKind::Task, "mail"));
    assert_eq!(target(6), (TargetKind::Queue, "slow"));
    assert_eq!(target(10), (TargetKind::Schedule, "s"));
    // A pause has its own reason, if the signature has none.
    let mut without = anna(100);
    without.reason.clear();
    given.by(&without, &commands()[4].0);
    let kept = given.actions().into_iter().find(|kept| kept.id == action(100));
    assert_eq!(kept.expect("an action").reason, "own");
}

/// The program itself is no person.
pub fn a_command_without_a_signature_leaves_no_action<T: TestStore>() {
    let given = Given::<T>::store();
    let id = given.job_of(1, "mail");
    assert_eq!(given.command(&Command::Cancel { job: id }), CommandOutcome::Done);
    let all = CommandAll {
        action: JobAction::Retry,
        filter: JobFilter::default(),
        limit: 10,
        signature: None,
        not_after: given.in_time(),
    };
    assert_eq!(given.ask().command_all(&all).unwrap().done, 1);
    assert_eq!(given.actions(), []);
}

/// Nothing was changed.
pub fn a_command_that_is_refused_leaves_no_action<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.job_of(1, "mail");
    let running = given.claim(id, "mail").id;
    let refused = [
        (Command::Delete { job: running }, CommandOutcome::NotInState(JobState::Running)),
        (Command::Cancel { job: job(7) }, CommandOutcome::NotFound),
        (Command::Resume { schedule: "none".to_owned() }, CommandOutcome::NotFound),
    ];
    for (command, outcome) in refused {
        assert_eq!(given.by(&anna(1), &command), outcome);
    }
    let late = given.now.before(SECOND);
    let too_late = given.ask().command_by(Some(&anna(1)), &Command::Cancel { job: running }, late);
    assert!(too_late.is_err());
    let all = CommandAll {
        action: JobAction::Delete,
        filter: JobFilter::default(),
        limit: 10,
        signature: Some(anna(1)),
        not_after: given.in_time(),
    };
    assert_eq!(given.ask().command_all(&all).unwrap().done, 0);
    assert_eq!(given.actions(), []);
}

/// One by one, page by page, and together, with the sum. The same command sent twice is one.
pub fn commands_that_are_one_action_are_one_entry<T: TestStore>() {
    let mut given = Given::<T>::store();
    for number in 1..=5 {
        let partition = Some("acme".to_owned());
        given.enqueue(NewJob { partition, ..NewJob::new(job(number), "mail") });
    }
    let filter = JobFilter {
        state: Some(JobState::Ready),
        task: Some("mail".to_owned()),
        partition: Some("acme".to_owned()),
        ..JobFilter::default()
    };
    let page = CommandAll {
        action: JobAction::Cancel,
        filter: filter.clone(),
        limit: 2,
        signature: Some(anna(1)),
        not_after: given.in_time(),
    };
    let begin = given.now;
    for done in [2, 2, 1, 0] {
        assert_eq!(given.ask().command_all(&page).unwrap().done, done);
        given.wait(SECOND);
    }
    let kept = given.actions();
    assert_eq!((kept.len(), kept[0].count, kept[0].at), (1, 5, begin));
    assert_eq!((kept[0].kind, &*kept[0].verb), (TargetKind::Jobs, "cancel"));
    assert_eq!(
        (&*kept[0].name, kept[0].task.as_deref()),
        ("state ready, task mail, partition acme", Some("mail"))
    );
    assert_eq!(kept[0].name, filter.to_string());
    let together = anna(2).in_action(action(2), "error timed out", None);
    for number in 1..=3 {
        given.by(&together, &Command::Retry { job: job(number) });
    }
    let kept = given.actions().remove(0);
    assert_eq!((kept.id, kept.count, &*kept.name), (action(2), 3, "error timed out"));
    assert_eq!((kept.kind, kept.task), (TargetKind::Jobs, None));
    let queue = Command::ResumeJobs { scope: PauseScope::Queue("mail".to_owned()) };
    given.by(&anna(3), &queue);
    given.by(&anna(3), &queue);
    assert_eq!(
        given.actions().iter().find(|kept| kept.id == action(3)).map(|kept| kept.count),
        Some(1)
    );
}

/// A change of a task in memory is kept at the store's time, once; or the number is added.
pub fn a_change_that_no_command_makes_is_noted<T: TestStore>() {
    let given = Given::<T>::store();
    let mut noted = Action::new(&anna(1), "enable", TargetKind::Task, "purge");
    noted.task = Some("purge".to_owned());
    given.ask().note(&noted, false).unwrap();
    assert_eq!(given.actions(), [Action { at: given.now, ..noted.clone() }]);
    noted.count = 4;
    for (adds, count) in [(false, 1), (true, 5)] {
        given.ask().note(&noted, adds).unwrap();
        assert_eq!(given.actions()[0].count, count);
    }
}

/// The latest first; the next page begins after the last one.
pub fn actions_are_listed_by_filter_and_by_page<T: TestStore>() {
    let mut given = Given::<T>::store();
    for number in 1..=6 {
        given.job_of(number, if number < 4 { "mail" } else { "bill" });
    }
    for number in 1..=6 {
        given.by(&anna(number), &Command::Cancel { job: job(number) });
        if number % 2 == 0 {
            given.wait(SECOND);
        }
    }
    let mut berta = anna(7);
    berta.by = "berta".to_owned();
    given.by(&berta, &Command::ResumeJobs { scope: PauseScope::Queue("mail".to_owned()) });
    let all = ActionFilter::default();
    assert_eq!(given.ids(&all, 100), [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(given.ids(&all, 3), [7, 6, 5]);
    let after = |number| ActionFilter { after: Some(action(number)), ..ActionFilter::default() };
    assert_eq!(given.ids(&after(5), 3), [4, 3, 2]);
    assert_eq!(given.ids(&after(99), 3), [0; 0]);
    let of = |task: &str| ActionFilter { task: Some(task.to_owned()), ..ActionFilter::default() };
    assert_eq!(given.ids(&of("mail"), 9), [7, 3, 2, 1], "its jobs, and what has its name");
    assert_eq!(given.ids(&of("bill"), 9), [6, 5, 4]);
    assert_eq!(given.ids(&of(&job(5).to_string()), 9), [5]);
    let by = |name: &str| ActionFilter { by: Some(name.to_owned()), ..ActionFilter::default() };
    assert_eq!((given.ids(&by("berta"), 9), given.ids(&by("Anna"), 9)), (vec![7], vec![]));
    let since = ActionFilter { since: Some(given.now.before(SECOND)), ..ActionFilter::default() };
    assert_eq!(given.ids(&since, 9), [7, 6, 5]);
}

/// The oldest first, no more than a prune may delete.
pub fn actions_of_long_ago_are_deleted_in_slices<T: TestStore>() {
    let mut given = Given::<T>::store();
    let resume = Command::ResumeJobs { scope: PauseScope::Queue("mail".to_owned()) };
    for number in 1..=5 {
        given.by(&anna(number), &resume);
        given.wait(SECOND);
    }
    let all = ActionFilter::default();
    let prune = |given: &Given<T>| {
        let request = Prune { keep_actions: SECOND * 2, limit: 2, ..given.prune_of() };
        given.ask().prune(&request).unwrap()
    };
    assert_eq!((prune(&given), given.ids(&all, 9)), (2, vec![5, 4, 3]));
    assert_eq!((prune(&given), given.ids(&all, 9)), (2, vec![5]));
    assert_eq!((prune(&given), given.ids(&all, 9)), (0, vec![5]));
    given.wait(SECOND);
    assert_eq!((prune(&given), given.ids(&all, 9)), (1, vec![]));
}

/// It outlives a registration, as the rule does, and goes with it.
pub fn a_rule_set_by_hand_has_its_author<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Skip));
    let set = |text: Option<&str>| Command::Reschedule {
        schedule: "s".to_owned(),
        rule: text.map(|text| Rule { text: text.to_owned(), timing: Timing::Computed }),
    };
    let author = |given: &Given<T>| {
        let overridden = given.schedule("s").overridden;
        overridden.map(|author| (author.since, author.by, author.before))
    };
    given.by(&anna(1), &set(Some("monthly")));
    let first = Some((given.now, "anna".to_owned(), "each second".to_owned()));
    assert_eq!(author(&given), first);
    given.wait(SECOND);
    given.register(id, &cron("s", Overlap::Skip));
    given.by(&anna(2), &set(Some("monthly")));
    assert_eq!(author(&given), first, "it is the rule already");
    assert_eq!(given.command(&set(Some("weekly"))), CommandOutcome::Done);
    assert_eq!(author(&given), Some((given.now, String::new(), "monthly".to_owned())));
    given.by(&anna(3), &set(None));
    assert_eq!(author(&given), None);
    given.by(&anna(4), &set(Some("monthly")));
    let mut changed = cron("s", Overlap::Skip);
    changed.rule.text = "each minute".to_owned();
    given.register(id, &changed);
    assert_eq!(author(&given), None);
}
