//! The cost of claims, and the claims that a crash undoes.

use postgres_server::Server;
use scheduler_postgres::Postgres;
use scheduler_postgres::postgres::Client;
use scheduler_store::{
    End, Finish, JobFilter, JobId, JobState, Limit, LimitSpec, LimitsUsed, NewJob, OnLost, OnPark,
    Poll, Priority, Register, Store, StoreTime, StoredJob, TaskRoom, Uuid, When,
};

use crate::support::{
    END, OF_VERSION_7, SECOND, builder, client, ended_lately, enqueue, finished, id, open, pages,
    poll_of, server, uuid,
};

/// A poll for the task `a` by the session 1.
fn poll(schema: &str, queues: &str) -> String {
    format!(
        "select * from {schema}.poll({}, array['a'], array[100::bigint], array[9::bigint], {queues}, 100, 1, 1, 'infinity', false, false)",
        uuid(1)
    )
}

/// A store with so many jobs of the task `a` in the queue `default`. A poll may look at no more than a few of them.
fn crowded(client: &mut Client, store: &Postgres, change: impl Fn(NewJob) -> NewJob) {
    open(store, 1);
    // The plans of the first connection are made while the table is empty.
    let nothing = pages(client, &poll(store.schema(), "array['mail']"))
        + pages(client, &poll(store.schema(), "null"));
    assert!((1..200).contains(&nothing), "{nothing} pages for nothing");
    enqueue(store, (1_000..21_000).map(|number| change(NewJob::new(id(number), "a"))).collect());
    client.batch_execute(&format!("vacuum {}.job", store.schema())).expect("a vacuum");
}

#[test]
fn jobs_of_queues_that_are_not_served_are_not_walked() {
    let Some(server) = server() else { return };
    let later = When::After(SECOND * 86_400);
    let changes: [fn(NewJob) -> NewJob; 4] = [
        |job| job,
        |job| NewJob { when: When::After(SECOND * 86_400), ..job },
        |job| NewJob { on_lost: OnLost::Abandon, ..job },
        |job| NewJob { on_lost: OnLost::Abandon, when: When::After(SECOND * 86_400), ..job },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
        crowded(&mut client, &store, change);
        for queues in ["array['mail']", "array['mail', 'slow']", "'{}'"] {
            let looked = pages(&mut client, &poll(store.schema(), queues));
            assert!(looked < 200, "case {number}: {looked} pages for the queues {queues}");
        }
        // A served job is still found, in its order, with the time of the next one.
        let queue = "mail".to_owned();
        let mail = |job, when, on_lost, priority| NewJob {
            queue: queue.clone(),
            when,
            on_lost,
            priority,
            ..NewJob::new(id(job), "a")
        };
        let (now, normal) = (When::Now, Priority::Normal);
        enqueue(&store, vec![mail(1, now, OnLost::Rerun, normal)]);
        enqueue(&store, vec![mail(2, now, OnLost::Abandon, normal)]);
        enqueue(&store, vec![mail(3, now, OnLost::Rerun, Priority::High)]);
        enqueue(&store, vec![mail(4, later, OnLost::Abandon, normal)]);
        let mut poll = poll_of(crate::support::session(1), "a", 3);
        poll.queues = Some(["mail".into(), "slow".into(), "mail".into()].into());
        let polled = store.poll(&poll).expect("a poll");
        let taken: Vec<_> = polled.jobs.iter().map(|job| job.id).collect();
        assert_eq!(taken, [id(3), id(1), id(2)]);
        assert!(polled.next_job.is_some());
        let nothing = store.poll(&Poll { queues: Some([].into()), ..poll }).expect("a poll");
        assert_eq!((nothing.jobs.len(), nothing.next_job), (0, None));
    }
}

