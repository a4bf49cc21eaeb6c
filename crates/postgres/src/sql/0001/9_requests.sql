-- The requests of a program that have no function above. A program sends calls of functions, in which no name is looked up in the
-- path of its connection: a pool gives it connections without its own path.

-- READ COMMITTED suffices: the update compares the lease with the clock again after it has waited for the row.
create function {s}.renew(
  p_session uuid, p_lease bigint, p_clock_offset bigint, p_not_after timestamptz, out now timestamptz, out is_alive boolean)
language plpgsql volatile {plans} as $$
#variable_conflict use_column
begin
  {read_clock(now, p_not_after)}
  update {s}.session set lease_until = {after({clock}, p_lease)}, renewals = renewals + 1, clock_offset = p_clock_offset
  where id = p_session and lease_until > {clock} and {clock} <= p_not_after;
  is_alive := found;
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

-- The pauses that hold, those of queues after those of tasks. The name of one has the role beside it, if another role than this
-- program's has made it, such as the role of a person, and signed it with another name.
create function {s}.list_pauses()
returns table (scope text, name text, since timestamptz, until timestamptz, paused_by text, reason text)
language plpgsql stable set {path} as $$
begin
  return query
  select p.scope, p.name, p.since, p.until,
    case when p.session_role in (p.paused_by, session_user) then p.paused_by
      else concat_ws(' ', nullif(p.paused_by, ''), '(role ' || p.session_role || ')') end, p.reason
  from {s}.pause p where p.until is null or p.until > {clock} order by p.scope desc, p.name;
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
  select s.id, s.label, s.build, s.opened_at, s.lease_until <= v_now, s.application, s.tasks, s.versions, s.queues, s.concurrency,
    s.clock_offset, case when s.pause_until is null or s.pause_until > v_now then s.pause_since end, s.pause_until, s.paused_by,
    s.pause_reason, null::timestamptz, null::text, null::bigint
  from {s}.session s order by s.id;
  return query
  select e.id, e.label, e.build, e.opened_at, false, e.application, e.tasks, e.versions, e.queues, e.concurrency,
    e.clock_offset, case when e.pause_until is null or e.pause_until > v_now then e.pause_since end, e.pause_until, e.paused_by,
    e.pause_reason, e.ended_at, e.found_by, e.jobs
  from {s}.ended_session e where e.ended_at > v_now - '1 hour'::interval order by e.ended_at desc, e.id;
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
