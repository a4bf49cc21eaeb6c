//! The cost of lists.

use scheduler_store::NewJob;

use crate::support::{builder, client, enqueue, finished, id, pages, pages_aside, server};

/// The first page of each list, and one that finds nothing, beside many jobs of the future and many that are done.
#[test]
fn lists_begin_with_the_newest_and_read_an_index() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema().to_owned();
    finished(&store, 0..5_000, 500);
    client
        .batch_execute(&format!(
            "insert into {schema}.job (id, run_at, created_at, finished_at, state, priority, is_abandoned, max_attempts, payload_version, task, queue, payload)
             select {schema}.new_id(), now(), now(), now(), 'parked', 1, false, 1, 0, 'b', 'default', '' from generate_series(1, 5000);
             insert into {schema}.job (id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, task, queue, payload)
             select {schema}.new_id(), now() + interval '1 day', now(), 1, false, 1, 0, 'a', 'default', '' from generate_series(1, 50000)"
        ))
        .expect("jobs");
    client.batch_execute(&format!("vacuum analyze {schema}.job")).expect("a vacuum");
    client.batch_execute(&format!("vacuum analyze {schema}.done")).expect("a vacuum");
    let list = |conditions: &str| format!("select id from {schema}.list({conditions}, null, 50)");
    for (conditions, most) in [
        ("null, null, null, null, null", 500),
        ("null, null, 'ready', null, null", 500),
        ("'a', null, null, null, null", 3_000),
        ("'b', null, 'parked', null, null", 500),
        ("null, null, 'parked', null, null", 500),
        ("null, null, 'done', null, null", 500),
        ("'none', null, null, null, null", 500),
        ("null, 'none', 'ready', null, null", 500),
        ("'none', null, 'parked', null, null", 500),
        ("'a', null, 'running', null, null", 500),
        ("null, null, null, 'none', null", 500),
        ("'a', null, null, null, 'none'", 500),
    ] {
        let looked = pages(&mut client, &list(conditions));
        assert!(looked < most, "list({conditions}) reads {looked} pages");
    }
    // As the functions do.
    client.batch_execute("set enable_seqscan = off; set enable_sort = off").expect("settings");
    let mut plan = |statement: &str| -> String {
        let rows = client.query(&format!("explain {statement}"), &[]).expect("a plan");
        rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
    };
    for (statement, index) in [
        (format!("select id from {schema}.job order by id desc limit 50"), "job_pkey"),
        (
            format!("select id from {schema}.job where key = 'k' order by id desc limit 50"),
            "job_key",
        ),
        (
            format!("select id from {schema}.job where schedule = 's' order by id desc limit 50"),
            "job_schedule",
        ),
        (format!("select id from {schema}.done order by greatest_id desc limit 50"), "done_pkey"),
    ] {
        let plan = plan(&statement);
        assert!(plan.contains(index) && !plan.contains("Seq Scan"), "{statement}: {plan}");
    }
}

/// Whatever the planner knows of the table.
#[test]
fn jobs_of_a_partition_are_found_beside_many_of_another() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema().to_owned();
    let insert = |state: &str, partition: &str, count: u32| {
        format!(
            "insert into {schema}.job (id, run_at, created_at, finished_at, state, priority, is_abandoned, max_attempts, payload_version, task, queue, payload, partition)
             select {schema}.new_id(), now() + interval '1 day', now(), now(), '{state}', 1, false, 1, 0, 'a', 'default', '', '{partition}' from generate_series(1, {count});"
        )
    };
    for (state, partition, count) in [
        ("ready", "small", 3),
        ("parked", "small", 2),
        ("ready", "big", 20_000),
        ("parked", "big", 5_000),
    ] {
        client.batch_execute(&insert(state, partition, count)).expect("jobs");
    }
    for statistics in ["", "vacuum analyze"] {
        let analyze = format!("{statistics} {schema}.job");
        client.batch_execute(if statistics.is_empty() { "" } else { &analyze }).expect("analyze");
        for task in ["null", "'a'"] {
            for (state, partition, found) in [
                ("null", "small", 5),
                ("'ready'", "small", 3),
                ("'parked'", "small", 2),
                ("null", "none", 0),
            ] {
                let list = format!(
                    "{schema}.list({task}, null, {state}, null, null, null, 50, false, '{partition}')"
                );
                let count = client
                    .query_one(&format!("select count(*) from {list}"), &[])
                    .expect("a count");
                assert_eq!(count.get::<_, i64>(0), found, "{list}");
                let looked = pages(&mut client, &format!("select id from {list}"));
                assert!(looked < 200, "{list} reads {looked} pages, {statistics}");
            }
        }
    }
    let cancel = format!(
        "select done from {schema}.command_all('cancel', p_state => 'ready', p_partition => 'small')"
    );
    let looked = pages(&mut client, &cancel);
    assert!(looked < 500, "{looked} pages for three jobs");
}

/// Finished jobs lie in rows of hundreds, or of one. Those of one row are not sorted again for each of the others.
#[test]
fn the_work_of_a_long_list_grows_with_the_number_of_its_jobs_alone() {
    let Some(server) = server() else { return };
    for (jobs, in_a_row) in [(10_000, 500), (2_000, 1)] {
        let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
        finished(&store, (0..jobs).map(|number| 2 * number), in_a_row);
        // Waiting jobs lie among the finished ones.
        enqueue(
            &store,
            (0..jobs).map(|number| NewJob::new(id(100_001 + 2 * number), "old")).collect(),
        );
        for conditions in [
            "null, null, null, null, null",
            "'old', null, null, null, null",
            "null, 'default', 'done', null, null",
        ] {
            let mut written = |limit: u128| {
                let list =
                    format!("select id from {}.list({conditions}, null, {limit})", store.schema());
                pages_aside(&mut client, &list)
            };
            let (some, four_times) = (written(jobs / 4), written(jobs));
            assert!(
                some > 0 && four_times < 8 * some,
                "list({conditions}) of rows of {in_a_row} writes {some} pages, and {four_times} for four times the jobs"
            );
        }
    }
}
