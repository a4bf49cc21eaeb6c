-- Commands about jobs. Each returns 'ok', 'not_found', the state that forbids it, or the identity of the job that is in the way.
create function {s}.run_schedule(p_schedule text, p_job uuid, p_not_after timestamptz)
returns text language plpgsql volatile {plans} as $$
declare
  v {s}.schedule;
  v_now timestamptz;
  v_other uuid;
begin
  select * into v from {s}.schedule where name = p_schedule for update;
  v_now := {s}.in_time(p_not_after);
  if v.name is null then
    return 'not_found';
  end if;
  for v_attempt in 1..3 loop
    if exists (select from {s}.job where id = p_job) or {s}.ended(array[p_job], '-infinity') <> '{}' then
      return 'ok';
    end if;
    if v.is_exclusive then
      select id into v_other from {s}.job where schedule = p_schedule and is_exclusive and state in ('ready', 'running');
      if found then
        return v_other::text;
      end if;
    end if;
    if {s}.insert_of(v, p_job, null, 0, v_now, v_now) then
      perform {nudge};
      return 'ok';
    end if;
  end loop;
  raise exception 'the schedule changed too often' using errcode = '40001';
end $$;

-- Locks the row of an unfinished or parked job, after the row of its schedule, and returns it.
create function {s}.lock_job(p_job uuid) returns {s}.job language plpgsql volatile set {path} as $$
declare
  v {s}.job;
begin
  select * into v from {s}.job where id = p_job;
  if v.schedule is not null then
    perform {s}.lock_schedules(array[v.schedule]);
  end if;
  select * into v from {s}.job where id = p_job for update;
  return v;
end $$;

-- A job, wherever it is: an unfinished or parked one, locked as above, or one that has ended.
create function {s}.find_job(p_job uuid, p_now timestamptz) returns {s}.job language plpgsql volatile set {path} as $$
declare
  v {s}.job;
begin
  loop
    v := {s}.lock_job(p_job);
    if v.id is null then
      select * into v from {s}.done_job(p_job, p_now);
    end if;
    -- RACE: a retry may have taken it out of `done` between the two looks.
    exit when v.id is not null or not exists (select from {s}.job where id = p_job);
  end loop;
  return v;
end $$;

create function {s}.cancel_job(p_job uuid, p_not_after timestamptz)
returns text language plpgsql volatile {plans} as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
  v {s}.job := {s}.find_job(p_job, v_now);
begin
  v_now := {s}.in_time(p_not_after);
  if v.state = 'running' then
    update {s}.job set is_cancel_requested = true where id = p_job;
  elsif v.state = 'ready' then
    v.state := 'cancelled';
    v.finished_at := v_now;
    perform {s}.keep_one(v);
    if v.schedule is not null then
      perform {s}.after_job(v.schedule, v_now);
    end if;
  else
    return coalesce(v.state, 'not_found');
  end if;
  return 'ok';
end $$;

-- Takes the key of a job that is to run again, and returns the job that is in its way, if there is one.
create function {s}.in_the_way(p {s}.job, p_now timestamptz) returns uuid language plpgsql volatile set {path} as $$
declare
  v_other uuid;
begin
  if p.is_exclusive then
    select id into v_other from {s}.job where schedule = p.schedule and is_exclusive and state in ('ready', 'running');
  end if;
  while v_other is null and p.key is not null loop
    insert into {s}.key (task, key, job) values (p.task, p.key, p.id) on conflict do nothing;
    exit when found;
    update {s}.key k set job = p.id, until = case when k.job = p.id then k.until end, has_ended = false
    where k.task = p.task and k.key = p.key and k.has_ended and (k.job = p.id or k.until <= p_now);
    exit when found;
    -- RACE: the other may have ended between two statements; then the key is free.
    select job into v_other from {s}.key where task = p.task and key = p.key;
  end loop;
  return v_other;
end $$;

