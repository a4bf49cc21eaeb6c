-- The requests of a program that have no function above. A program sends calls of functions, in which no name is looked up in the
-- path of its connection: a pool gives it connections without its own path.

-- READ COMMITTED suffices: the update compares the lease with the clock again after it has waited for the row.
create function {s}.renew(
  p_session uuid, p_lease bigint, p_clock_offset bigint, p_not_after timestamptz, p_jobs uuid[], p_fences bigint[], p_progress text[],
  out now timestamptz, out is_alive boolean, out is_complete boolean)
language plpgsql volatile {plans} as $$
#variable_conflict use_column
begin
  {read_clock(now, p_not_after)}
  update {s}.session set lease_until = {after({clock}, p_lease)}, renewals = renewals + 1, clock_offset = p_clock_offset
  where id = p_session and lease_until > {clock} and {clock} <= p_not_after;
  is_alive := found;
  is_complete := p_jobs is null;
  if is_alive and not is_complete then
    -- A job that another transaction has locked must not delay the lease.
    with running as (
      select j.id, u.progress from unnest(p_jobs, p_fences, p_progress) u(job, fence, progress)
      join {s}.job j on j.id = any(array[u.job])
      where j.session = p_session and j.fence = u.fence and j.state = any(array['running', '']) order by j.id
      for no key update of j skip locked),
    written as (update {s}.job j set progress = r.progress from running r where j.id = any(array[r.id]) returning j.id)
    select count(*) = cardinality(p_jobs) into is_complete from written;
  end if;
end $$;

-- The running jobs of a session.
create function {s}.held(p_session uuid, out jobs uuid[], out fences bigint[]) language plpgsql stable {plans} as $$
begin
  select array_agg(j.id order by j.id), array_agg(j.fence order by j.id) into jobs, fences
  from {s}.job j where j.state = 'running' and j.session = p_session;
end $$;

-- As of one instant, as is each function that is stable: a job may leave for `done`, or come back, meanwhile.
create function {s}.job(p_id uuid) returns setof {s}.job language plpgsql stable {plans} as $$
begin
  return query select j.* from {s}.job j where j.id = p_id;
  if not found then
    return query select j.* from {s}.done_job(p_id, {clock}) j;
  end if;
end $$;

create function {s}.schedules(p_names text[]) returns setof {s}.schedule language plpgsql stable {plans} as $$
begin
  return query select s.* from {s}.schedule s where s.name = any(p_names) order by s.name;
end $$;

-- Schedules that are due, and since when a job of each keeps others out.
create function {s}.due(p_names text[]) returns table (schedule {s}.schedule, busy_since timestamptz)
language plpgsql stable {plans} as $$
begin
  return query
  select s, (select j.created_at from {s}.job j where j.schedule = s.name and j.is_exclusive and j.state in ('ready', 'running'))
  from {s}.schedule s where s.name = any(p_names) order by s.name;
end $$;

-- Schedules for a change: no other transaction makes or changes one of them before this one ends.
create function {s}.schedules_to_change(p_names text[]) returns setof {s}.schedule language plpgsql volatile {plans} as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('schedules of {s}', 0));
  return query select s.* from {s}.schedule s where s.name = any(p_names) order by s.name for update;
end $$;

-- Such a change needs to know, after the locks: the time, whether the session lives, and which schedules have a job.
create function {s}.before_change(
  p_names text[], p_session uuid, p_not_after timestamptz, out now timestamptz, out is_alive boolean, out busy text[])
language plpgsql volatile {plans} as $$
begin
  now := {s}.in_time(p_not_after);
  is_alive := exists (select from {s}.session s where s.id = p_session and s.lease_until > {clock});
  busy := array(select n from unnest(p_names) n where {s}.is_busy(n));
end $$;

create function {s}.delete_schedules(p_names text[]) returns void language plpgsql volatile {plans} as $$
begin
  delete from {s}.schedule s where s.name = any(p_names);
end $$;

define paused_by(pause) as $$
case when {pause}.session_role in ({pause}.paused_by, session_user) then {pause}.paused_by
      else concat_ws(' ', nullif({pause}.paused_by, ''), '(role ' || {pause}.session_role || ')') end
$$;