/// A deploy that begins with the processes that enqueue leaves a backlog of newer jobs at the head.
/// The pages of a poll beside 60,000 jobs of tomorrow, and a job that is due.
fn beside(server: &Server, queue: &str, task: &str, queues: &str) -> u64 {
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema();
    open(&store, 1);
    let others = format!(
        "insert into {schema}.job (id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, task, queue, payload)
         select gen_random_uuid(), now() + '1 day'::interval, now(), 1, false, 1, 1, {task}, {queue}, ''
         from generate_series(1, 60000) n"
    );
    client.batch_execute(&others).expect("jobs");
    client.batch_execute(&format!("vacuum analyze {schema}.job")).expect("a vacuum");
    enqueue(&store, vec![NewJob { queue: "m".to_owned(), ..NewJob::new(id(1), "a") }]);
    let pages = pages(&mut client, &poll(schema, queues));
    client.batch_execute(&poll(schema, queues)).expect("a poll");
    assert_eq!(store.job(id(1)).expect("an answer").expect("the job").state, JobState::Running);
    pages
}

#[test]
fn queues_and_tasks_of_others_are_not_walked() {
    let Some(server) = server() else { return };
    for queues in ["array['m']", "null"] {
        let own = beside(server, "'m'", "'a'", queues);
        let mut others = vec![("'m'", "'t' || n")];
        if queues != "null" {
            others.push(("'q' || n", "'a'"));
            others.push(("'q' || n", "case when n % 2 = 0 then 'a' else 'b' || n end"));
        }
        for (queue, task) in others {
            let beside = beside(server, queue, task, queues);
            let case = format!("{beside} pages, and {own} beside own jobs");
            assert!(beside * 5 <= own * 6, "queues {queue}, tasks {task}: {case}");
        }
    }
}

/// However many jobs a partition has, a poll looks at no more of them than may start.
#[test]
fn fl5_a_flooded_partition_is_not_walked() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let (schema, me) = (store.schema(), open(&store, 1));
    let each = Limit { running: Some(5), ..Limit::default() };
    let limits = vec![LimitSpec { task: "a".to_owned(), each, ..LimitSpec::default() }];
    let (first_opened, definitions) = (StoreTime::from_micros(0), Vec::new());
    let register = Register { session: me, first_opened, definitions, limits, not_after: END };
    store.register(&register).expect("an answer");
    let of = |number: u128, partition: &str| NewJob {
        partition: Some(partition.to_owned()),
        ..NewJob::new(id(number), "a")
    };
    enqueue(&store, (1_000..21_000).map(|number| of(number, "flood")).collect());
    client.batch_execute(&format!("vacuum {schema}.job")).expect("a vacuum");
    let poll = poll(schema, "null").replace("100, 1, 1", "100, 100, 1");
    let first = pages(&mut client, &poll);
    assert!(first < 400, "{first} pages for five of 20,000");
    client.batch_execute(&poll).expect("a poll");
    let full = pages(&mut client, &poll);
    assert!(full < 200, "{full} pages for a partition that is full");
    enqueue(&store, (0..40).map(|number| of(number, &format!("p{number}"))).collect());
    let beside = pages(&mut client, &poll);
    assert!(beside < 40 * 60, "{beside} pages for 40 partitions beside it");
    let taken = store.poll(&poll_of(me, "a", 100)).expect("a poll").jobs;
    assert_eq!(taken.len(), 40);
}

