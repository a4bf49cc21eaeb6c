-- Functions that others call. Most are in PL/pgSQL, which plans a statement once for each connection; those functions that a
-- program calls set how, for all that they call: by an index, however small the tables are by then. Lists, depths and commands about
-- many jobs have settings of their own. A comparison with `any(array[...])` in place of `=` keeps a planner that believes a table to
-- be empty from an index that would be read as a whole: one whose order suits a join, or one of the jobs in a state.
--
-- A function that writes locks the rows of schedules first, by name, then those of jobs: two transactions never wait for each
-- other (R12). Each statement of a function sees what was committed before it began, so that a look after a lock sees what the lock
-- has waited for.

-- Texts that stand in place of calls: see `sql.rs`.

-- An instant that many microseconds later, at most the end of the year 9999.
define after(at, micros) as $$
least('9999-12-31 23:59:59.999999+00'::timestamptz,
  {at} + (least({micros}, 300000000000000000) / 3600000000) * '1 hour'::interval
    + (least({micros}, 300000000000000000) % 3600000000) * '1 microsecond'::interval)
$$;

-- An instant that many microseconds earlier.
define before(at, micros) as $$
({at} - (least({micros}, 200000000000000000) / 3600000000) * '1 hour'::interval
  - (least({micros}, 200000000000000000) % 3600000000) * '1 microsecond'::interval)
$$;

-- Microseconds since 1970.
define micros(at) as $$
(extract(epoch from date_trunc('second', {at}))::bigint * 1000000 + extract(microseconds from {at})::bigint % 1000000)
$$;

-- A job has not ended before this: the time in an identity of version 7, less a minute for clocks that differ.
define not_before(id, now) as $$
(select case when get_byte(uuid_send(m.id), 6) >> 4 = 7 and m.made <= {now} + '1 hour'::interval
    then m.made - '1 minute'::interval else '-infinity' end
  from (select i.id, to_timestamp((('x' || encode(substring(uuid_send(i.id) from 1 for 6), 'hex'))::bit(48)::bigint) / 1000.0) as made
    from (select {id} as id) i) m)
$$;

-- No job of these identities has ended before this, though the clock of its sender may be an hour fast.
define sent_since(ids, now) as $$
case when exists (select from unnest({ids}) i(id) where get_byte(uuid_send(i.id), 6) >> 4 <> 7) then '-infinity'
  else least({not_before((select i.id from unnest({ids}) i(id) order by i.id limit 1), {now})},
    {not_before((select i.id from unnest({ids}) i(id) order by i.id desc limit 1), {now})}, {now} - '1 hour'::interval) end
$$;

-- The jobs of a row `d` of `done`.
define done_jobs() as $$
(select {done_unpacked} from (select {done_firsts} offset 0) c
  cross join unnest(d.id, {done_names}) u(id, {done_names_plain}) where cardinality(d.task) > 0)
$$;

-- Reads the clock, unless it is too late (R2).
define read_clock(now, not_after) as $$
{now} := {clock};
  if {now} > {not_after} then
    raise exception 'the request reached the store too late' using errcode = 'SCH01';
  end if;
$$;

create function {s}.in_time(p_not_after timestamptz) returns timestamptz language plpgsql volatile set {path} as $$
declare
  v_now timestamptz;
begin
  {read_clock(v_now, p_not_after)}
  return v_now;
end $$;

create function {s}.is_busy(p_schedule text) returns boolean language plpgsql volatile {plans} as $$
begin
  return exists (select from {s}.job where schedule = p_schedule and is_exclusive and state in ('ready', 'running'));
end $$;

-- An identity of version 7, so that jobs which are made together are stored together.
create function {s}.new_id() returns uuid language plpgsql volatile set {path} as $$
declare
  v_bytes bytea := overlay(uuid_send(gen_random_uuid()) placing
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6);
begin
  return encode(set_byte(v_bytes, 6, get_byte(v_bytes, 6) | 48), 'hex')::uuid;
end $$;

-- A job that is done or cancelled. Few rows lie between its identity and the one that has it; if there are many, because some
-- identities are not of version 7, jobs that ended after the identity was made are looked at first.
create function {s}.done_job(p_id uuid, p_now timestamptz) returns setof {s}.job language plpgsql stable
{plans} set enable_sort = off as $$
declare
  v_since timestamptz := {not_before(p_id, p_now)};
  v_rows integer := 0;
  v_at tid;
  r record;