-- The pauses that hold: those of tasks, of queues, and of partitions. The name of one has the role beside it, if another role than this
-- program's has made it, such as the role of a person, and signed it with another name.
create function {s}.list_pauses(p_partitions boolean default true)
returns table (scope text, name text, since timestamptz, until timestamptz, paused_by text, reason text)
language plpgsql stable set {path} as $$
begin
  return query
  select p.scope, p.name, p.since, p.until, {paused_by(p)}, p.reason from {s}.pause p
  where p.scope = any(case when p_partitions then array['task', 'queue', 'partition'] else array['task', 'queue'] end)
    and (p.until is null or p.until > {clock}) order by p.scope = 'partition', p.scope desc, p.name;
end $$;

-- Those that are open, then those that ended within the last hour.
create function {s}.list_sessions()
returns table (id uuid, label text, build text, opened_at timestamptz, has_run_out boolean, application text, tasks text[],
  versions bigint[], queues text[], concurrency bigint, clock_offset bigint, pause_since timestamptz, pause_until timestamptz,
  paused_by text, pause_reason text, ended_at timestamptz, found_by text, jobs bigint)
language plpgsql stable {plans} as $$
#variable_conflict use_column
declare
  v_now timestamptz := {clock};
begin
  return query
  select x.id, x.label, x.build, x.opened_at, x.ended_at is null and x.lease_until <= v_now, x.application, x.tasks, x.versions,
    x.queues, x.concurrency, x.clock_offset,
    case when x.pause_until is null or x.pause_until > v_now then x.pause_since end, x.pause_until, x.paused_by, x.pause_reason,
    x.ended_at, x.found_by, x.jobs
  from (
    select s.*, null::timestamptz as ended_at, null::text as found_by, null::bigint as jobs from {s}.session s
    union all
    select e.* from {s}.ended_session e where e.ended_at > v_now - '1 hour'::interval) x
  order by x.ended_at desc nulls first, x.id;
end $$;

-- The limits for a change: no other transaction changes one before this one ends.
create function {s}.limits_to_change() returns setof {s}.task_limit language plpgsql volatile {plans} as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('limits of {s}', 0));
  return query select l.* from {s}.task_limit l;
end $$;

create function {s}.write_limit(p {s}.task_limit) returns void language plpgsql volatile {plans} as $$
begin
  delete from {s}.task_limit l where l.task = p.task and l.scope = p.scope;
  insert into {s}.task_limit select p.*;
end $$;

create function {s}.list_limits() returns setof {s}.task_limit language plpgsql stable set {path} as $$
begin
  return query select l.* from {s}.task_limit l order by l.task, l.scope;
end $$;

-- Those of these jobs that are ready, by identity, and all that may stand in their way.
create function {s}.waits(p_ids uuid[])
returns table (
  scope text, name text, since timestamptz, until timestamptz, paused_by text, reason text, id uuid, run_at timestamptz, now timestamptz,
  alive bigint, open bigint, all_limit bigint, all_running bigint, all_opens_at timestamptz, each_limit bigint, each_running bigint,
  each_opens_at timestamptz, each_head uuid, each_parked uuid)
language plpgsql stable {plans} as $$
#variable_conflict use_variable
declare
  j record;
  l {s}.limits;
  v_at timestamptz := {clock};
  v_now bigint := {micros(v_at)} * 1000;
  v_arrival bigint;
  v_paused record;
begin
  for j in
    -- A clock that is set back makes no job wait again that was due.
    select k.id, k.partition is not null as has_partition, k.held_until is not null as has_begun, k.priority, k.run_at as place, greatest(case when k.lane is null then k.run_at else least(k.run_at, v_at) end, k.held_until) as run_at,
       k.task, k.queue, k.payload_version, coalesce(k.partition, '') as partition
    from {s}.job k where k.id = any(p_ids) and k.state = 'ready' order by k.id
  loop
    l := {s}.limits_of(j.task);
    l.groups := {s}.ordered_groups(l);
    select p.* into v_paused from {s}.list_pauses(false) p
    where (p.scope = 'task' and p.name = j.task) or (p.scope = 'queue' and p.name = j.queue) limit 1;
    -- A job without a partition is in the one without a name only where it has a limit.
    if not found and (j.has_partition or {s}.is_limited(j.task)) then
      select p.scope, p.name, p.since, p.until, {paused_by(p)} as paused_by, p.reason into v_paused from {s}.pause p
      where p.scope = 'partition' and p.name = l.task || chr(31) || j.partition and (p.until is null or p.until > v_at);
    end if;
    select v_paused.scope, v_paused.name, v_paused.since, v_paused.until, v_paused.paused_by, v_paused.reason, j.id, j.run_at, v_at
    into scope, name, since, until, paused_by, reason, id, run_at, now;
    select count(*), count(*) filter (where s.pause_since is null or s.pause_until <= v_at) into alive, open
    from {s}.session s where s.lease_until > v_at and (s.queues is null or j.queue = any(s.queues)) and exists (
      select from unnest(s.tasks, s.versions) t(task, version) where t.task = j.task and t.version >= j.payload_version);
    select l.all_running, case when l.all_running is not null then (select r.n from {running(l, 0)} r) else 0 end, {all_arrival(l)}
    into all_limit, all_running, v_arrival;
    all_opens_at := case when {starts(v_arrival, v_now, l.all_gap, l.all_burst)} <= 0
      then {opens_at(v_arrival, v_now, l.all_gap, l.all_burst)} end;
    select l.each_running, coalesce(l.each_running - y.by_running, 0), y.rate_opens_at, (y.o).parked,
      -- A poll brings the job into its lane before it claims one.
      case when ((y.o).has_begun is null, -(y.o).priority, (y.o).run_at, (y.o).head) < (not j.has_begun, -j.priority, j.place, j.id)
        then (y.o).head end
    into each_limit, each_running, each_opens_at, each_parked, each_head
    from {lane_room(j.partition, l, v_now, null::{s}.place)} y;
    return next;
  end loop;