/// The statistics are of a time at which no job ran, none was parked and none was tried again.
#[test]
fn fl5_other_jobs_that_run_or_are_parked_are_not_walked_whatever_the_statistics_say() {
    let Some(server) = server() else { return };
    let running = |running| Limit { running: Some(running), ..Limit::default() };
    let ordered = Limit { ordered: Some(OnPark::Hold), ..running(1) };
    for (all, each) in [
        (Limit::default(), running(5)),
        (running(5), Limit::default()),
        (running(5), running(5)),
        (Limit::default(), ordered),
    ] {
        let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
        let (schema, me) = (store.schema(), open(&store, 1));
        let limits = vec![LimitSpec { task: "a".to_owned(), all, each, ..LimitSpec::default() }];
        let (first_opened, definitions) = (StoreTime::from_micros(0), Vec::new());
        let register = Register { session: me, first_opened, definitions, limits, not_after: END };
        store.register(&register).expect("an answer");
        enqueue(&store, (1_000..6_000).map(|number| NewJob::new(id(number), "b")).collect());
        client.batch_execute(&format!("vacuum analyze {schema}.job")).expect("statistics");
        let rows = "id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, task, queue, payload, partition";
        let values = "gen_random_uuid(), now(), now(), 1, false, 1, 0";
        let others = "'default', '{}', 'q' || n";
        // One limit counts those of its task, the other those of its partition.
        let task = if all.running.is_some() { "b" } else { "a" };
        client
            .batch_execute(&format!(
                "insert into {schema}.job ({rows}, state, fence, session)
                 select {values}, '{task}', {others}, 'running', n, {} from generate_series(1, 3000) n;
                 insert into {schema}.job ({rows}, state, finished_at)
                 select {values}, 'a', {others}, 'parked', now() from generate_series(1, 3000) n;
                 insert into {schema}.job ({rows}, state, held_until)
                 select {values}, 'b', {others}, 'ready', now() from generate_series(1, 3000) n",
                uuid(1)
            ))
            .expect("others");
        let partition = |number: u128| Some(format!("p{number}"));
        let of = |number| NewJob { partition: partition(number), ..NewJob::new(id(number), "a") };
        enqueue(&store, (1..=4).map(of).collect());
        let looked = pages(&mut client, &poll(schema, "null").replace("100, 1, 1", "100, 100, 1"));
        assert!(looked < 350, "{looked} pages with {all:?} and {each:?}");
        assert_eq!(store.poll(&poll_of(me, "a", 100)).expect("a poll").jobs.len(), 4);
    }
}

#[test]
fn r24_jobs_with_newer_payloads_are_not_walked() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let (schema, me) = (store.schema(), open(&store, 1));
    let poll = poll(schema, "null");
    pages(&mut client, &poll);
    enqueue(&store, (1..=3).map(|number| NewJob::new(id(number), "a")).collect());
    let before = pages(&mut client, &poll);
    let newer = format!(
        "insert into {schema}.job (id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, task, queue, payload)
         select gen_random_uuid(), now() - interval '1 day', now(), 3, n % 2 = 0, 1, 10 + n % 3, 'a', 'default', '{{}}'
         from generate_series(1, 100000) n; vacuum analyze {schema}.job"
    );
    for statement in newer.split(';') {
        client.batch_execute(statement).expect("newer jobs");
    }
    let beside = pages(&mut client, &poll);
    println!("a poll reads {before} pages, and {beside} beside 100,000 newer jobs");
    assert!(beside <= before + 60, "{beside} pages, {before} without newer jobs");
    let task = TaskRoom { task: "a".into(), room: 100, version: 9 };
    let mut known = Poll { tasks: [task].into(), ..poll_of(me, "a", 100) };
    let polled = store.poll(&known).expect("a poll");
    assert_eq!((polled.jobs.len(), polled.next_job), (3, None));
    // A process of the newer build.
    known.tasks = [TaskRoom { task: "a".into(), room: 100, version: 11 }].into();
    let polled = store.poll(&known).expect("a poll");
    assert_eq!(polled.jobs.len(), 100);
    assert!(polled.jobs.iter().all(|job| [10, 11].contains(&job.payload.version)));
}