begin
  for r in
    select d.ctid as at, d.least_id, d.id from {s}.done d where d.greatest_id >= p_id order by d.greatest_id limit 100
  loop
    v_rows := v_rows + 1;
    if r.least_id <= p_id and p_id = any(r.id) then
      v_at := r.at;
      exit;
    end if;
  end loop;
  if v_at is null and v_rows = 100 then
    select d.ctid into v_at from {s}.done d
    where d.ended_at >= v_since and d.least_id <= p_id and d.greatest_id >= p_id and p_id = any(d.id) order by d.ended_at limit 1;
    if not found then
      select d.ctid into v_at from {s}.done d
      where d.ended_at < v_since and d.least_id <= p_id and d.greatest_id >= p_id and p_id = any(d.id)
      order by d.greatest_id limit 1;
    end if;
  end if;
  return query select j.* from {s}.done d cross join lateral {done_jobs()} j where d.ctid = v_at and j.id = p_id;
end $$;

-- Those of the jobs that have ended since then. Few jobs have greater identities than those that were just made; if there are more,
-- because some are not of version 7, the rows of that time are read.
create function {s}.ended(p_ids uuid[], p_since timestamptz) returns uuid[] language plpgsql volatile set {path} as $$
declare
  v_least uuid := (select i.id from unnest(p_ids) i(id) order by i.id limit 1);
  v_greatest uuid := (select i.id from unnest(p_ids) i(id) order by i.id desc limit 1);
  v_most bigint := case when p_since > '-infinity' then 100 end;
  v_rows bigint;
  v_ended uuid[];
begin
  -- The order says by which index the rows are found.
  select max(d.n), array_agg(e.id) filter (where e.id is not null) into v_rows, v_ended
  from (
    select d.ended_at, d.least_id, d.id, row_number() over (order by d.greatest_id) as n
    from {s}.done d where d.greatest_id >= v_least limit v_most) d
  left join lateral (
    select u.id from unnest(d.id) u(id)
    where d.ended_at >= p_since and d.least_id <= v_greatest and u.id = any(p_ids) offset 0) e on true;
  if v_rows >= v_most then
    return array(
      select u.id
      from (select d.least_id, d.greatest_id, d.id from {s}.done d where d.ended_at >= p_since offset 0) d
      cross join lateral unnest(d.id) u(id)
      where d.greatest_id >= v_least and d.least_id <= v_greatest and u.id = any(p_ids));
  end if;
  return coalesce(v_ended, '{}');
end $$;

-- Takes a job out of `done`, and returns it.
create function {s}.take_done(p_id uuid) returns {s}.job language plpgsql volatile set {path} as $$
declare
  v_job {s}.job;
  v_at tid;
  d {s}.done;
begin
  loop
    select done.ctid into v_at from {s}.done
    where least_id <= p_id and greatest_id >= p_id and p_id = any(id) order by greatest_id limit 1 for update;
    -- RACE: another job of the row may have been taken meanwhile, which makes it another row.
    exit when found or {s}.ended(array[p_id], '-infinity') = '{}';
  end loop;
  select * into d from {s}.done where ctid = v_at;
  select j.* into v_job from {done_jobs()} j where j.id = p_id;
  if v_job.id is not null then
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select d.ended_at, d.session, d.least_id, d.greatest_id, {packed}
    from {done_jobs()} j where j.id <> p_id having count(*) > 0;
    delete from {s}.done where ctid = v_at;
  end if;
  return v_job;
end $$;

-- A job with a key has ended: the key is free, unless it is kept for a time.
create function {s}.end_key(p_task text, p_key text, p_job uuid) returns void language plpgsql volatile set {path} as $$
begin
  delete from {s}.key k where k.task = p_task and k.key = p_key and k.job = p_job and k.until is null;
  if not found then
    update {s}.key k set has_ended = true where k.task = p_task and k.key = p_key and k.job = p_job;
  end if;
end $$;

-- One job that a command, a reap or a late end has ended leaves for `done`; `finish` moves many. Its columns are as they shall be.
create function {s}.keep_one(p_job {s}.job, p_is_gone boolean default false) returns void language plpgsql volatile set {path} as $$
begin
  delete from {s}.job where id = p_job.id;
  if p_job.key is not null then
    perform {s}.end_key(p_job.task, p_job.key, p_job.id);
  end if;
  if p_is_gone then
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select p_job.finished_at, p_job.session, p_job.id, p_job.id, {gone} from (select (p_job).*) j;
  else
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select p_job.finished_at, p_job.session, p_job.id, p_job.id, {packed} from (select (p_job).*) j;
  end if;
end $$;

-- Makes a job of a schedule, unless there is one of this identity (R3), or another is in the way (R11).
create function {s}.insert_of(
  p_of {s}.schedule, p_id uuid, p_tick timestamptz, p_missed bigint, p_run_at timestamptz, p_now timestamptz)
