-- Enqueues a batch in which no identity stands twice; one answer for each job, in their order.
--
-- READ COMMITTED suffices: the identity is the primary key, and the unique index over unfinished jobs decides who has a key.
create function {s}.enqueue_jobs(
  p_ids uuid[], p_tasks text[], p_payloads bytea[], p_versions bigint[], p_queues text[], p_priorities smallint[],
  p_waits bigint[], p_ats timestamptz[], p_keys text[], p_until_start boolean[], p_replaces boolean[],
  p_max_attempts bigint[], p_abandoned boolean[], p_not_after timestamptz, p_nudge boolean)
returns table (outcome text, other uuid) language plpgsql volatile
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
  v_is_due boolean;
  v_outcomes text[];
  v_others uuid[];
  v_state text;
  v_other uuid;
  r record;
begin
  -- One job is the usual case.
  if cardinality(p_ids) = 1 and p_keys[1] is null then
    insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned, created_at)
    values (p_ids[1], p_tasks[1], p_payloads[1], p_versions[1], p_queues[1], p_priorities[1],
      coalesce(p_ats[1], {s}.after(v_now, p_waits[1])), greatest(p_max_attempts[1], 1), p_abandoned[1], v_now)
    on conflict (id) do nothing returning run_at <= v_now into v_is_due;
    if v_is_due and p_nudge then
      perform {s}.nudge();
    end if;
    return query select 'accepted', null::uuid;
    return;
  end if;
  -- The identity is checked before the key (R3).
  with new as (
    insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned, created_at)
    select u.id, u.task, u.payload, u.version, u.queue, u.priority, coalesce(u.at, {s}.after(v_now, u.wait)),
      greatest(u.max_attempts, 1), u.is_abandoned, v_now
    from unnest(p_ids, p_tasks, p_payloads, p_versions, p_queues, p_priorities, p_waits, p_ats, p_keys, p_max_attempts,
      p_abandoned) u(id, task, payload, version, queue, priority, wait, at, key, max_attempts, is_abandoned)
    where u.key is null and not exists (select from {s}.job j where j.id = u.id)
    returning run_at)
  select coalesce(bool_or(n.run_at <= v_now), false) into v_is_due from new n;
  if array_remove(p_keys, null) = '{}' then
    if v_is_due and p_nudge then
      perform {s}.nudge();
    end if;
    return query select 'accepted', null::uuid from generate_series(1, cardinality(p_ids));
    return;
  end if;
  for r in
    select u.*, coalesce(u.at, {s}.after(v_now, u.wait)) as run_at
    from unnest(p_ids, p_tasks, p_payloads, p_versions, p_queues, p_priorities, p_waits, p_ats, p_keys, p_until_start,
      p_replaces, p_max_attempts, p_abandoned) with ordinality
      u(id, task, payload, version, queue, priority, wait, at, key, until_start, is_replacing, max_attempts, is_abandoned, n)
    where u.key is not null order by u.n
  loop
    loop
      exit when exists (select from {s}.job j where j.id = r.id);
      insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, key, is_key_until_start, max_attempts,
        is_abandoned, created_at)
      values (r.id, r.task, r.payload, r.version, r.queue, r.priority, r.run_at, r.key, r.until_start,
        greatest(r.max_attempts, 1), r.is_abandoned, v_now)
      on conflict (task, key) where key is not null and state in ('ready', 'running') do nothing;
      if found then
        v_is_due := v_is_due or r.run_at <= v_now;
        exit;
      end if;
      -- RACE: the other may end between two statements; then there is none, and the key is free.
      if r.is_replacing then
        select j.id, j.state into v_other, v_state from {s}.job j
        where j.task = r.task and j.key = r.key and j.state in ('ready', 'running') for update;
      else
        select j.id, 'running' into v_other, v_state from {s}.job j
        where j.task = r.task and j.key = r.key and j.state in ('ready', 'running');
      end if;
      continue when not found;
      v_others[r.n] := v_other;
      if v_state = 'ready' then
        update {s}.job set payload = r.payload, payload_version = r.version, priority = r.priority, run_at = r.run_at,
          attempt = 0, undecoded = 0, error = null
        where id = v_other;
        v_is_due := v_is_due or r.run_at <= v_now;
        v_outcomes[r.n] := 'replaced';
      else
        v_outcomes[r.n] := 'kept';
      end if;
      exit;
    end loop;
  end loop;
  if v_is_due and p_nudge then
    perform {s}.nudge();
  end if;
  return query select coalesce(v_outcomes[u.n], 'accepted'), v_others[u.n] from generate_subscripts(p_ids, 1) u(n) order by u.n;
end $$;

-- For any client, in its own transaction. Returns the identity of the job, or of the one that has the key.
--
--     select {s}.enqueue('send_invoice', '{"invoice": 17}', run_at => now() + interval '1 hour', key => 'inv-17');
create function {s}.enqueue(
  task text, payload jsonb default null, run_at timestamptz default null, key text default null,
  priority text default 'normal', queue text default 'default', max_attempts bigint default 1, on_lost text default 'rerun',
  version bigint default 1, on_conflict text default 'keep', key_until text default 'end', id uuid default gen_random_uuid())
returns uuid language plpgsql volatile as $$
declare
  v_priority smallint := array_position(array['low', 'normal', 'high', 'urgent'], enqueue.priority) - 1;
  v_id uuid;
begin
  if coalesce(octet_length(task), 0) not between 1 and {name_max} or coalesce(octet_length(queue), 0) not between 1 and {name_max}
    or octet_length(key) not between 1 and {name_max} then
    raise exception 'task, queue and key have 1 to {name_max} bytes' using errcode = '22023';
  end if;
  if v_priority is null or on_lost not in ('rerun', 'abandon') or on_conflict not in ('keep', 'replace')
    or key_until not in ('end', 'start') then
    raise exception 'priority is low, normal, high or urgent; on_lost rerun or abandon; on_conflict keep or replace; key_until end or start'
      using errcode = '22023';
  end if;
  if octet_length(payload::text) > {payload_max} or version not between 0 and 4294967295 then
    raise exception 'the payload has at most {payload_max} bytes, and its version 32 bits' using errcode = '22023';
  end if;
  select coalesce(e.other, enqueue.id) into v_id from {s}.enqueue_jobs(
    array[enqueue.id], array[task], array[coalesce(convert_to(payload::text, 'UTF8'), ''::bytea)],
    array[case when payload is null then 0 else version end], array[queue], array[v_priority], array[0::bigint],
    array[case when run_at is not null then
      greatest(least(run_at, '9999-12-31 23:59:59.999999+00'), '0001-01-01 00:00:00+00') end], array[key],
    array[key_until = 'start'], array[on_conflict = 'replace'], array[least(greatest(max_attempts, 1), 4294967295)], array[on_lost = 'abandon'],
    'infinity', true) e;
  return v_id;
end $$;