/// A task has one room, so that all its lines end at once; another has most of what is due first.
#[test]
fn jobs_of_many_tasks_and_queues_are_claimed_in_one_order() {
    let Some(server) = server() else { return };
    let served = ["mail", "slow"];
    for (seed, queues) in (1..=6_u64).flat_map(|seed| [(seed, None), (seed, Some(served))]) {
        let store = builder(server).connect().expect("a store");
        let me = open(&store, 1);
        let mut random = seed;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(seed);
            (random >> 33) % below
        };
        let job = |number: u64| {
            let task = ["a", "a", "a", "b", "c", "d", "e", "f"][draw(8) as usize];
            // The first due jobs are of one task and one queue.
            let (first, at) = (draw(2) == 0, draw(1_000) as i64);
            NewJob {
                queue: ["mail", "default", "slow"][if first { 0 } else { draw(3) as usize }]
                    .to_owned(),
                priority: if draw(4) == 0 { Priority::High } else { Priority::Normal },
                when: When::At(StoreTime::from_micros(if first { at / 100 } else { at })),
                on_lost: if draw(10) == 0 { OnLost::Abandon } else { OnLost::Rerun },
                ..NewJob::new(id(number.into()), if first { "a" } else { task })
            }
        };
        let mut jobs: Vec<NewJob> = (1..=400).map(job).collect();
        enqueue(&store, jobs.clone());
        let mut poll = poll_of(me, "a", 60);
        let room = |task: &str, room| TaskRoom { task: task.into(), room, version: u32::MAX };
        poll.tasks =
            [room("a", 50), room("b", 1), room("c", 9), room("d", 60), room("e", 3)].into();
        poll.abandon_limit = 2;
        poll.queues = queues.map(|queues| queues.map(Into::into).into());
        for _ in 0..4 {
            let taken = store.poll(&poll).expect("a poll").jobs;
            let taken: Vec<_> = taken.iter().map(|job| job.id).collect();
            assert_eq!(taken, expected(&jobs, &poll), "seed {seed}, queues {queues:?}");
            jobs.retain(|job| !taken.contains(&job.id));
        }
    }
}

/// The jobs that a poll takes of those that are due.
fn expected(jobs: &[NewJob], poll: &Poll) -> Vec<JobId> {
    let is_served = |job: &&NewJob| {
        let queues = poll.queues.as_ref();
        queues.is_none_or(|queues| queues.iter().any(|each| **each == *job.queue))
    };
    let stored = jobs.iter().filter(is_served).map(|job| {
        let When::At(at) = job.when else { panic!("{job:?}") };
        StoredJob::new(job, at, at)
    });
    let chosen = poll.choose(stored.collect(), &LimitsUsed::default(), |job: &StoredJob| job);
    chosen.into_iter().map(|job| job.id).collect()
}

#[test]
fn jobs_of_the_future_that_must_not_run_twice_are_not_walked() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let (when, on_lost) = (When::After(SECOND * 86_400), OnLost::Abandon);
    crowded(&mut client, &store, |job| NewJob { when, on_lost, ..job });
    for queues in ["null", "array['default']"] {
        let looked = pages(&mut client, &poll(store.schema(), queues));
        assert!(looked < 200, "{looked} pages for the queues {queues}");
    }
}

#[test]
fn jobs_that_must_not_run_twice_are_not_walked_beyond_their_limit() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    crowded(&mut client, &store, |job| NewJob { on_lost: OnLost::Abandon, ..job });
    for queues in ["null", "array['default']"] {
        let looked = pages(&mut client, &poll(store.schema(), queues));
        assert!(looked < 200, "{looked} pages for the queues {queues}");
    }
}

