-- Enqueues a batch in which no identity stands twice; one answer for each job, in their order.
--
-- READ COMMITTED suffices: the identity is the primary key of `job`, and the primary key of `key` decides who has a key. All are
-- looked for among finished jobs, too (R3): a request may arrive after its repetition, and after the end of its job.
create function {s}.enqueue_jobs(
  p_ids uuid[], p_tasks text[], p_payloads bytea[], p_versions bigint[], p_queues text[], p_priorities smallint[],
  p_waits bigint[], p_ats timestamptz[], p_keys text[], p_until_start boolean[], p_replaces boolean[],
  p_max_attempts bigint[], p_abandoned boolean[], p_traceparents text[], p_key_for bigint[], p_not_after timestamptz,
  p_nudge boolean)
returns table (outcome text, other uuid) language plpgsql volatile {plans} as $$
declare
  v_now timestamptz;
  v_is_due boolean;
  v_new uuid[];
  v_ended uuid[];
  v_outcomes text[];
  v_others uuid[];
  v_other uuid;
  v_is_replaced boolean;
  r record;
begin
  {read_clock(v_now, p_not_after)}
  with new as (
    insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned, traceparent,
      created_at)
    select u.id, u.task, u.payload, u.version, u.queue, u.priority, coalesce(u.at, {after(v_now, u.wait)}),
      greatest(u.max_attempts, 1), u.is_abandoned, u.traceparent, v_now
    from unnest(p_ids, p_tasks, p_payloads, p_versions, p_queues, p_priorities, p_waits, p_ats, p_keys, p_max_attempts,
      p_abandoned, p_traceparents)
      u(id, task, payload, version, queue, priority, wait, at, key, max_attempts, is_abandoned, traceparent)
    where u.key is null
    on conflict (id) do nothing
    returning id, run_at)
  select coalesce(bool_or(n.run_at <= v_now), false), array_agg(n.id) into v_is_due, v_new from new n;
  -- Of two batches with the same keys none waits for the other while the other waits for it.
  for r in
    select u.*, coalesce(u.at, {after(v_now, u.wait)}) as run_at,
      case when u.key_for is not null then {after(v_now, u.key_for)} end as until
    from unnest(p_ids, p_tasks, p_payloads, p_versions, p_queues, p_priorities, p_waits, p_ats, p_keys, p_until_start,
      p_replaces, p_max_attempts, p_abandoned, p_traceparents, p_key_for) with ordinality
      u(id, task, payload, version, queue, priority, wait, at, key, until_start, is_replacing, max_attempts, is_abandoned,
        traceparent, key_for, n)
    where u.key is not null order by u.task, u.key, u.n
  loop
    -- The identity comes before the key (R3).
    continue when exists (select from {s}.job j where j.id = r.id) or {s}.ended(array[r.id], {sent_since(array[r.id], v_now)}) <> '{}';
    loop
      insert into {s}.key (task, key, job, until) values (r.task, r.key, r.id, r.until) on conflict do nothing;
      if not found then
        update {s}.key k set job = r.id, until = r.until, has_ended = false
        where k.task = r.task and k.key = r.key and k.has_ended and k.until <= v_now;
      end if;
      if found then
        insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, key, is_key_until_start, max_attempts,
          is_abandoned, traceparent, created_at)
        values (r.id, r.task, r.payload, r.version, r.queue, r.priority, r.run_at, r.key, r.until_start,
          greatest(r.max_attempts, 1), r.is_abandoned, r.traceparent, v_now);
        v_new := v_new || r.id;
        v_is_due := v_is_due or r.run_at <= v_now;
        exit;
      end if;
      select k.job into v_other from {s}.key k where k.task = r.task and k.key = r.key;
      -- RACE: the other may have ended between two statements; then the key is free.
      continue when not found;
      -- Its own key may outlive a job that was sent before.
      exit when v_other = r.id;
      v_others[r.n] := v_other;
      v_is_replaced := false;
      if r.is_replacing then
        update {s}.job j set payload = r.payload, payload_version = r.version, priority = r.priority, run_at = r.run_at,
          traceparent = r.traceparent, max_attempts = greatest(r.max_attempts, 1), attempt = 0, lost = 0, undecoded = 0,
          error = null, attempts = null
        where j.id = v_other and j.state = any(array['ready', '']) and j.key = r.key;
        v_is_replaced := found;
        v_is_due := v_is_due or (found and r.run_at <= v_now);
      end if;
      v_outcomes[r.n] := case when v_is_replaced then 'replaced' else 'kept' end;
      exit;
    end loop;
  end loop;
  -- RACE: an insertion may have waited for the end of the same job.
  v_ended := {s}.ended(v_new, {sent_since(v_new, v_now)});
  if v_ended <> '{}' then
    delete from {s}.key k where k.job = any(v_ended) and k.task = any(p_tasks) and k.key = any(p_keys) and not k.has_ended;
    delete from {s}.job j where j.id = any(v_ended);
  end if;
  if v_is_due and p_nudge then
    perform {nudge};
  end if;
  return query select coalesce(v_outcomes[u.n], 'accepted'), v_others[u.n] from generate_subscripts(p_ids, 1) u(n) order by u.n;
end $$;

-- For any client, in its own transaction. Returns the identity of the job, or of the one that has the key. Without `nudge`
-- processes find the job when they poll next, and the transaction may be a prepared one.
--
--     select {s}.enqueue('send_invoice', '{"invoice": 17}', run_at => now() + interval '1 hour', key => 'inv-17');
create function {s}.enqueue(
  task text, payload jsonb default null, run_at timestamptz default null, key text default null,
  priority text default 'normal', queue text default 'default', max_attempts bigint default 1, on_lost text default 'rerun',
  version bigint default 1, on_conflict text default 'keep', key_until text default 'end', id uuid default null,
  nudge boolean default true, key_for interval default null, traceparent text default null)
