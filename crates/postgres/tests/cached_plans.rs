//! Plans that a connection made while all tables were empty.

use scheduler_postgres::Postgres;
use scheduler_postgres::postgres::Client;
use scheduler_store::{End, Finish, Key, KeyUntil, NewJob, OnConflict, Overlap, Store};

use crate::support::{builder, client, enqueue, id, open, poll_of, put, server, uuid};

/// Jobs in each state: 1 is ready, 2 parked, 3 running, 4 done, and 5 ready with a key. The schedule `s` has fired nothing.
fn one_of_each(store: &Postgres) {
    let me = open(store, 1);
    put(store, "s", Overlap::Skip);
    let ends = [End::Park { error: "no".to_owned() }, End::GiveBack, End::Done];
    enqueue(store, (2..=4).map(|number| NewJob::new(id(number), "a")).collect());
    let jobs = store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs;
    for (job, end) in jobs.iter().zip(ends) {
        if end != End::GiveBack {
            let finish = Finish { session: me, held: job.held(), end };
            store.finish(&[finish]).expect("it is stored");
        }
    }
    let key = Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict: OnConflict::Keep };
    let keyed = NewJob { key: Some(key), ..NewJob::new(id(5), "a") };
    enqueue(store, vec![NewJob::new(id(1), "a"), keyed]);
}

/// All that a program asks by a function, but for polls, ends, ticks and enqueues.
fn statements(schema: &str) -> Vec<String> {
    let job = |number| format!("{}, 'infinity'", uuid(number));
    let mut calls = vec![
        "reap_sessions('{}', '{}', 'infinity')".to_owned(),
        format!(
            "reap_jobs(array[{}], array[{}], (select array[fence] from {schema}.job where id = {0}), array[0::bigint], array['x'], 3)",
            uuid(3),
            uuid(1)
        ),
        format!("close({})", job(1)),
        "prune(86400000000, 86400000000, 86400000000, 1000, 'infinity')".to_owned(),
        format!("run_now('s', {})", job(9)),
        "is_busy('s')".to_owned(),
    ];
    for number in [1, 2, 3, 4, 5, 77] {
        for command in ["cancel", "retry", "remove"] {
            calls.push(format!("{command}({})", job(number)));
        }
        calls.push(format!("edit_job({}, '', 1, 0, 'infinity')", uuid(number)));
        calls.push(format!("done_job({}, now())", uuid(number)));
    }
    for filter in ["p_state => 'parked'", "p_key => 'k'", "p_schedule => 's'", "p_queue => 'none'"]
    {
        calls.push(format!("command_all('cancel', {filter})"));
    }
    let all = calls.iter().map(|call| format!("select * from {schema}.{call}"));
    let locks = format!("select {schema}.lock_free_schedules(array['s'])");
    all.chain([locks]).collect()
}

/// The rows that a statement reads of tables as a whole and by indexes. It is undone.
fn reads(client: &mut Client, schema: &str, statement: &str) -> (i64, i64) {
    let mut transaction = client.transaction().expect("a transaction");
    transaction.batch_execute(statement).expect(statement);
    let counts = format!(
        "select (select sum(seq_tup_read)::bigint from pg_stat_xact_user_tables where schemaname = '{schema}'),
           (select sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint from pg_stat_user_indexes where schemaname = '{schema}')"
    );
    let row = transaction.query_one(&counts, &[]).expect("counts");
    transaction.rollback().expect("it is undone");
    (row.get(0), row.get(1))
}

#[test]
fn no_statement_that_was_planned_on_empty_tables_reads_a_whole_one_later() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let schema = store.schema().to_owned();
    let tables = ["job", "done", "key", "schedule"].map(|table| format!("{schema}.{table}"));
    let quiet = tables.each_ref().map(|table| {
        format!("alter table {table} set (autovacuum_enabled = off); analyze {table};")
    });
    client.batch_execute(&quiet.concat()).expect("statistics of empty tables");
    one_of_each(&store);
    let statements = statements(&schema);
    // After five executions PL/pgSQL keeps a plan.
    for statement in (0..7).flat_map(|_| &statements) {
        reads(&mut client, &schema, statement);
    }
    client
        .batch_execute(&format!(
            "insert into {schema}.job (id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, task, queue,
               payload, key)
             select gen_random_uuid(), now() + interval '1 day', now(), 1, false, 1, 0, 'a', 'default', '', 'of ' || n
             from generate_series(1, 300000) n;
             insert into {schema}.key (task, key, job) select 'a', 'of ' || n, gen_random_uuid() from generate_series(1, 20000) n;"
        ))
        .expect("jobs");
    let read = statements.iter().map(|each| (reads(&mut client, &schema, each), each));
    let many: Vec<_> = read.filter(|((whole, by_index), _)| whole + by_index > 300).collect();
    assert!(many.is_empty(), "rows of whole tables, and by indexes: {many:#?}");
}
