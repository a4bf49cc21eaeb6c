-- Ends of claims.

-- The state in which an end leaves a job.
create function {s}.end_state(
  p_end text, p_attempt integer, p_max_attempts bigint, p_undecoded integer, p_limit bigint, p_is_cancel_requested boolean)
returns text language sql immutable parallel safe as $$
  select case
    when p_end = 'done' then 'done'
    when p_end = 'cancelled' then 'cancelled'
    when p_end = 'park' then 'parked'
    when p_is_cancel_requested then 'cancelled'
    when p_end in ('snooze', 'give_back') then 'ready'
    when p_end = 'failed' and p_attempt < p_max_attempts then 'ready'
    when p_end = 'undecodable' and p_undecoded + 1 < p_limit then 'ready'
    else 'parked' end
$$;

-- READ COMMITTED suffices: the update names session, fence and state, and compares them again after it has waited for a row
-- (R4). No job stands in the batch twice.
create function {s}.finish(
  p_sessions uuid[], p_jobs uuid[], p_fences bigint[], p_ends text[], p_waits bigint[], p_errors text[], p_limits bigint[])
returns table (was_stored boolean, state text) language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_schedules text[];
  v_states text[];
  v_numbers bigint[];
  v_at integer;
  v_now timestamptz;
  v_schedule text;
begin
  v_schedules := array(
    select distinct j.schedule from {s}.job j where j.id = any(p_jobs) and j.schedule is not null);
  if cardinality(v_schedules) > 0 then
    perform {s}.lock_schedules(v_schedules);
  end if;
  v_now := {s}.clock();
  with f as materialized (
    select * from unnest(p_sessions, p_jobs, p_fences, p_ends, p_waits, p_errors, p_limits) with ordinality
      f(session, job, fence, word, wait, error, max, n)),
  ended as (
    update {s}.job j set
      state = {s}.end_state(f.word, j.attempt, j.max_attempts, j.undecoded, f.max, j.is_cancel_requested),
      attempt = case when f.word in ('snooze', 'give_back', 'undecodable') then greatest(j.attempt - 1, 0)
        else j.attempt end,
      undecoded = case f.word when 'undecodable' then j.undecoded + 1 when 'give_back' then j.undecoded else 0 end,
      error = case when f.word = 'done' then null when f.word in ('failed', 'park', 'undecodable') then f.error
        else j.error end,
      run_at = case when f.word not in ('done', 'give_back') and 'ready' =
          {s}.end_state(f.word, j.attempt, j.max_attempts, j.undecoded, f.max, j.is_cancel_requested)
        then {s}.after(v_now, f.wait) else j.run_at end,
      finished_at = case when 'ready' =
          {s}.end_state(f.word, j.attempt, j.max_attempts, j.undecoded, f.max, j.is_cancel_requested)
        then j.finished_at else v_now end,
      is_cancel_requested = false
    from f join {s}.session s on s.id = f.session
    -- The state is compared so that no index of running jobs is walked for each of the batch.
    where j.id = f.job and j.session = f.session and j.fence = f.fence and j.state = any(array['running', ''])
    returning f.n, j.state, j.schedule)
  select coalesce(array_agg(e.n), '{}'), coalesce(array_agg(e.state), '{}'),
    array_agg(distinct e.schedule) filter (where e.state <> 'ready' and e.schedule is not null)
  into v_numbers, v_states, v_schedules from ended e;
  if v_schedules is not null then
    foreach v_schedule in array v_schedules loop
      perform {s}.after_job(v_schedule, v_now);
    end loop;
  end if;
  if cardinality(v_numbers) = cardinality(p_jobs) then
    return query select true, u.state from unnest(v_numbers, v_states) u(n, state) order by u.n;
    return;
  end if;
  -- A finished row keeps its session and fence: a second look tells whether it was this request that finished it.
  for v_n in 1..cardinality(p_jobs) loop
    v_at := array_position(v_numbers, v_n::bigint);
    was_stored := v_at is not null;
    if was_stored then
      state := v_states[v_at];
    else
      select j.state into finish.state from {s}.job j join {s}.session s on s.id = j.session
      where j.id = p_jobs[v_n] and j.session = p_sessions[v_n] and j.fence = p_fences[v_n] and j.state <> 'running';
    end if;
    return next;
  end loop;
end $$;

