-- An instant from microseconds since 1970, if there is one.
define instant(at) as $$
case when {at} is not null then {after('1970-01-01 00:00:00+00'::timestamptz, {at})} end
$$;

-- When a new job expires that is due then.
define expires_at(new, run_at) as $$
case when {new}.expires is not null then {new}.expires when {new}.expires_after is not null then {after({run_at}, {new}.expires_after)} end
$$;

-- Jobs come in by three functions: `enqueue_jobs` for programs, `enqueue_json` in a transaction of a program's own, and `enqueue` for
-- people and other languages. The lists of the first two are made from `NEW_JOB_COLUMNS`.

-- An error if as many due jobs wait as the limit of a task or a partition allows. It is a guard: it takes no lock, counts each partition
-- once, and reads no more entries than the limit has. Jobs that the store has are sent again, and no others.
create function {s}.refuse_full(
  p_id uuid[], p_task text[], p_queue text[], p_version bigint[], p_partition text[], p_guarded boolean[],
  p_now timestamptz)
returns void language plpgsql stable set {path} as $$
declare
  r record;
  l {s}.limits;
  v_waiting bigint;
  v_is_each boolean;
begin
  for r in
    select u.task, u.queue, u.version, coalesce(u.partition, '') as lane, array_agg(u.id) as ids
    from unnest(p_id, p_task, p_queue, p_version, p_partition, p_guarded) with ordinality
      u(id, task, queue, version, partition, guarded, n)
    where u.guarded and not exists (select from {s}.job j where j.id = u.id)
    group by u.task, u.queue, u.version, u.partition order by min(u.n)
  loop
    l := {s}.limits_of(r.task);
    v_is_each := coalesce((select count(*) >= l.each_waiting from (
      select from {s}.job j where j.task = r.task and j.queue = r.queue and (j.kind >> 5) = r.version and j.lane = r.lane
      limit l.each_waiting) w), false);
    v_waiting := case when v_is_each then l.each_waiting else l.all_waiting end;
    continue when not v_is_each and coalesce((select count(*) < v_waiting from (
      select from {s}.job j where j.task = r.task and j.queue = r.queue and j.lane is not null limit v_waiting) w), true);
    continue when cardinality({s}.ended(r.ids, {sent_since(r.ids, p_now)})) = cardinality(r.ids);
    raise exception '`%` is full: % jobs% wait', r.task, v_waiting, case when v_is_each then ' of partition `' || r.lane || '`' else '' end
      using errcode = 'SCH02', hint = 'enqueue it later, or allow more by `waiting`',
        detail = concat_ws(chr(31), v_waiting, r.task, case when v_is_each then r.lane end);
  end loop;
end $$;

-- Enqueues a batch in which no identity stands twice; one answer for each job, in their order.
--
-- READ COMMITTED suffices: the identity is the primary key of `job`, and the primary key of `key` decides who has a key. All are
-- looked for among finished jobs, too (R3): a request may arrive after its repetition, and after the end of its job.
create function {s}.enqueue_jobs(
  {new_parameters}, p_not_after timestamptz, p_nudge boolean)
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
  if true = any(p_guarded) then
    perform {s}.refuse_full(p_id, p_task, p_queue, p_version, p_partition, p_guarded, v_now);
  end if;
  with new as (
    insert into {s}.job ({new_same}, run_at, expires_at, created_at)
    select {new_same_of_u}, d.run_at, {expires_at(u, d.run_at)}, v_now
    from unnest({new_arguments}) u({new_names})
    cross join lateral (select coalesce(u.at, {after(v_now, u.wait)}) as run_at) d
    where u.key is null
    on conflict (id) do nothing
    returning id, run_at)
  select coalesce(bool_or(n.run_at <= v_now), false), array_agg(n.id) into v_is_due, v_new from new n;
  -- Of two batches with the same keys none waits for the other while the other waits for it.
  for r in
    select u.*, coalesce(u.at, {after(v_now, u.wait)}) as run_at,
      case when u.key_for is not null then {after(v_now, u.key_for)} end as until
    from unnest({new_arguments}) with ordinality u({new_names}, n)
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
        insert into {s}.job ({new_same}, run_at, expires_at, key, is_key_until_start, created_at)
        values ({new_same_of_r}, r.run_at, {expires_at(r, r.run_at)}, r.key, r.until_start, v_now);
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
      if r.replace then
        update {s}.job j set {new_replaced}, attempt = 0, lost = 0, undecoded = 0, error = null, attempts = null, held_until = null,
          progress = null,
          run_at = case when r.debounce is not null then least(r.run_at, {after(j.created_at, r.debounce)}) else r.run_at end,
          expires_at = {expires_at(r, r.run_at)}
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
    delete from {s}.key k where k.job = any(v_ended) and k.task = any(p_task) and k.key = any(p_key) and not k.has_ended;
    delete from {s}.job j where j.id = any(v_ended);
  end if;
  if v_is_due and p_nudge then
    perform {nudge};
  end if;
  return query select coalesce(v_outcomes[u.n], 'accepted'), v_others[u.n] from generate_subscripts(p_id, 1) u(n) order by u.n;