/// Ended jobs are many in one row of a table. A row is written anew once for all of its jobs that a command is about.
#[test]
fn commands_by_filter_read_ended_jobs_as_few_times_as_parked_ones() {
    let Some(server) = server() else { return };
    for action in ["remove", "retry"] {
        let [parked, ended] = ["parked", "done"].map(|state| {
            let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
            let schema = store.schema();
            open(&store, 1);
            if state == "done" {
                finished(&store, 1..=400, 100);
            } else {
                enqueue(&store, (1..=400).map(|number| NewJob::new(id(number), "a")).collect());
                let park = format!("update {schema}.job set state = 'parked', finished_at = now()");
                client.batch_execute(&park).expect("an update");
            }
            // Of a task that has also others, in two pages.
            let command = format!("select * from {schema}.command_all('{action}', p_state => '{state}', p_limit => 200)");
            let read = pages(&mut client, &command);
            client.batch_execute(&format!("{command}; {command}")).expect("two pages");
            let left = format!("select count(*) from {schema}.list(null, null, '{state}', null, null, null, 3000)");
            assert_eq!(client.query_one(&left, &[]).expect("a count").get::<_, i64>(0), 0, "{action}");
            read
        });
        assert!(ended < parked * 3, "{action}: {ended} pages, and {parked} of parked jobs");
    }
}

#[test]
fn depths_do_not_read_what_is_done() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    finished(&store, 0..20_000, 500);
    let me = open(&store, 1);
    let new = |number, on_lost| NewJob { on_lost, ..NewJob::new(id(number), "a") };
    enqueue(&store, (1..=3).map(|number| new(number, OnLost::Rerun)).collect());
    store.poll(&poll_of(me, "a", 1)).expect("a poll");
    let when = When::After(SECOND * 60);
    enqueue(&store, vec![new(4, OnLost::Abandon), NewJob { when, ..new(5, OnLost::Abandon) }]);
    let depths = store.depths().expect("depths");
    let counts: Vec<_> =
        depths.iter().map(|each| (each.due, each.later, each.running, each.parked)).collect();
    assert_eq!(counts, [(3, 1, 1, 0)]);
    assert!(depths[0].oldest.is_some());
    // A vacuum leaves what a transaction of another test may still see.
    let mut looked = u64::MAX;
    for _ in 0..100 {
        client.batch_execute(&format!("vacuum {}.job", store.schema())).expect("a vacuum");
        looked = pages(&mut client, &format!("select * from {}.depths()", store.schema()));
        if looked < 100 {
            return;
        }
        client.batch_execute("select pg_sleep(0.2)").expect("a pause");
    }
    panic!("{looked} pages for five jobs");
}

/// Jobs that are tried again are found and changed beside many that have no error, whatever the planner knows of the table.
#[test]
fn lists_of_jobs_with_an_error_do_not_read_the_others() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema();
    crowded(&mut client, &store, |job| job);
    let fail = format!(
        "update {schema}.job set error = 'no' where id in ({}, {})",
        uuid(2_000),
        uuid(9_000)
    );
    client.batch_execute(&fail).expect("two errors");
    let with_error =
        JobFilter { state: Some(JobState::Ready), has_error: true, ..JobFilter::default() };
    let of = |task: &str| JobFilter { task: Some(task.to_owned()), ..with_error.clone() };
    for statistics in ["", "analyze"] {
        let analyze = format!("{statistics} {schema}.job");
        client.batch_execute(if statistics.is_empty() { "" } else { &analyze }).expect("analyze");
        for (filter, found) in [(&with_error, 2), (&of("a"), 2), (&of("none"), 0)] {
            assert_eq!(store.jobs(filter, 500).expect("jobs").len(), found);
        }
        for task in ["null", "'a'", "'none'"] {
            let list = format!(
                "select * from {schema}.list({task}, null, 'ready', null, null, null, 500, true)"
            );
            let looked = pages(&mut client, &list);
            assert!(looked < 100, "{looked} pages of the task {task}, {statistics}");
        }
    }
    let retry = format!(
        "select * from {schema}.command_all('retry', p_state => 'ready', p_has_error => true)"
    );
    let looked = pages(&mut client, &retry);
    assert!(looked < 300, "{looked} pages for two jobs");
}