-- A job that has ended is due again.
create function {s}.insert_again(p {s}.job, p_now timestamptz) returns void language plpgsql volatile set {path} as $$
declare
  v {s}.job := p;
begin
  v.state := 'ready';
  v.run_at := p_now;
  v.expires_at := null;
  v.finished_at := null;
  v.max_attempts := greatest(v.max_attempts, v.attempt + 1);
  v.lost := 0;
  v.undecoded := 0;
  insert into {s}.job ({table_names}) values ({table_values_of_v});
end $$;

-- In a partition with order a job keeps its place.
define due_now(now) as $$
run_at = case when held_until is null then {now} else run_at end, held_until = case when held_until is not null then {now} end
$$;

-- Row by row: what is in the way is named (R13).
create function {s}.retry_job(p_job uuid, p_not_after timestamptz)
returns text language plpgsql volatile {plans} as $$
declare
  v {s}.job;
  v_now timestamptz;
  v_other uuid;
begin
  for v_attempt in 1..5 loop
    v := {s}.find_job(p_job, {s}.in_time(p_not_after));
    if v.schedule is not null and v.state in ('done', 'cancelled') then
      perform {s}.lock_schedules(array[v.schedule]);
    end if;
    v_now := {s}.in_time(p_not_after);
    if v.id is null then
      return 'not_found';
    elsif v.state = 'running' then
      return v.state;
    elsif v.state = 'ready' then
      update {s}.job set {due_now(v_now)}, expires_at = null, finished_at = null where id = p_job;
      perform {nudge};
      return 'ok';
    end if;
    begin
      v_other := {s}.in_the_way(v, v_now);
      if v_other <> p_job then
        return v_other::text;
      elsif v_other is null and v.state = 'parked' then
        update {s}.job set state = 'ready', {due_now(v_now)}, expires_at = null, finished_at = null,
          max_attempts = greatest(max_attempts, attempt + 1), lost = 0, undecoded = 0
        where id = p_job;
        perform {nudge};
        return 'ok';
      elsif v_other is null then
        v := {s}.take_done(p_job);
        if v.id is not null then
          perform {s}.insert_again(v, v_now);
          perform {nudge};
          return 'ok';
        end if;
        -- RACE: a retry, a removal or the pruning has taken it since the look. The key is as it was.
        raise unique_violation;
      end if;
    exception when unique_violation then
      -- RACE: another job of the schedule may have come since the look, too.
      null;
    end;
  end loop;
  raise exception 'the jobs of the key changed too often' using errcode = '40001';
end $$;

create function {s}.remove_job(p_job uuid, p_not_after timestamptz)
returns text language plpgsql volatile {plans} as $$
declare
  v {s}.job;
  v_now timestamptz;
begin
  loop
    v := {s}.lock_job(p_job);
    v_now := {s}.in_time(p_not_after);
    if v.state = 'running' then
      return v.state;
    end if;
    exit when v.id is not null;
    v := {s}.take_done(p_job);
    exit when v.id is not null;
    -- RACE: a retry may have taken it between the two looks.
    if not exists (select from {s}.job where id = p_job) then
      return 'not_found';
    end if;
  end loop;
  delete from {s}.job where id = p_job;
  delete from {s}.key where task = v.task and key = v.key and job = p_job;
  if v.schedule is not null then
    perform {s}.after_job(v.schedule, v_now);
  end if;
  return 'ok';
end $$;

-- Returns 'changed' if the job was claimed since the fence was read.
create function {s}.edit_job(
  p_job uuid, p_payload bytea, p_version bigint, p_fence bigint, p_not_after timestamptz, p_sign {s}.signature)
returns text language plpgsql volatile {plans} as $$
declare
  v {s}.job := {s}.find_job(p_job, {s}.in_time(p_not_after));