-- Gives back what the session holds: none of that began (R7).
create function {s}.close(p_session uuid, p_not_after timestamptz)
returns void language plpgsql volatile as $$
declare
  v_jobs uuid[];
  v_fences bigint[];
  v_count integer;
begin
  perform {s}.in_time(p_not_after);
  select array_agg(j.id), array_agg(j.fence), count(*) into v_jobs, v_fences, v_count
  from {s}.job j where j.state = 'running' and j.session = p_session;
  if v_count > 0 then
    perform {s}.finish(
      array_fill(p_session, array[v_count]), v_jobs, v_fences, array_fill('give_back'::text, array[v_count]),
      array_fill(0::bigint, array[v_count]), array_fill(null::text, array[v_count]), array_fill(0::bigint, array[v_count]));
    perform {s}.nudge();
  end if;
  delete from {s}.session where id = p_session;
end $$;

-- Ends sessions that were seen dead, and names the running jobs whose session is gone (R8, R9, R10).
create function {s}.reap_sessions(p_sessions uuid[], p_marks bigint[], p_not_after timestamptz)
returns table (sessions uuid[], marks bigint[], jobs uuid[], job_sessions uuid[], fences bigint[])
language plpgsql volatile as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
begin
  with dead as (
    delete from {s}.session s using unnest(p_sessions, p_marks) d(id, mark)
    where s.id = d.id and s.renewals = d.mark and s.lease_until <= v_now returning s.id, s.renewals)
  select array_agg(d.id), array_agg(d.renewals) into sessions, marks from dead d;
  select array_agg(j.id order by j.id), array_agg(j.session order by j.id), array_agg(j.fence order by j.id)
  into jobs, job_sessions, fences
  from {s}.job j
  where j.state = 'running' and not exists (select from {s}.session s where s.id = j.session);
  return next;
end $$;

-- Gives back the jobs that were named. READ COMMITTED suffices: session and fence are compared again (R9).
create function {s}.reap_jobs(
  p_jobs uuid[], p_sessions uuid[], p_fences bigint[], p_waits bigint[], p_max_lost bigint)
returns setof {s}.job language plpgsql volatile as $$
declare
  v_now timestamptz;
  v_job {s}.job;
  r record;
begin
  perform {s}.lock_schedules(array(
    select distinct j.schedule from {s}.job j where j.id = any(p_jobs) and j.schedule is not null));
  v_now := {s}.clock();
  for r in select * from unnest(p_jobs, p_sessions, p_fences, p_waits) u(job, session, fence, wait) loop
    update {s}.job j set
      state = x.state, lost = j.lost + 1, fence = nextval('{s}.fence'), session = null, is_cancel_requested = false,
      error = 'lost: the session of attempt ' || j.attempt || ' ended before its outcome was stored',
      run_at = case when x.state = 'ready' then {s}.after(v_now, r.wait) else j.run_at end,
      finished_at = case when x.state = 'ready' then j.finished_at else v_now end
    from (
      select y.id, case when y.is_cancel_requested then 'cancelled'
        when y.is_abandoned or y.lost + 1 >= p_max_lost then 'parked'
        else 'ready' end as state
      from {s}.job y where y.id = r.job for update) x
    where j.id = x.id and j.state = 'running' and j.session is not distinct from r.session and j.fence = r.fence
    returning j.* into v_job;
    if found then
      return next v_job;
      if v_job.state <> 'ready' and v_job.schedule is not null then
        perform {s}.after_job(v_job.schedule, v_now);
      end if;
    end if;
  end loop;
end $$;

-- Opens a session, unless a newer library has changed the tables (R20); ends the one that it replaces.
create function {s}.open(
  p_id uuid, p_replaces uuid, p_label text, p_build text, p_lease bigint, p_not_after timestamptz, p_reader integer)
returns table (now timestamptz, version integer, min_reader integer) language plpgsql volatile as $$
#variable_conflict use_column
begin
  now := {s}.in_time(p_not_after);
  select meta.version, meta.min_reader into open.version, open.min_reader from {s}.meta;
  if open.min_reader <= p_reader then
    delete from {s}.session where id = p_replaces;
    insert into {s}.session (id, label, build, opened_at, lease_until)
    values (p_id, p_label, p_build, open.now, {s}.after(open.now, p_lease)) on conflict (id) do nothing;
  end if;
  return next;
end $$;