#[test]
fn an_enqueue_does_not_read_what_is_done() {
    /// The first identity of version 7 of a day in 2024.
    const DAY: u128 = 0x018f_0000_0000_7000_8000_0000_0000_0000;
    let Some(server) = server() else { return };
    let (store, mut first) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema();
    let enqueue = format!("select {schema}.enqueue('a')");
    let before = pages(&mut first, &enqueue);
    finished(&store, DAY..DAY + 20_000, 500);
    first.batch_execute(&format!("vacuum {schema}.job")).expect("a vacuum");
    let looked = pages(&mut first, &enqueue);
    assert!(looked <= before + 20, "{looked} pages, {before} without jobs that are done");
    // A planner that has statistics, for a connection that has planned nothing.
    let lately = |first: &mut Client, rows, identity| {
        let rows = ended_lately(schema, rows, identity);
        first.batch_execute(&rows).expect("ended jobs");
        first.batch_execute(&format!("vacuum analyze {schema}.done")).expect("statistics");
        let mut second = client(server);
        pages(&mut second, &enqueue)
    };
    first.batch_execute(&format!("truncate {schema}.done")).expect("no jobs");
    let looked = lately(&mut first, 2_000, OF_VERSION_7);
    assert!(looked <= before + 20, "{looked} pages, {before} without jobs that are done");
    // Those of the last hour are read at most, though all of other versions are greater.
    let looked = lately(&mut first, 20_000, "gen_random_uuid()");
    assert!(looked <= before + 5_000, "{looked} pages beside identities of other versions");
}

/// Jobs whose identities are not of version 7 are greater than nearly all others, and may be many.
#[test]
fn a_job_that_has_ended_is_found_among_identities_of_other_versions() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema().to_owned();
    let me = open(&store, 1);
    let new_id = format!("select {schema}.new_id()");
    for _ in 0..2 {
        let made: Uuid = client.query_one(&new_id, &[]).expect("an identity").get(0);
        let ids = [JobId::from_uuid(made), id(0x4000_8000_0000_0000_0000 | made.as_u128() << 96)];
        let jobs = ids.map(|id| NewJob::new(id, "a"));
        enqueue(&store, jobs.to_vec());
        let claimed = store.poll(&poll_of(me, "a", 2)).expect("a poll").jobs;
        let end = |job: &StoredJob| Finish {
            progress: None,
            session: me,
            held: job.held(),
            end: End::Done,
        };
        let ends: Vec<_> = claimed.iter().map(end).collect();
        assert_eq!(ends.len(), 2);
        store.finish(&ends).expect("ends");
        // Sent again.
        enqueue(&store, jobs.to_vec());
        assert_eq!(store.poll(&poll_of(me, "a", 2)).expect("a poll").jobs.len(), 0);
        for id in ids {
            let found = store.job(id).expect("an answer").map(|job| job.state);
            assert_eq!(found, Some(JobState::Done));
        }
        let many = ended_lately(&schema, 1_000, "gen_random_uuid()");
        client.batch_execute(&format!("{many}; analyze {schema}.done")).expect("ended jobs");
    }
}

#[test]
fn commands_about_the_jobs_of_a_schedule_do_not_read_those_of_others() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    finished(&store, 0..20_000, 500);
    client.batch_execute(&format!("vacuum {}.job", store.schema())).expect("a vacuum");
    let of = |schedule: &str| {
        format!(
            "select * from {}.command_all('cancel', p_schedule => '{schedule}')",
            store.schema()
        )
    };
    let looked = pages(&mut client, &of("unknown"));
    assert!(looked < 100, "{looked} pages for no job");
}