end $$;

-- For any client, in its own transaction. Returns the identity of the job, or of the one that has the key. Without `nudge`
-- processes find the job when they poll next, and the transaction may be a prepared one.
--
--     select {s}.enqueue('send_invoice', '{"invoice": 17}', run_at => now() + interval '1 hour', key => 'inv-17');
create function {s}.enqueue(
  task text, payload jsonb default null, run_at timestamptz default null, key text default null,
  priority text default 'normal', queue text default 'default', max_attempts bigint default 1, on_lost text default 'rerun',
  version bigint default 1, on_conflict text default 'keep', key_until text default 'end', id uuid default null,
  nudge boolean default true, key_for interval default null, traceparent text default null, partition text default null,
  expires_at timestamptz default null)
returns uuid language plpgsql volatile security definer set {path} as $$
declare
  v_priority smallint := array_position(array['low', 'normal', 'high', 'urgent'], enqueue.priority) - 1;
  v_job uuid := coalesce(enqueue.id, {s}.new_id());
  v_id uuid;
begin
  if coalesce(octet_length(task), 0) not between 1 and {name_max} or coalesce(octet_length(queue), 0) not between 1 and {name_max}
    or octet_length(key) not between 1 and {name_max} or octet_length(traceparent) not between 1 and {name_max}
    or octet_length(partition) > {name_max} then
    raise exception 'task, queue, key and traceparent have 1 to {name_max} bytes, and a partition has no more' using errcode = '22023';
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
    p_id => array[v_job], p_task => array[task], p_payload => array[coalesce(convert_to(payload::text, 'UTF8'), ''::bytea)],
    p_version => array[case when payload is null then 0 else version end], p_queue => array[queue], p_priority => array[v_priority],
    p_at => array[case when run_at is not null then
      greatest(least(run_at, '9999-12-31 23:59:59.999999+00'), '0001-01-01 00:00:00+00') end], p_wait => array[0::bigint],
    p_key => array[key], p_until_start => array[key_until = 'start'], p_replace => array[on_conflict = 'replace'],
    p_debounce => array[null::bigint], p_expires => array[enqueue.expires_at], p_expires_after => array[null::bigint],
    p_max_attempts => array[least(greatest(max_attempts, 1), 4294967295)], p_abandon => array[on_lost = 'abandon'],
    p_traceparent => array[enqueue.traceparent], p_partition => array[enqueue.partition],
    p_guarded => array[exists (select from {s}.task_limit t where t.waiting is not null)],
    p_key_for => array[least(greatest(extract(epoch from key_for)::numeric, 0) * 1000000, 300000000000000000)::bigint],
    p_not_after => 'infinity', p_nudge => nudge) e;
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
  select {new_arrays} into v
  from rows from (json_to_recordset(jobs::json) as ({new_json})) with ordinality j({new_names}, n);
  -- It acts with the rights of its owner: for a client that may write no table.
  if exists (
    select from unnest(v.task, v.queue, v.key, v.traceparent, v.partition, v.payload, v.version, v.priority, v.wait, v.max_attempts,
      v.debounce, v.expires_after)
      u(task, queue, key, traceparent, partition, payload, version, priority, wait, max_attempts, debounce, expires_after)
    where coalesce(octet_length(u.task), 0) not between 1 and {name_max}
      or coalesce(octet_length(u.queue), 0) not between 1 and {name_max} or octet_length(u.key) not between 1 and {name_max}
      or octet_length(u.traceparent) not between 1 and {name_max} or octet_length(u.partition) > {name_max}
      or octet_length(u.payload) > {payload_max}
      or coalesce(u.version, -1) not between 0 and 4294967295 or coalesce(u.priority, -1) not between 0 and 3
      or coalesce(u.wait, -1) < 0 or u.debounce < 0 or u.expires_after < 0 or coalesce(u.max_attempts, 0) not between 1 and 4294967295)
  then
    raise exception 'a job has a value that no job can have' using errcode = '22023';
  end if;
  return query
  select coalesce(e.other, v.id[e.n])::text, e.outcome
  from {s}.enqueue_jobs({new_arrays_of_v}, 'infinity', enqueue_json.nudge) with ordinality e(outcome, other, n)
  order by e.n;
end $$;