begin
  perform {s}.in_time(p_not_after);
  if v.id is null then
    return 'not_found';
  elsif v.state not in ('ready', 'parked') then
    return v.state;
  elsif v.fence <> p_fence then
    return 'changed';
  end if;
  update {s}.job set payload = p_payload, payload_version = p_version, undecoded = 0 where id = p_job;
  perform {s}.sign(p_sign, 'edit', 'job', p_job::text, v.task, 1, false, octet_length(v.payload) || ' bytes',
    octet_length(p_payload) || ' bytes');
  return 'ok';
end $$;

-- Finished jobs that meet all conditions: so many of the newest, and some others. Rows are read from the greatest identity on,
-- until no later one can have one of the newest. Identities are sorted now and then, so that the work grows with the number of jobs.
create function {s}.list_done(
  p_task text, p_queue text, p_state text, p_key text, p_schedule text, p_after uuid, p_limit bigint, p_has_error boolean,
  p_partition text)
returns setof {s}.job language plpgsql stable set {path}
set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_sort = off as $$
declare
  v_ids uuid[] := '{}';
  v_room bigint := p_limit;
  -- So many of the jobs have this identity or a greater one.
  v_least uuid;
  r record;
begin
  for r in
    select d.greatest_id, j.id, row(j.*)::{s}.job as job from {s}.done d cross join lateral {done_jobs()} j
    where (p_after is null or d.least_id < p_after) and (p_task is null or p_task = any(d.task))
      and (p_queue is null or p_queue = any(d.queue)) and (p_state is null or p_state = any(d.state))
      and (p_key is null or p_key = any(d.key)) and (p_schedule is null or p_schedule = any(d.schedule))
      and (p_after is null or j.id < p_after) and (p_task is null or j.task = p_task)
      and (p_queue is null or j.queue = p_queue) and (p_state is null or j.state = p_state)
      and (p_key is null or j.key = p_key) and (p_schedule is null or j.schedule = p_schedule)
      and (not p_has_error or j.error is not null)
      and (p_partition is null or p_partition = any(d.partition)) and (p_partition is null or j.partition = p_partition)
    order by d.greatest_id desc
  loop
    if cardinality(v_ids) >= v_room then
      v_ids := array(select u.id from unnest(v_ids) u(id) order by u.id desc limit p_limit);
      v_least := v_ids[p_limit];
      v_room := p_limit + p_limit / 4 + 1;
    end if;
    exit when v_least >= r.greatest_id;
    if v_least is null or r.id > v_least then
      v_ids := v_ids || r.id;
      return next r.job;
    end if;
  end loop;
end $$;

-- The queues and tasks that have jobs in a state, by a walk over an index from one to the next.
create function {s}.lines_in(p_state text, p_task text, p_queue text) returns table (queue text, task text)
language plpgsql stable set {path}
set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
  with recursive l as (
    (select j.queue, j.task from {s}.job j where j.state = p_state order by j.task, j.queue limit 1)
    union all
    select n.queue, n.task from l cross join lateral (
      select j.queue, j.task from {s}.job j
      where j.state = p_state and (j.task, j.queue) > (l.task, l.queue) order by j.task, j.queue limit 1) n)
  select l.queue, l.task from l where (p_task is null or l.task = p_task) and (p_queue is null or l.queue = p_queue);
end $$;

-- The newest unfinished and parked jobs that meet all conditions. Each list reads an index of its own, so that one that finds
-- nothing does not read all jobs. Two comparisons in place of an equality keep a planner from the index of identities. If a task
-- or a queue has many ready jobs, the newest of all are soon found by their identities. Ready jobs with an error have an index.
create function {s}.list_unfinished(
  p_task text, p_queue text, p_state text, p_key text, p_schedule text, p_after uuid, p_limit bigint, p_has_error boolean,
  p_partition text)
