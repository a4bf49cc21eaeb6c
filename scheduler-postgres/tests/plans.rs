//! What a claim costs, and what of it a crash may undo.

use scheduler_store::{NewJob, OnLost, Priority, When};

use crate::support::{SECOND, builder, client, enqueue, id, open, server, uuid};

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
    for tasks in ["array['a']", "array['a', 'b', 'c', 'd']"] {
        let mut transaction = client.transaction().expect("a transaction");
        let poll = format!(
            "select * from {schema}.poll({}, {tasks}, array_fill(100::bigint, array[cardinality({tasks})]), null, 100, 1, 1, 'infinity', false, false)",
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
            (claimed..=10 * claimed).contains(&walked),
            "{walked} rows were walked for {claimed} jobs"
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
            "select * from {}.poll({}, array['{task}'], array[1::bigint], null, 1, 1, 1, 'infinity', {is_relaxed}, false)",
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