returns boolean language plpgsql volatile set {path} as $$
begin
  insert into {s}.job (id, task, payload, payload_version, queue, priority, partition, run_at, max_attempts, is_abandoned,
    is_exclusive, schedule, tick, missed, created_at)
  values (p_id, p_of.task, p_of.payload, p_of.payload_version, p_of.queue, p_of.priority, p_of.partition, p_run_at,
    greatest(p_of.max_attempts, 1), p_of.is_abandoned, p_of.is_exclusive, p_of.name, p_tick, p_missed, p_now)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  -- RACE: the insertion may have waited for the end of the same job.
  if {s}.ended(array[p_id], {not_before(p_id, p_now)}) <> '{}' then
    delete from {s}.job where id = p_id;
    return false;
  end if;
  return true;
end $$;

-- A job of a schedule has ended or is gone: the tick that waits becomes a job, or the next delay begins. If another transaction
-- has locked the schedule, a later poll does it.
create function {s}.after_job(p_schedule text, p_now timestamptz) returns void language plpgsql volatile set {path} as $$
declare
  v {s}.schedule;
begin
  select * into v from {s}.schedule where name = p_schedule for update skip locked;
  if not found or {s}.is_busy(p_schedule) then
    return;
  end if;
  if v.waiting_id is not null then
    update {s}.schedule set waiting_id = null, waiting_tick = null, waiting_missed = null, waiting_run_at = null
    where name = p_schedule;
    if {s}.insert_of(v, v.waiting_id, v.waiting_tick, v.waiting_missed, v.waiting_run_at, p_now) then
      update {s}.schedule set fired = fired + 1, last_fired = v.waiting_tick where name = p_schedule;
      if v.waiting_run_at <= p_now then
        perform {nudge};
      end if;
    end if;
  elsif v.delay is not null and v.next_kind = 'job' then
    -- A delay counts from the end of the tick that waits, if there is one.
    update {s}.schedule set cursor_at = p_now, next_kind = 'at', next_at = {after(p_now, v.delay)}
    where name = p_schedule;
  end if;
end $$;

-- The schedules keep the last ends of their jobs; the caller has locked them. And tasks keep their failures in a row: the rows of
-- several are written in one order, so that no two requests wait for each other, and each is held until the commit.
create function {s}.note_ends(p_ends {s}.run_end[], p_now timestamptz) returns void language plpgsql volatile set {path}
set lock_timeout = '5s' as $$
declare
  r record;
begin
  for r in select * from unnest(p_ends) e where e.schedule is not null order by e.number loop
    update {s}.schedule s set end_at = p_now, end_state = r.state, end_started = r.started_at, end_error = left(r.error, 500),
      last_success = case r.state when 'done' then p_now else s.last_success end,
      failures = case r.state when 'done' then 0 when 'parked' then s.failures + 1 else s.failures end
    where s.name = r.schedule;
  end loop;
  for r in
    select e.task, e.done, count(*) filter (where e.state = 'parked') as failures,
      (array_agg(e.started_at order by e.number desc))[1] as started_at, (array_agg(e.error order by e.number desc))[1] as error
    from (select u.*, max(u.number) filter (where u.state = 'done') over (partition by u.task) as done from unnest(p_ends) u) e
    where e.state in ('parked', 'done') and e.number >= coalesce(e.done, 0) group by e.task, e.done order by e.task
  loop
    if r.failures = 0 then
      -- RACE: a row that is locked has a failure of the same moment; the next job that is done deletes it.
      delete from {s}.failing f
      where f.task = any(array(select k.task from {s}.failing k where k.task = r.task for update skip locked));
    else
      insert into {s}.failing as f (task, failures, since, end_at, end_started, end_error)
      values (r.task, r.failures, p_now, p_now, r.started_at, left(r.error, 500))
      on conflict (task) do update set
        failures = case when r.done is null then f.failures else 0 end + excluded.failures,
        since = case when r.done is null then f.since else excluded.since end,
        end_at = excluded.end_at, end_started = excluded.end_started, end_error = excluded.end_error;
    end if;
  end loop;
end $$;

create function {s}.lock_schedules(p_names text[]) returns void language plpgsql volatile set {path} as $$
begin
  perform from {s}.schedule where name = any(p_names) order by name for update;
end $$;

-- Locks those of the schedules that no other transaction has locked. Returns the others.
create function {s}.lock_free_schedules(p_names text[]) returns text[] language plpgsql volatile set {path} as $$
declare
  v_free text[] := array(
    select f.name from (select name from {s}.schedule where name = any(p_names) order by name for update skip locked) f);
begin
  return array(select name from {s}.schedule where name = any(p_names) and name <> all(v_free));
end $$;

-- After a crash of the server, commits that were not flushed are gone, and with them fences that were given out, by this process
-- or by another. Each process skips more fences than can be lost, before its first claim on a connection.
create function {s}.skip_fences() returns void language plpgsql volatile set {path} as $$
begin
  perform from {s}.meta for update;
  perform setval('{s}.fence', nextval('{s}.fence') + 1000000);
end $$;