returns uuid[] language plpgsql stable set {path} set plan_cache_mode = force_custom_plan set jit = off set enable_sort = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ready uuid[] := '{}';
begin
  if p_partition is not null and p_key is null and p_schedule is null then
    return array(
      select f.id from (
        select n.id from (
          select j.id from {s}.job j
          where j.state = any(array['ready', '']) and j.partition >= '' and j.partition >= p_partition and j.partition <= p_partition
            and (p_task is null or j.task = p_task)
            and (p_queue is null or j.queue = p_queue) and (p_after is null or j.id < p_after)
            and (not p_has_error or j.error is not null)
          order by j.partition desc, j.id desc limit p_limit) n
        where p_state is null or p_state = 'ready'
        union all
        select j.id from {s}.job j
        where j.state = 'running' and j.partition = p_partition and (p_state is null or p_state = 'running')
          and (p_task is null or j.task = p_task) and (p_queue is null or j.queue = p_queue)
          and (p_after is null or j.id < p_after) and (not p_has_error or j.error is not null)
        union all
        select n.id from (select distinct l.task from {s}.lines_in('parked', p_task, p_queue) l) l cross join lateral (
          select j.id from {s}.job j
          where j.state = any(array['parked', '']) and j.partition is not null
            and (j.task, j.partition) >= (l.task, p_partition) and (j.task, j.partition) <= (l.task, p_partition) and (p_queue is null or j.queue = p_queue) and (p_after is null or j.id < p_after)
            and (not p_has_error or j.error is not null)
          order by j.task desc, j.partition desc, j.id desc limit p_limit) n
        where p_state is null or p_state = 'parked') f
      order by f.id desc limit p_limit);
  end if;
  if p_key is null and p_schedule is null and not (p_has_error and p_state = 'ready')
    and (p_task is not null or p_queue is not null or p_state <> 'ready') then
    if p_state is null or p_state = 'ready' then
      v_ready := array(
        select n.id from {s}.lines_in('ready', p_task, p_queue) l cross join lateral (
          select j.id from {s}.job j where j.state = 'ready' and j.queue = l.queue and j.task = l.task
            and (not p_has_error or j.error is not null) limit 2001) n
        limit 2001);
    end if;
    if cardinality(v_ready) <= 2000 then
      return array(
        select f.id from (
          select u.id from unnest(v_ready) u(id) where p_after is null or u.id < p_after
          union all
          select j.id from {s}.job j
          where j.state = 'running' and (p_state is null or p_state = 'running') and (p_task is null or j.task = p_task)
            and (p_queue is null or j.queue = p_queue) and (p_after is null or j.id < p_after)
            and (not p_has_error or j.error is not null)
          union all
          select n.id from {s}.lines_in('parked', p_task, p_queue) l cross join lateral (
            select j.id from {s}.job j
            where j.state = 'parked' and (j.task, j.queue) >= (l.task, l.queue) and (j.task, j.queue) <= (l.task, l.queue)
              and (p_after is null or j.id < p_after) and (not p_has_error or j.error is not null)
            order by j.task desc, j.queue desc, j.id desc limit p_limit) n
          where p_state is null or p_state = 'parked') f
        order by f.id desc limit p_limit);
    end if;
  end if;
  return array(
    select j.id from {s}.job j
    where (p_task is null or j.task = p_task) and (p_queue is null or j.queue = p_queue)
      and (p_state is null or j.state = p_state) and (p_key is null or j.key = p_key)
      and (p_schedule is null or j.schedule = p_schedule) and (p_after is null or j.id < p_after)
      and (not p_has_error or j.error is not null) and (p_partition is null or j.partition = p_partition)
    order by j.id desc limit p_limit);
end $$;

-- The newest jobs that meet all conditions, all as of one instant.
create function {s}.list(p_task text, p_queue text, p_state text, p_key text, p_schedule text, p_after uuid, p_limit bigint,
  p_has_error boolean default false, p_partition text default null)
returns setof {s}.job language plpgsql stable security definer {plans} as $$
declare
  v_unfinished uuid[] := '{}';