end $$;

-- The partitions of a task in which jobs are due or run: those with the most due jobs first.
create function {s}.partitions(p_task text, p_limit bigint)
returns table (
  scope text, name text, since timestamptz, until timestamptz, paused_by text, reason text, partition text, due bigint, running bigint,
  opens_at timestamptz)
language plpgsql stable {plans} as $$
#variable_conflict use_column
declare
  l {s}.limits := {s}.limits_of(p_task);
  v_now bigint := {micros({clock})} * 1000;
begin
  l.groups := {s}.ordered_groups(l);
  return query
  with d as (select j.lane, count(*) as n from {s}.job j where j.lane is not null and j.task = any(l.names) group by j.lane),
  r as (
    select j.partition as lane, count(*) as n from {s}.job j
    where j.state = any(array['running', '']) and j.partition >= '' and j.task = any(l.names) group by j.partition),
  p as (
    select coalesce(d.lane, r.lane) as lane, coalesce(d.n, 0) as due, coalesce(r.n, 0) as running
    from d full join r on r.lane = d.lane order by 2 desc, 1 limit p_limit)
  select h.scope, h.name, h.since, h.until, h.paused_by, h.reason, p.lane, p.due, p.running, y.opens_at
  from p cross join lateral {lane_room(p.lane, l, v_now, null::{s}.place)} y
  left join lateral (
    select h.scope, h.name, h.since, h.until, {paused_by(h)} as paused_by, h.reason from {s}.pause h
    where h.scope = 'partition' and h.name = l.task || chr(31) || p.lane and (h.until is null or {micros(h.until)} > v_now / 1000)) h on true
  order by p.due desc, p.lane;
end $$;

-- The due jobs of all tasks that have a limit: of each partition as many are open as it and the limit of all have room for.
create function {s}.limit_depths()
returns table (queue text, task text, open bigint, held bigint, open_partitions bigint, held_partitions bigint, oldest_open bigint)
language plpgsql stable {plans} as $$
#variable_conflict use_column
declare
  v_task text;
  l {s}.limits;
  v_now bigint := {micros({clock})} * 1000;
  v_all bigint;
begin
  for v_task in select distinct n from {s}.task_limit t, unnest(string_to_array(t.names, chr(31))) n order by n loop
    continue when not {s}.is_limited(v_task);
    l := {s}.limits_of(v_task);
    l.groups := {s}.ordered_groups(l);
    v_all := least(l.all_running - (select r.n from {running(l, 0)} r), {starts({all_arrival(l)}, v_now, l.all_gap, l.all_burst)});
    return query
    select d.queue, v_task, sum(d.starts)::bigint, sum(d.n - d.starts)::bigint, count(*) filter (where d.starts > 0), count(*) filter (where d.starts = 0),
      v_now / 1000 - {micros(min(d.oldest) filter (where d.starts > 0))}
    from (
      select c.queue, c.n, c.oldest, greatest(least(c.n, v_all, y.by_running, y.by_rate), 0) as starts
      from (
        select j.queue, j.lane, count(*) as n, min(j.run_at) as oldest from {s}.job j where j.lane is not null and j.task = v_task group by j.queue, j.lane) c
      cross join lateral {lane_room(c.lane, l, v_now, null::{s}.place)} y) d
    group by d.queue order by d.queue;
  end loop;
end $$;
