-- Commands about jobs, for any client too. Each returns 'ok', 'not_found', the state that forbids it, or the identity of the
-- job that is in the way.
create function {s}.run_now(p_schedule text, p_job uuid, p_not_after timestamptz default 'infinity')
returns text language plpgsql volatile as $$
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
    if exists (select from {s}.job where id = p_job) then
      return 'ok';
    end if;
    if v.is_exclusive then
      select id into v_other from {s}.job where schedule = p_schedule and is_exclusive and state in ('ready', 'running');
      if found then
        return v_other::text;
      end if;
    end if;
    if {s}.insert_of(v, p_job, null, 0, v_now, v_now) then
      perform {s}.nudge();
      return 'ok';
    end if;
  end loop;
  raise exception 'the schedule changed too often' using errcode = '40001';
end $$;

-- Locks the row of a job, after that of its schedule, and returns it.
create function {s}.lock_job(p_job uuid) returns {s}.job language plpgsql volatile as $$
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

create function {s}.cancel(p_job uuid, p_not_after timestamptz default 'infinity')
returns text language plpgsql volatile as $$
declare
  v {s}.job := {s}.lock_job(p_job);
  v_now timestamptz := {s}.in_time(p_not_after);
begin
  if v.id is null then
    return 'not_found';
  elsif v.state = 'running' then
    update {s}.job set is_cancel_requested = true where id = p_job;
  elsif v.state = 'ready' then
    update {s}.job set state = 'cancelled', finished_at = v_now where id = p_job;
    if v.schedule is not null then
      perform {s}.after_job(v.schedule, v_now);
    end if;
  else
    return v.state;
  end if;
  return 'ok';
end $$;

-- Row by row: what is in the way is named (R13).
create function {s}.retry(p_job uuid, p_not_after timestamptz default 'infinity')
returns text language plpgsql volatile as $$
declare
  v {s}.job := {s}.lock_job(p_job);
  v_now timestamptz := {s}.in_time(p_not_after);
  v_other uuid;
begin
  if v.id is null then
    return 'not_found';
  elsif v.state = 'running' then
    return v.state;
  end if;
  for v_attempt in 1..3 loop
    if v.state <> 'ready' then
      select id into v_other from {s}.job where task = v.task and key = v.key and state in ('ready', 'running');
      if not found and v.is_exclusive then
        select id into v_other from {s}.job
        where schedule = v.schedule and is_exclusive and state in ('ready', 'running');
      end if;
      if v_other is not null then
        return v_other::text;
      end if;
    end if;
    begin
      update {s}.job set state = 'ready', run_at = v_now, finished_at = null,
        max_attempts = case when v.state = 'ready' then max_attempts else greatest(max_attempts, attempt + 1) end,
        lost = case when v.state = 'ready' then lost else 0 end,
        undecoded = case when v.state = 'ready' then undecoded else 0 end
      where id = p_job;
      perform {s}.nudge();
      return 'ok';
    exception when unique_violation then
      -- RACE: another job took the key since the look.
      null;
    end;
  end loop;
  raise exception 'the jobs of the key changed too often' using errcode = '40001';
end $$;

create function {s}.remove(p_job uuid, p_not_after timestamptz default 'infinity')
returns text language plpgsql volatile as $$
declare
  v {s}.job := {s}.lock_job(p_job);
  v_now timestamptz := {s}.in_time(p_not_after);
begin
  if v.id is null then
    return 'not_found';
  elsif v.state = 'running' then
    return v.state;
  end if;
  delete from {s}.job where id = p_job;
  if v.schedule is not null then
    perform {s}.after_job(v.schedule, v_now);
  end if;
  return 'ok';
end $$;

-- Cancels, retries or removes up to so many jobs, in the order of their identities. Returns with how many that was done, and
-- the last one if there may be more.
create function {s}.command_all(
  p_action text, p_task text default null, p_queue text default null, p_state text default null, p_key text default null,
  p_schedule text default null, p_after uuid default null, p_limit bigint default 1000,
  p_not_after timestamptz default 'infinity', out done bigint, out last uuid)
language plpgsql volatile set plan_cache_mode = force_custom_plan as $$
declare
  v_ids uuid[];
  v_schedules text[];
  v_id uuid;