begin
  p_limit := least(greatest(coalesce(p_limit, 4294967295), 0), 4294967295);
  if p_state is null or p_state in ('ready', 'running', 'parked') then
    v_unfinished := {s}.list_unfinished(p_task, p_queue, p_state, p_key, p_schedule, p_after, p_limit, p_has_error, p_partition);
  end if;
  return query
  select x.* from (
    select f.* from {s}.list_done(p_task, p_queue, p_state, p_key, p_schedule, p_after, p_limit, p_has_error, p_partition) f
    where p_limit > 0 and (p_state is null or p_state in ('done', 'cancelled'))
    union all
    select j.* from {s}.job j where j.id = any(v_unfinished)) x
  order by x.id desc limit p_limit;
end $$;

-- Those of the jobs of a row of `done` that are among these, and are in this state and have this key, if one is named.
define wanted(d, ids, state, key) as $$
array(
      select u.id from unnest({d}.id, {d}.state, {d}.key) u(id, state, key)
      where u.id = any({ids})
        and ({state} is null or case when cardinality({d}.state) = 1 then {d}.state[1] else u.state end = {state})
        and ({key} is null or case when cardinality({d}.key) = 1 then {d}.key[1] else u.key end = {key}))
$$;

-- Retries or removes jobs that have ended. Each row of `done` that has some of them is written anew once. Rows that another
-- transaction has locked are left alone. Returns with how many that was done.
create function {s}.command_done(p_action text, p_ids uuid[], p_state text, p_key text, p_held text[], p_now timestamptz)
returns bigint language plpgsql volatile set {path} as $$
declare
  v_done bigint := 0;
  v_taken uuid[];
  v_at tid;
  d {s}.done;
  v {s}.job;
begin
  for v_at in
    select done.ctid from {s}.done
    where done.greatest_id >= (select i.id from unnest(p_ids) i(id) order by i.id limit 1)
      and done.least_id <= (select i.id from unnest(p_ids) i(id) order by i.id desc limit 1)
      and exists (select from unnest(done.id) u(id) where u.id = any(p_ids))
    order by done.greatest_id for update skip locked
  loop
    select * into d from {s}.done where ctid = v_at;
    v_taken := {wanted(d, p_ids, p_state, p_key)};
    begin
      if p_action = 'retry' or exists (select from unnest(d.key) k(key) where k.key is not null) then
        for v in select j.* from {done_jobs()} j where j.id = any(v_taken) order by j.id loop
          if p_action = 'remove' then
            delete from {s}.key where task = v.task and key = v.key and job = v.id;
          elsif v.schedule = any(p_held) or {s}.in_the_way(v, p_now) is not null then
            v_taken := array_remove(v_taken, v.id);
          else
            perform {s}.insert_again(v, p_now);
          end if;
        end loop;
      end if;
      continue when v_taken = '{}';
      if cardinality(v_taken) < cardinality(d.id) then
        insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
        select d.ended_at, d.session, d.least_id, d.greatest_id, {packed} from {done_jobs()} j where j.id <> all(v_taken);
      end if;
      delete from {s}.done where ctid = v_at;
      v_done := v_done + cardinality(v_taken);
    exception when unique_violation then
      -- RACE: another job of a schedule has come since the look. The next command finds it in the way.
      null;
    end;
  end loop;
  return v_done;
end $$;

-- Cancels, retries or removes up to so many jobs, the newest, in the order of their identities. Those that another transaction
-- has locked are left alone. Returns with how many that was done, and the oldest one if there may be older ones.
create function {s}.command_jobs(
  p_action text, p_task text, p_queue text, p_state text, p_key text, p_schedule text, p_after uuid, p_limit bigint,
  p_not_after timestamptz, p_sign {s}.signature, p_has_error boolean, p_partition text, out done bigint, out last uuid)
language plpgsql volatile set {path} set plan_cache_mode = force_custom_plan as $$
declare
  v_ids uuid[];
  v_schedules text[];
  v_ended uuid[];
  v_held text[];
  v_id uuid;
  v_state text;
  v_key text;
  v_now timestamptz := {s}.in_time(p_not_after);
