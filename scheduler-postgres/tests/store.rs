//! A first look.

use crate::support::*;
use scheduler_store::*;

#[test]
fn a_job_runs() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = session(1);
    let open = Open {
        id: me,
        replaces: None,
        label: "a".into(),
        build: "b".into(),
        lease: SECOND * 60,
        not_after: StoreTime::MAX,
    };
    store.open(&open).unwrap();
    let jobs = vec![
        NewJob::new(id(1), "send"),
        NewJob::new(id(2), "send"),
        NewJob { priority: Priority::High, ..NewJob::new(id(3), "other") },
    ];
    let request = Enqueue { jobs, not_after: StoreTime::MAX };
    assert_eq!(store.enqueue(&request).unwrap(), [Enqueued::Accepted; 3]);
    assert_eq!(store.enqueue(&request).unwrap(), [Enqueued::Accepted; 3]);
    let poll = Poll {
        session: me,
        tasks: vec![
            TaskRoom { task: "send".into(), room: 10 },
            TaskRoom { task: "other".into(), room: 1 },
        ]
        .into(),
        queues: None,
        limit: 10,
        abandon_limit: 1,
        lost_limit: 1,
        not_after: StoreTime::MAX,
    };
    let polled = store.poll(&poll).unwrap();
    assert_eq!(polled.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [id(3), id(1), id(2)]);
    let finishes: Vec<_> = polled
        .jobs
        .iter()
        .map(|job| Finish { session: me, held: job.held(), end: End::Done })
        .collect();
    println!("{:?}", store.finish(&finishes).unwrap());
    println!("{:?}", store.finish(&finishes).unwrap());
    println!("{:?} {:?}", store.depths(), store.sessions());
    let renew = Renew { session: me, lease: SECOND, not_after: StoreTime::MAX };
    println!("{:?}", store.renew(&renew));
    println!("{:?}", store.renew(&Renew { not_after: StoreTime::MIN, ..renew }));
    println!("{:?}", store.command(&Command::Retry { job: id(1) }, StoreTime::MAX));
    println!(
        "{:?}",
        store.reap(&Reap {
            dead: vec![],
            max_lost: 3,
            spread: SECOND,
            draw: 1,
            not_after: StoreTime::MAX
        })
    );
    println!(
        "{:?}",
        store.prune(&Prune {
            keep_done: SECOND * 0,
            keep_parked: SECOND,
            limit: 100,
            not_after: StoreTime::MAX
        })
    );
}