begin
  perform {s}.in_time(p_not_after);
  select array_agg(f.id order by f.id), array_agg(f.schedule) into v_ids, v_schedules from (
    select id, schedule from {s}.job
    where (p_task is null or task = p_task) and (p_queue is null or queue = p_queue)
      and (p_state is null or state = p_state) and (p_key is null or key = p_key)
      and (p_schedule is null or schedule = p_schedule) and (p_after is null or id > p_after)
    order by id limit p_limit) f;
  perform {s}.lock_schedules(v_schedules);
  done := 0;
  foreach v_id in array coalesce(v_ids, array[]::uuid[]) loop
    -- RACE: the state and the key may have changed since the look; nothing else does.
    perform from {s}.job
    where id = v_id and (p_state is null or state = p_state) and (p_key is null or key = p_key) for update;
    if found and 'ok' = (case p_action
      when 'cancel' then {s}.cancel(v_id, p_not_after)
      when 'retry' then {s}.retry(v_id, p_not_after)
      when 'remove' then {s}.remove(v_id, p_not_after) end)
    then
      done := done + 1;
    end if;
  end loop;
  if cardinality(v_ids) >= p_limit then
    last := v_ids[cardinality(v_ids)];
  end if;
end $$;

-- How many jobs wait, run and are parked: each state is read from an index of its own, and what is done not at all.
create function {s}.depths()
returns table (
  queue text, task text, due bigint, later bigint, running bigint, parked bigint, oldest timestamptz, now timestamptz)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now timestamptz := {s}.clock();
begin
  return query
  select d.queue, d.task, sum(d.due)::bigint, sum(d.later)::bigint, sum(d.running)::bigint, sum(d.parked)::bigint, min(d.oldest),
    v_now
  from (
    select j.queue, j.task, count(*) filter (where j.run_at <= v_now) as due, count(*) filter (where j.run_at > v_now) as later,
      0 as running, 0 as parked, min(j.run_at) filter (where j.run_at <= v_now) as oldest
    from {s}.job j where j.state = 'ready' and j.lost < 1 and not j.is_abandoned group by j.queue, j.task
    union all
    select j.queue, j.task, count(*) filter (where j.run_at <= v_now), count(*) filter (where j.run_at > v_now),
      0, 0, min(j.run_at) filter (where j.run_at <= v_now)
    from {s}.job j where j.state = 'ready' and (j.lost > 0 or j.is_abandoned) group by j.queue, j.task
    union all
    select j.queue, j.task, 0, 0, count(*), 0, null from {s}.job j where j.state = 'running' group by j.queue, j.task
    union all
    select j.queue, j.task, 0, 0, 0, count(*), null from {s}.job j where j.state = 'parked' group by j.queue, j.task) d
  group by d.queue, d.task order by d.queue, d.task;
end $$;

create function {s}.prune(
  p_keep_done bigint, p_keep_parked bigint, p_keep_over bigint, p_limit bigint, p_not_after timestamptz)
returns bigint language plpgsql volatile as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
  v_count bigint;
  v_over bigint;
begin
  -- One that is locked is being changed, or deleted by another process.
  with over as materialized (
    select name from {s}.schedule
    where is_dynamic and override_rule is null and next_kind = 'never' and waiting_id is null
      and cursor_at <= {s}.before(v_now, p_keep_over)
    order by cursor_at, name limit p_limit for update skip locked),
  gone as (delete from {s}.schedule s using over where s.name = over.name returning 1)
  select count(*) into v_over from gone;
  with old as materialized (
    select o.id from (
      (select id, finished_at from {s}.job
       where state in ('done', 'cancelled') and finished_at <= {s}.before(v_now, p_keep_done)
       order by finished_at, id limit p_limit)
      union all
      (select id, finished_at from {s}.job
       where state = 'parked' and finished_at <= {s}.before(v_now, p_keep_parked)
       order by finished_at, id limit p_limit)) o
    order by o.finished_at, o.id limit p_limit),
  gone as (
    delete from {s}.job j using old where j.id = old.id and j.state in ('done', 'cancelled', 'parked') returning 1)
  select count(*) into v_count from gone;
  return v_over + v_count;
end $$;

-- Builds that do not understand the tables any more must not write to them: their sessions end with the migration, and they
-- open no other (R20).
create function {s}.end_old_sessions() returns trigger language plpgsql as $$
begin
  delete from {s}.session;
  return null;
end $$;
create trigger meta_min_reader after update on {s}.meta for each row when (new.min_reader > old.min_reader)
  execute function {s}.end_old_sessions();