begin
  p_limit := least(greatest(coalesce(p_limit, 4294967295), 0), 4294967295);
  select array_agg(f.id order by f.id), array_agg(f.schedule order by f.id), array_agg(f.id) filter (where f.has_ended)
  into v_ids, v_schedules, v_ended from (
    select l.id, l.schedule, l.state in ('done', 'cancelled') as has_ended
    from {s}.list(p_task, p_queue, p_state, p_key, p_schedule, p_after, p_limit, p_has_error, p_partition) l) f;
  v_held := {s}.lock_free_schedules(v_schedules);
  done := 0;
  for v_index in 1..coalesce(cardinality(v_ids), 0) loop
    v_id := v_ids[v_index];
    continue when v_schedules[v_index] = any(v_held) or v_id = any(v_ended);
    -- RACE: the state and the key may have changed since the look; nothing else does. One that has ended is left as it is.
    select j.state, j.key into v_state, v_key from {s}.job j where j.id = v_id for update skip locked;
    if found and (p_state is null or v_state = p_state) and (p_key is null or v_key = p_key) and 'ok' = (case p_action
      when 'cancel' then {s}.cancel_job(v_id, p_not_after)
      when 'retry' then {s}.retry_job(v_id, p_not_after)
      when 'remove' then {s}.remove_job(v_id, p_not_after) end)
    then
      done := done + 1;
    end if;
  end loop;
  if p_action <> 'cancel' and v_ended <> '{}' then
    done := done + {s}.command_done(p_action, v_ended, p_state, p_key, v_held, v_now);
    perform {nudge};
  end if;
  if cardinality(v_ids) >= p_limit then
    last := v_ids[1];
  end if;
  perform {s}.sign(p_sign, case p_action when 'remove' then 'delete' else p_action end, 'jobs', coalesce(nullif(concat_ws(', ',
    'state ' || p_state, 'task ' || p_task, 'queue ' || p_queue, 'partition ' || p_partition, 'key ' || p_key, 'schedule ' || p_schedule,
    case when p_has_error then 'with an error' end), ''), 'all'), p_task, done, true);
end $$;

-- Waits for the claims under way: those that come later see what this transaction writes (R21). One that takes longer than
-- that is not waited for, because all others wait meanwhile.
create function {s}.await_claims() returns void language plpgsql volatile set {path} set lock_timeout = '1s' as $$
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('pauses of {s}', 0));
exception when lock_not_available then
  null;
end $$;

-- The name and the task of paused jobs, as people read them.
define signed_name(scope, name) as $$
case {scope} when 'partition' then substr({name}, strpos({name}, chr(31)) + 1) else {name} end
$$;

define signed_task(scope, name) as $$
case {scope} when 'task' then {name} when 'partition' then split_part({name}, chr(31), 1) end
$$;

create function {s}.pause_jobs(
  p_scope text, p_name text, p_by text, p_reason text, p_until timestamptz, p_not_after timestamptz,
  p_sign {s}.signature default null)
returns text language plpgsql volatile {plans} as $$
declare
  v_now timestamptz;
begin
  perform {s}.await_claims();
  v_now := {s}.in_time(p_not_after);
  delete from {s}.pause where until <= v_now;
  -- In a function that has the rights of its owner, `current_user` is the owner.
  insert into {s}.pause (scope, name, since, until, paused_by, session_role, reason)
  values (p_scope, p_name, v_now, p_until, p_by, session_user, p_reason)
  on conflict (scope, name) do update set until = excluded.until, paused_by = excluded.paused_by,
    session_role = excluded.session_role, reason = excluded.reason;
  p_sign.reason := coalesce(nullif(p_sign.reason, ''), p_reason);
  perform {s}.sign(p_sign, 'pause', p_scope, {signed_name(p_scope, p_name)}, {signed_task(p_scope, p_name)}, 1, false);
  -- Processes give back what they have claimed and not begun.
  perform {nudge};
  return 'ok';