#[test]
fn jobs_of_the_future_and_of_others_are_not_walked() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    open(&store, 1);
    let schema = store.schema();
    let later = When::After(SECOND * 86_400);
    let future = (1_000..9_000).map(|number| NewJob {
        priority: Priority::Urgent,
        when: later,
        ..NewJob::new(id(number), "a")
    });
    enqueue(&store, future.collect());
    let others = (9_000..14_000).map(|number| NewJob::new(id(number), "unknown"));
    enqueue(&store, others.collect());
    enqueue(
        &store,
        (1..=500).map(|number| NewJob::new(id(number), ["a", "b"][number as usize % 2])).collect(),
    );
    let mut client = client(server);
    client.batch_execute(&format!("vacuum analyze {schema}.job")).expect("a vacuum");
    // If the jobs of one line are due, it takes them as they are: an entry of the line and one of the primary key for each.
    for (tasks, most) in [("array['a']", 2.5), ("array['a', 'b', 'c', 'd']", 10.0)] {
        let mut transaction = client.transaction().expect("a transaction");
        let poll = format!(
            "select * from {schema}.poll({}, {tasks}, array_fill(100::bigint, array[cardinality({tasks})]), array_fill(9::bigint, array[cardinality({tasks})]), null, 100, 1, 1, 'infinity', false, false)",
            uuid(1)
        );
        let claimed = transaction.query(&poll, &[]).expect("a poll").len() as i64 - 1;
        assert_eq!(claimed, 100);
        let walked = format!(
            "select sum(pg_stat_get_xact_tuples_returned(indexrelid) ) from pg_stat_user_indexes where schemaname = '{schema}'"
        );
        let walked = format!("select ({walked})::bigint");
        let walked: i64 = transaction.query_one(&walked, &[]).expect("a count").get(0);
        assert!(
            walked >= claimed && walked as f64 <= most * claimed as f64,
            "{walked} rows were walked for {claimed} jobs of {tasks}"
        );
        transaction.commit().expect("a commit");
    }
}

#[test]
fn a_claim_may_be_undone_by_a_crash_unless_the_job_must_not_run_twice() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    open(&store, 1);
    let mut client = client(server);
    client.batch_execute("set synchronous_commit = on").expect("the default of a server");
    let mut poll = |task: &str, is_relaxed: bool| {
        let mut transaction = client.transaction().expect("a transaction");
        let poll = format!(
            "select * from {}.poll({}, array['{task}'], array[1::bigint], array[9::bigint], null, 1, 1, 1, 'infinity', {is_relaxed}, false)",
            store.schema(),
            uuid(1)
        );
        let claimed = transaction.query(&poll, &[]).expect("a poll").len() - 1;
        let setting = transaction.query_one("show synchronous_commit", &[]).expect("a setting");
        transaction.commit().expect("a commit");
        (claimed, setting.get::<_, String>(0))
    };
    let once = NewJob { on_lost: OnLost::Abandon, ..NewJob::new(id(3), "once") };
    enqueue(&store, vec![NewJob::new(id(1), "a"), NewJob::new(id(2), "a"), once]);
    assert_eq!(poll("a", true), (1, "off".to_owned()));
    assert_eq!(poll("a", false), (1, "on".to_owned()));
    assert_eq!(poll("once", true), (1, "on".to_owned()));
    assert_eq!(poll("none", true), (0, "on".to_owned()));
}

/// A page of actions and a prune read a range of the index, however many there are.
#[test]
fn actions_are_read_and_pruned_by_their_time() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema();
    let list = format!("select * from {schema}.list_actions(null, null, null, null, 50)");
    let prune = format!(
        "select {schema}.prune(86400000000, 86400000000, 86400000000, 86400000000, 1000, 'infinity')"
    );
    let nothing = [pages(&mut client, &list), pages(&mut client, &prune)];
    let actions = format!(
        "insert into {schema}.action select gen_random_uuid(), now() - n * '1 second'::interval, 'anna', 'test', '', '', 'retry', 'jobs',
           'all', null, 1, '', '', '' from generate_series(1, 20000) n; vacuum analyze {schema}.action"
    );
    for statement in actions.split("; ") {
        client.batch_execute(statement).expect("actions");
    }
    let many = [pages(&mut client, &list), pages(&mut client, &prune)];
    assert!(many[0] < nothing[0] + 80, "{many:?} pages in place of {nothing:?}");
    assert!(many[1] < nothing[1] + 20, "{many:?} pages in place of {nothing:?}");
}