returns uuid language plpgsql volatile security definer set {path} as $$
declare
  v_priority smallint := array_position(array['low', 'normal', 'high', 'urgent'], enqueue.priority) - 1;
  v_job uuid := coalesce(enqueue.id, {s}.new_id());
  v_id uuid;
begin
  if coalesce(octet_length(task), 0) not between 1 and {name_max} or coalesce(octet_length(queue), 0) not between 1 and {name_max}
    or octet_length(key) not between 1 and {name_max} or octet_length(traceparent) not between 1 and {name_max} then
    raise exception 'task, queue, key and traceparent have 1 to {name_max} bytes' using errcode = '22023';
  end if;
  if v_priority is null or on_lost not in ('rerun', 'abandon') or on_conflict not in ('keep', 'replace')
    or key_until not in ('end', 'start') then
    raise exception 'priority is low, normal, high or urgent; on_lost rerun or abandon; on_conflict keep or replace; key_until end or start'
      using errcode = '22023';
  end if;
  if key_for is not null and key_until <> 'end' then
    raise exception 'key_for and key_until contradict each other' using errcode = '22023';
  end if;
  if octet_length(payload::text) > {payload_max} or version not between 0 and 4294967295 then
    raise exception 'the payload has at most {payload_max} bytes, and its version 32 bits' using errcode = '22023';
  end if;
  select coalesce(e.other, v_job) into v_id from {s}.enqueue_jobs(
    array[v_job], array[task], array[coalesce(convert_to(payload::text, 'UTF8'), ''::bytea)],
    array[case when payload is null then 0 else version end], array[queue], array[v_priority], array[0::bigint],
    array[case when run_at is not null then
      greatest(least(run_at, '9999-12-31 23:59:59.999999+00'), '0001-01-01 00:00:00+00') end], array[key],
    array[key_until = 'start'], array[on_conflict = 'replace'], array[least(greatest(max_attempts, 1), 4294967295)],
    array[on_lost = 'abandon'], array[enqueue.traceparent],
    array[least(greatest(extract(epoch from key_for)::numeric, 0) * 1000000, 300000000000000000)::bigint], 'infinity', nudge) e;
  return v_id;
end $$;

-- The jobs of `Store::statement`, for a transaction of any client: an array of JSON. Returns a row for each job, in their order: the
-- identity of the job, or of the one that has its key.
create function {s}.enqueue_json(jobs text, nudge boolean default true)
returns table (id text, outcome text) language plpgsql volatile security definer set {path} as $$
#variable_conflict use_column
declare
  v record;
begin
  select array_agg(j.id order by n) as ids, array_agg(task order by n) as tasks,
    array_agg(coalesce(convert_to(payload, 'UTF8'), ''::bytea) order by n) as payloads, array_agg(version order by n) as versions,
    array_agg(queue order by n) as queues, array_agg(priority order by n) as priorities, array_agg(wait order by n) as waits,
    array_agg(case when at is not null then {after('1970-01-01 00:00:00+00'::timestamptz, at)} end order by n) as ats, array_agg(key order by n) as keys,
    array_agg(until_start order by n) as until_start, array_agg("replace" order by n) as replaces,
    array_agg(max_attempts order by n) as max_attempts, array_agg(abandon order by n) as abandoned,
    array_agg(traceparent order by n) as traceparents, array_agg(key_for order by n) as key_for
  into v
  from rows from (json_to_recordset(jobs::json) as (id uuid, task text, payload text, version bigint, queue text,
      priority smallint, at bigint, wait bigint, key text, until_start boolean, "replace" boolean, max_attempts bigint,
      abandon boolean, traceparent text, key_for bigint))
    with ordinality j(id, task, payload, version, queue, priority, at, wait, key, until_start, "replace", max_attempts, abandon,
      traceparent, key_for, n);
  -- It acts with the rights of its owner: for a client that may write no table.
  if exists (
    select from unnest(v.tasks, v.queues, v.keys, v.traceparents, v.payloads, v.versions, v.priorities, v.waits, v.max_attempts)
      u(task, queue, key, traceparent, payload, version, priority, wait, max_attempts)
    where coalesce(octet_length(u.task), 0) not between 1 and {name_max}
      or coalesce(octet_length(u.queue), 0) not between 1 and {name_max} or octet_length(u.key) not between 1 and {name_max}
      or octet_length(u.traceparent) not between 1 and {name_max} or octet_length(u.payload) > {payload_max}
      or coalesce(u.version, -1) not between 0 and 4294967295 or coalesce(u.priority, -1) not between 0 and 3
      or coalesce(u.wait, -1) < 0 or coalesce(u.max_attempts, 0) not between 1 and 4294967295)
  then
    raise exception 'a job has a value that no job can have' using errcode = '22023';
  end if;
  return query
  select coalesce(e.other, v.ids[e.n])::text, e.outcome
  from {s}.enqueue_jobs(v.ids, v.tasks, v.payloads, v.versions, v.queues, v.priorities, v.waits, v.ats, v.keys, v.until_start,
    v.replaces, v.max_attempts, v.abandoned, v.traceparents, v.key_for, 'infinity',
    enqueue_json.nudge) with ordinality e(outcome, other, n)
  order by e.n;
end $$;