end $$;

create function {s}.resume_jobs(
  p_scope text, p_name text, p_not_after timestamptz, p_sign {s}.signature default null)
returns text language plpgsql volatile {plans} as $$
begin
  perform {s}.in_time(p_not_after);
  delete from {s}.pause where scope = p_scope and name = p_name;
  perform {s}.sign(p_sign, 'resume', p_scope, {signed_name(p_scope, p_name)}, {signed_task(p_scope, p_name)}, 1, false);
  perform {nudge};
  return 'ok';
end $$;

-- Pauses and resumes a process. Its polls read that, where they look whether its session lives.
create function {s}.pause_node(p_session uuid, p_by text, p_reason text, p_until timestamptz, p_not_after timestamptz,
  p_sign {s}.signature default null)
returns text language plpgsql volatile {plans} as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
begin
  update {s}.session s set pause_until = p_until, paused_by = p_by, pause_reason = p_reason,
    pause_since = case when s.pause_since is null or s.pause_until <= v_now then v_now else s.pause_since end
  where s.id = p_session;
  if not found then
    return 'not_found';
  end if;
  p_sign.reason := coalesce(nullif(p_sign.reason, ''), p_reason);
  perform {s}.sign(p_sign, 'pause', 'node', (select s.label from {s}.session s where s.id = p_session), null, 1, false);
  perform {nudge};
  return 'ok';
end $$;

create function {s}.resume_node(p_session uuid, p_not_after timestamptz, p_sign {s}.signature default null)
returns text language plpgsql volatile {plans} as $$
begin
  perform {s}.in_time(p_not_after);
  update {s}.session s set pause_since = null where s.id = p_session;
  if not found then
    return 'not_found';
  end if;
  perform {s}.sign(p_sign, 'resume', 'node', (select s.label from {s}.session s where s.id = p_session), null, 1, false);
  perform {nudge};
  return 'ok';
end $$;

-- The numbers of jobs that wait, run and are parked: each state is read from an index of its own.
create function {s}.depths()
returns table (
  queue text, task text, due bigint, later bigint, retrying bigint, running bigint, parked bigint, oldest timestamptz,
  oldest_running timestamptz, now timestamptz, versions bigint[], version_due bigint[], version_oldest timestamptz[],
  failures bigint, failing_since timestamptz, end_at timestamptz, end_started timestamptz, end_error text)
language plpgsql volatile security definer set {path} set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := {clock};
begin
  return query
  select n.*, f.failures, f.since, f.end_at, f.end_started, f.end_error from (
  select d.queue, d.task, sum(d.due)::bigint, sum(d.later)::bigint, sum(d.retrying)::bigint, sum(d.running)::bigint,
    sum(d.parked)::bigint, min(d.oldest), min(d.oldest_running), v_now,
    array_agg(d.version order by d.version) filter (where d.due > 0), array_agg(d.due order by d.version) filter (where d.due > 0),
    array_agg(d.oldest order by d.version) filter (where d.due > 0)
  from (
    select r.queue, r.task, r.kind >> 5 as version, sum(r.due)::bigint as due, sum(r.later)::bigint as later, 0::bigint as retrying,
      0::bigint as running, 0::bigint as parked, min(r.oldest) as oldest, null::timestamptz as oldest_running
    from (
      select j.queue, j.task, j.kind, count(*) filter (where j.run_at <= v_now) as due,
        count(*) filter (where j.run_at > v_now) as later, min(j.run_at) filter (where j.run_at <= v_now) as oldest
      from {s}.job j where j.state = 'ready' group by j.queue, j.task, j.priority, j.kind) r
    group by r.queue, r.task, r.kind >> 5
    union all
    select j.queue, j.task, 0, 0, 0, count(*), 0, 0, null, null
    from {s}.job j where j.state = 'ready' and j.error is not null group by j.queue, j.task
    union all
    select j.queue, j.task, 0, 0, 0, 0, count(*), 0, null, min(j.started_at)
    from {s}.job j where j.state = 'running' group by j.queue, j.task
    union all
    select j.queue, j.task, 0, 0, 0, 0, 0, count(*), null, null
    from {s}.job j where j.state = 'parked' group by j.queue, j.task) d
  group by d.queue, d.task) n
  left join {s}.failing f on f.task = n.task order by n.queue, n.task;
end $$;

create function {s}.prune(
  p_keep_done bigint, p_keep_parked bigint, p_keep_over bigint, p_keep_actions bigint, p_limit bigint,
  p_not_after timestamptz)
returns bigint language plpgsql volatile {plans} as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
  v_count bigint;
  v_over bigint;
  v_actions bigint;
  v_until timestamptz;
begin
  -- One that is locked is being changed, or deleted by another process.
  with over as materialized (
    select name from {s}.schedule
    where is_dynamic and override_rule is null and next_kind = 'never' and waiting_id is null
      and cursor_at <= {before(v_now, p_keep_over)}
    order by cursor_at, name limit p_limit for update skip locked),
  gone as (delete from {s}.schedule s using over where s.name = any(array[over.name]) returning 1)
  select count(*) into v_over from gone;
  with old as materialized (
    select id from {s}.job
    where state = 'parked' and finished_at <= {before(v_now, p_keep_parked)}
    order by finished_at, id limit p_limit for update skip locked),
  gone as (delete from {s}.job j using old where j.id = any(array[old.id]) returning 1)
  select count(*) into v_count from gone;
  -- Whole rows go. Those of one instant go together.
  select min(d.ended_at) into v_until from (
    select ended_at, sum(cardinality(id)) over (order by ended_at) as total from {s}.done
    where ended_at <= {before(v_now, p_keep_done)} order by ended_at limit p_limit) d
  where d.total >= p_limit;
  with old as materialized (
    select ctid, cardinality(id) as jobs from {s}.done
    where p_limit > 0 and ended_at <= coalesce(v_until, {before(v_now, p_keep_done)}) for update skip locked),
  gone as (delete from {s}.done d using old where d.ctid = old.ctid returning old.jobs)
  select v_count + coalesce(sum(jobs), 0) into v_count from gone;
  with over as materialized (
    select task, key from {s}.key where has_ended and until <= v_now order by until, task, key limit p_limit for update skip locked)
  delete from {s}.key k using over where k.task = any(array[over.task]) and k.key = over.key;
  with over as materialized (
    select task, scope, partition from {s}.arrival where arrival <= {micros(v_now)} * 1000 limit p_limit for update skip locked)
  delete from {s}.arrival a using over where a.task = over.task and a.scope = over.scope and a.partition = over.partition;
  with old as materialized (
    select id from {s}.action where at <= {before(v_now, p_keep_actions)} order by at, id limit p_limit for update skip locked),
  gone as (delete from {s}.action a using old where a.id = any(array[old.id]) returning 1)
  select count(*) into v_actions from gone;
  with over as materialized (
    select id from {s}.ended_session where ended_at <= v_now - '1 hour'::interval order by ended_at, id limit p_limit
    for update skip locked)
  delete from {s}.ended_session e using over where e.id = any(array[over.id]);
  return v_over + v_count + v_actions;
end $$;

-- Builds that do not understand the tables any more must not write to them: their sessions end with the migration, and they
-- open no other (R20).
create function {s}.end_old_sessions() returns trigger language plpgsql set {path} as $$
begin
  with gone as (delete from {s}.session s returning s.*)
  {keep_ended({clock}, 'a migration')};
  return null;
end $$;
create trigger meta_min_reader after update on {s}.meta for each row when (new.min_reader > old.min_reader)
  execute function {s}.end_old_sessions();
