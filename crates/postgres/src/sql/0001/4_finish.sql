-- Ends of claims.

-- The attempts of a job, and one more that did not succeed: the last {attempts_max}, as `JobAttempt` of the library has them.
define with_attempt(attempts, number, started, ended, end, node, error) as $$
(select array_to_string(a.texts[greatest(cardinality(a.texts) - {attempts_max} + 1, 1):], chr(30)) from (
    select string_to_array({attempts}, chr(30)) || concat_ws(chr(31), {number}, {micros(coalesce({started}, {ended}))},
      {micros({ended})}, case {end} when 'park' then 'gave_up' else {end} end,
      left(translate(coalesce({node}, ''), chr(30) || chr(31), '  '), {attempt_text_max}),
      left(translate(coalesce({error}, ''), chr(30) || chr(31), '  '), {attempt_text_max})) as texts offset 0) a)
$$;

-- The error of a job whose session ended during its run.
define lost_error(attempt) as $$
('lost: the session of attempt ' || {attempt} || ' ended before its outcome was stored')
$$;

-- The same for an end: all others are no failures, and add none.
define attempts_after(job, session, ended, end, error) as $$
case when {end} not in ('failed', 'park', 'lost', 'undecodable') then {job}.attempts
  else {with_attempt({job}.attempts, {job}.attempt, {job}.started_at, {ended}, {end},
    (select s.label from {s}.session s where s.id = {session}),
    case {end} when 'lost' then {lost_error({job}.attempt)} else {error} end)} end
$$;

-- For a statement that seldom needs it: each execution would set up the parts of the text.
create function {s}.attempts_after(p {s}.job, p_session uuid, p_ended timestamptz, p_end text, p_error text)
returns text language plpgsql volatile set {path} as $$
begin
  return {attempts_after(p, p_session, p_ended, p_end, p_error)};
end $$;

-- The state in which an end leaves a job that has no request to be cancelled.
define end_state(end, attempt, max_attempts, undecoded, lost, is_abandoned, limit) as $$
case
          when {end} in ('snooze', 'give_back') then 'ready'
          when {end} = 'failed' and {attempt} < {max_attempts} then 'ready'
          when {end} = 'undecodable' and {undecoded} + 1 < {limit} then 'ready'
          when {end} = 'lost' and {lost} + 1 < {limit} and not {is_abandoned} then 'ready'
          else 'parked' end
$$;

-- The state in which this session has left the job before; none if the job is not the session's. A job that runs at most once
-- stays the session's when that is gone (R4).
create function {s}.end_before(p_session uuid, p_job uuid, p_fence bigint) returns text language plpgsql volatile set {path} as $$
declare
  v_is_open boolean := exists (select from {s}.session s where s.id = p_session);
  v_state text;
begin
  select j.state into v_state from {s}.job j
  where j.id = p_job and j.session = p_session and j.fence = p_fence and j.state <> 'running' and (v_is_open or j.is_abandoned);
  if not found then
    select j.state into v_state
    from {s}.done d cross join lateral {done_jobs()} j
    where d.session = p_session and d.least_id <= p_job and d.greatest_id >= p_job and j.id = p_job and j.fence = p_fence
      and (v_is_open or j.is_abandoned) limit 1;
  end if;
  if not found then
    select 'done' into v_state
    from {s}.done d cross join lateral array_position(d.id, p_job) p(place)
    where d.session = p_session and d.least_id <= p_job and d.greatest_id >= p_job and cardinality(d.task) = 0
      and d.fence[p.place] = p_fence and (v_is_open or d.is_abandoned[least(p.place, cardinality(d.is_abandoned))]) limit 1;
  end if;
  return v_state;
end $$;

-- Ends a job that was parked as lost by the end of its run, which went on (R4): it runs at most once, so that no other process
-- has run it. Returns its state; none if it was not parked so, or the run says nothing about it.
create function {s}.end_late(
  p_session uuid, p_job uuid, p_fence bigint, p_end text, p_error text, p_progress text, p_now timestamptz)
returns text language plpgsql volatile set {path} as $$
declare
  v {s}.job;
begin
  if p_end not in ('done', 'gone', 'cancelled', 'failed', 'park') then
    return null;
  end if;
  select * into v from {s}.job j
  where j.id = p_job and j.session = p_session and j.fence = p_fence and j.state = any(array['parked', '']) and j.is_abandoned
    and j.lost > 0
  for update;
  if not found then
    return null;
  end if;
  v.attempts := {s}.attempts_after(v, p_session, p_now, p_end, p_error);
  v.lost := 0;
  v.max_attempts := greatest(v.max_attempts - 1, 1);
  v.undecoded := 0;
  v.progress := coalesce(p_progress, v.progress);
  v.finished_at := p_now;
  v.error := case when p_end in ('done', 'gone') then null when p_end = 'cancelled' then v.error else p_error end;
  if p_end in ('done', 'gone', 'cancelled') then
    v.state := case p_end when 'gone' then 'done' else p_end end;
    perform {s}.keep_one(v, p_end = 'gone');
  else
    update {s}.job j set lost = 0, max_attempts = v.max_attempts, undecoded = 0, finished_at = v.finished_at, error = v.error,
      attempts = v.attempts, progress = v.progress
    where j.id = v.id;
  end if;
  return v.state;
end $$;

-- Ends claims. Returns a word for each: the state that was stored; the state that was stored before, after a `=`; `locked`; or
-- null if the job is no longer the session's. `p_least` and `p_greatest` are the bounds of the identities.
--
-- READ COMMITTED suffices: each statement names session, fence and state, and compares them again after it has waited for a row
-- (R4). No job stands in the batch twice. With `p_skip_locked` jobs and schedules that another transaction has locked are left
-- alone; without, a lock is an error after a moment.
create function {s}.finish(
  p_sessions uuid[], p_jobs uuid[], p_fences bigint[], p_ends text[], p_waits bigint[], p_errors text[], p_limits bigint[],
  p_least uuid, p_greatest uuid, p_skip_locked boolean, p_progress text[] default null)
returns text[] language plpgsql volatile {plans} set lock_timeout = '100ms' as $$
declare
  v_open uuid[] := array(select s.id from {s}.session s where s.id = any(p_sessions));
  v_schedules text[] := array(
    select distinct j.schedule from {s}.job j where j.id = any(p_jobs) and j.schedule is not null);
  v_held text[];
  v_locked uuid[] := '{}';
  v_now timestamptz;
  v_numbers bigint[];
  v_states text[];
  v_ended text[];
  v_parked text[];
  v_has_others boolean := exists (select from unnest(p_ends) w(word) where w.word not in ('done', 'gone'));
  v_ends {s}.run_end[];
  v_schedule text;
  v_late text;
  r record;
begin
  if p_skip_locked then
    v_held := {s}.lock_free_schedules(v_schedules);
    v_locked := array(select f.id from (
      select j.id, j.schedule from {s}.job j where j.id = any(p_jobs) order by j.id for update skip locked) f
      where f.schedule is null or f.schedule <> all(v_held));
    v_locked := array(select j.id from {s}.job j where j.id = any(p_jobs) and j.id <> all(v_locked));
  elsif cardinality(v_schedules) > 0 then
    perform {s}.lock_schedules(v_schedules);
  end if;
  if v_has_others then
    -- RACE: a job may be asked to stop between the two statements below.
    perform from {s}.job j where j.id = any(p_jobs) and j.id <> all(v_locked) order by j.id for update;
  end if;
  v_now := {clock};
  with f as materialized (
    select *, f.session = any(v_open) as is_open
    from unnest(p_sessions, p_jobs, p_fences, p_ends, p_errors, p_progress) with ordinality
      f(session, job, fence, word, end_error, progress, n)
    where f.job <> all(v_locked)),
  gone as (
    delete from {s}.job j using f
    where j.id = any(array[f.job]) and j.session = f.session and j.fence = f.fence and j.state = any(array['running', ''])
      and (f.is_open or j.is_abandoned)
      and (f.word in ('done', 'gone', 'cancelled') or (j.is_cancel_requested and f.word <> 'park'))
    returning f.n, j.id, j.session, {ended_columns}, f.word = 'gone' as is_gone,
      case when f.word in ('done', 'gone') then 'done' else 'cancelled' end as state,
      case when f.word in ('snooze', 'give_back', 'undecodable') then greatest(j.attempt - 1, 0) else j.attempt end as attempt,
      case when f.word = 'undecodable' then j.undecoded + 1 when f.word in ('give_back', 'lost') then j.undecoded else 0 end as undecoded,
      case when f.word = 'lost' then j.lost + 1 when f.word in ('give_back', 'undecodable') then j.lost else 0 end as lost,
      case f.word when 'lost' then least(j.max_attempts + 1, 4294967295) else j.max_attempts end as max_attempts,
      case when f.word in ('done', 'gone') then null when f.word in ('failed', 'undecodable') then f.end_error
        when f.word = 'lost' then {lost_error(j.attempt)} else j.error end as error,
      case when f.word in ('done', 'gone') then j.attempts
        else {s}.attempts_after(j, f.session, v_now, f.word, f.end_error) end as attempts,
      coalesce(f.progress, j.progress) as progress),
  freed as (
    delete from {s}.key k using gone g
    where g.key is not null and k.task = any(array[g.task]) and k.key = g.key and k.job = g.id and k.until is null),
  outlived as (
    update {s}.key k set has_ended = true from gone g
    where g.key is not null and k.task = any(array[g.task]) and k.key = g.key and k.job = g.id and k.until is not null),
  kept as (
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select v_now, j.session, p_least, p_greatest, {packed} from gone j where not j.is_gone group by j.session),
  remembered as (
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select v_now, j.session, p_least, p_greatest, {gone} from gone j where 'gone' = any(p_ends) and j.is_gone group by j.session)
  select array_agg(g.n), array_agg(g.state),
    array_agg(distinct g.schedule) filter (where g.schedule is not null),
    array_agg((g.n, g.task, g.schedule, g.state, g.started_at, g.error)::{s}.run_end)
      filter (where g.schedule is not null or v_has_others or g.task = any(array(select f.task from {s}.failing f)))
  into v_numbers, v_states, v_ended, v_ends from gone g;
  if cardinality(v_numbers) is distinct from cardinality(p_jobs) then
    with f as materialized (
      select * from unnest(p_sessions, p_jobs, p_fences, p_ends, p_waits, p_errors, p_limits, p_progress) with ordinality
        f(session, job, fence, word, wait, end_error, max, progress, n)
      where f.job <> all(v_locked) and f.word not in ('done', 'gone', 'cancelled')),
    again as (
      update {s}.job j set
        state = x.state,
        attempt = case when f.word in ('snooze', 'give_back', 'undecodable') then greatest(j.attempt - 1, 0) else j.attempt end,
        undecoded = case when f.word = 'undecodable' then j.undecoded + 1 when f.word in ('give_back', 'lost') then j.undecoded else 0 end,
        lost = case when f.word = 'lost' then j.lost + 1 when f.word in ('give_back', 'undecodable') then j.lost else 0 end,
        max_attempts = case f.word when 'lost' then least(j.max_attempts + 1, 4294967295) else j.max_attempts end,
        error = case when f.word in ('failed', 'park', 'undecodable') then f.end_error
          when f.word = 'lost' then {lost_error(j.attempt)} else j.error end,
        run_at = case when x.state = 'ready' and f.word <> 'give_back' and j.held_until is null then {after(v_now, f.wait)} else j.run_at end,
        held_until = case when x.state = 'ready' and f.word <> 'give_back' and j.held_until is not null then {after(v_now, f.wait)}
          else j.held_until end,
        finished_at = case when x.state = 'ready' then j.finished_at else v_now end,
        attempts = {attempts_after(j, f.session, v_now, f.word, f.end_error)},
        progress = coalesce(f.progress, j.progress),
        is_cancel_requested = false
      from f join {s}.job y on y.id = any(array[f.job])
      cross join lateral (
        select {end_state(f.word, y.attempt, y.max_attempts, y.undecoded, y.lost, y.is_abandoned, f.max)} as state) x
      where j.id = any(array[f.job]) and j.session = f.session and j.fence = f.fence and j.state = any(array['running', ''])
        and (f.session = any(v_open) or j.is_abandoned)
      returning f.n, j.id, j.state, j.task, j.key, j.schedule, j.started_at, j.error),
    freed as (
      delete from {s}.key k using again a
      where a.state = 'parked' and a.key is not null and k.task = any(array[a.task]) and k.key = a.key and k.job = a.id
        and k.until is null),
    outlived as (
      update {s}.key k set has_ended = true from again a
      where a.state = 'parked' and a.key is not null and k.task = any(array[a.task]) and k.key = a.key and k.job = a.id
        and k.until is not null)
    select v_numbers || array_agg(a.n), v_states || array_agg(a.state),
      array_agg(distinct a.schedule) filter (where a.state = 'parked' and a.schedule is not null),
      v_ends || array_agg((a.n, a.task, a.schedule, a.state, a.started_at, a.error)::{s}.run_end) filter (where a.state = 'parked')
    into v_numbers, v_states, v_parked, v_ends from again a;
  end if;
  if v_ends is not null then
    perform {s}.note_ends(v_ends, v_now);
  end if;
  foreach v_schedule in array coalesce(v_ended, '{}') || coalesce(v_parked, '{}') loop
    perform {s}.after_job(v_schedule, v_now);
  end loop;
  if cardinality(v_numbers) is distinct from cardinality(p_jobs) then
    for r in
      select * from unnest(p_sessions, p_jobs, p_fences, p_ends, p_errors, p_progress) with ordinality
        f(session, job, fence, word, end_error, progress, n)
      where f.n <> all(coalesce(v_numbers, '{}')) and f.job <> all(v_locked) order by f.job
    loop
      v_late := {s}.end_late(r.session, r.job, r.fence, r.word, r.end_error, r.progress, v_now);
      if v_late is not null then
        v_numbers := v_numbers || r.n;
        v_states := v_states || v_late;
      end if;
    end loop;
  end if;
  if cardinality(v_numbers) = cardinality(p_jobs) then
    return array(select u.state from unnest(v_numbers, v_states) u(n, state) order by u.n);
  end if;
  return array(
    select coalesce(u.state, case when f.job = any(v_locked) then 'locked' else '=' || {s}.end_before(f.session, f.job, f.fence) end)
    from unnest(p_sessions, p_jobs, p_fences) with ordinality f(session, job, fence, n)
    left join unnest(v_numbers, v_states) u(n, state) on u.n = f.n order by f.n);
end $$;

-- Keeps the sessions of `gone` for an hour, which a process of this name has found lost, or which were closed.
define keep_ended(at, found_by) as $$
insert into {s}.ended_session
    select g.*, {at}, {found_by}, (select count(*) from {s}.job j where j.state = 'running' and j.session = g.id)
    from gone g on conflict (id) do nothing
$$;

-- Gives back what the session holds: none of that began (R7).
create function {s}.close(p_session uuid, p_not_after timestamptz)
returns void language plpgsql volatile {plans} as $$
declare
  v_jobs uuid[];
  v_fences bigint[];
  v_count integer;
  v_now timestamptz;
begin
  v_now := {s}.in_time(p_not_after);
  select array_agg(j.id), array_agg(j.fence), count(*) into v_jobs, v_fences, v_count
  from {s}.job j where j.state = 'running' and j.session = p_session;
  if v_count > 0 then
    perform {s}.finish(
      array_fill(p_session, array[v_count]), v_jobs, v_fences, array_fill('give_back'::text, array[v_count]),
      array_fill(0::bigint, array[v_count]), array_fill(null::text, array[v_count]), array_fill(0::bigint, array[v_count]),
      '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', false);
    perform {nudge};
  end if;
  with gone as (delete from {s}.session s where s.id = p_session returning s.*)
  {keep_ended(v_now, null)};
end $$;

-- Ends sessions that were seen dead, and names the running jobs whose session is gone (R8, R9, R10).
create function {s}.reap_sessions(p_sessions uuid[], p_marks bigint[], p_found_by text, p_not_after timestamptz)
returns table (sessions uuid[], marks bigint[], jobs uuid[], job_sessions uuid[], fences bigint[], labels text[])
language plpgsql volatile {plans} as $$
declare
  v_now timestamptz := {s}.in_time(p_not_after);
  v_labels text[];
begin
  with gone as (
    delete from {s}.session s using unnest(p_sessions, p_marks) d(id, mark)
    where s.id = d.id and s.renewals = d.mark and s.lease_until <= v_now returning s.*),
  kept as (
    {keep_ended(v_now, p_found_by)})
  select array_agg(g.id), array_agg(g.renewals), array_agg(g.label) into sessions, marks, v_labels from gone g;
  select array_agg(j.id order by j.id), array_agg(j.session order by j.id), array_agg(j.fence order by j.id),
    array_agg(v_labels[array_position(sessions, j.session)] order by j.id)
  into jobs, job_sessions, fences, labels
  from {s}.job j
  where j.state = 'running' and not exists (select from {s}.session s where s.id = j.session);
  return next;
end $$;

-- Gives back the jobs that were named, up to the bytes that an answer carries. READ COMMITTED suffices: session and fence are compared again (R9). A later reap takes
-- the jobs that another transaction has locked.
create function {s}.reap_jobs(
  p_jobs uuid[], p_sessions uuid[], p_fences bigint[], p_waits bigint[], p_labels text[], p_max_lost bigint)
returns setof {s}.job language plpgsql volatile {plans} as $$
declare
  v_held text[] := {s}.lock_free_schedules(array(
    select distinct j.schedule from {s}.job j where j.id = any(p_jobs) and j.schedule is not null));
  v_now timestamptz := {clock};
  v_bytes bigint;
  v {s}.job;
  v_ends {s}.run_end[];
  r record;
begin
  for r in
    select * from unnest(p_jobs, p_sessions, p_fences, p_waits, p_labels) with ordinality u(job, session, fence, wait, label, n)
  loop
    select * into v from {s}.job j
    where j.id = r.job and j.state = any(array['running', '']) and j.session is not distinct from r.session and j.fence = r.fence
    for update skip locked;
    continue when not found or v.schedule = any(v_held);
    exit when v_bytes + octet_length(v.payload) > {claim_bytes_max};
    v_bytes := coalesce(v_bytes, 0) + octet_length(v.payload);
    v.state := case when v.is_cancel_requested then 'cancelled' when v.is_abandoned or v.lost + 1 >= p_max_lost then 'parked'
      else 'ready' end;
    v.error := {lost_error(v.attempt)};
    v.attempts := {with_attempt(v.attempts, v.attempt, v.started_at, v_now, 'lost', r.label, v.error)};
    v.lost := v.lost + 1;
    v.max_attempts := least(v.max_attempts + 1, 4294967295);
    if not v.is_abandoned then
      v.fence := nextval('{s}.fence');
      v.session := null;
    end if;
    v.is_cancel_requested := false;
    if v.state <> 'ready' then
      v.finished_at := v_now;
    elsif v.held_until is null then
      v.run_at := {after(v_now, r.wait)};
    else
      v.held_until := {after(v_now, r.wait)};
    end if;
    if v.state = 'cancelled' then
      perform {s}.keep_one(v);
    else
      update {s}.job j set state = v.state, error = v.error, lost = v.lost, max_attempts = v.max_attempts, fence = v.fence,
        session = v.session, is_cancel_requested = false, run_at = v.run_at, held_until = v.held_until, finished_at = v.finished_at, attempts = v.attempts
      where j.id = v.id;
      if v.state = 'parked' and v.key is not null then
        perform {s}.end_key(v.task, v.key, v.id);
      end if;
    end if;
    return next v;
    if v.state <> 'ready' then
      v_ends := v_ends || (r.n, v.task, v.schedule, v.state, v.started_at, v.error)::{s}.run_end;
    end if;
  end loop;
  if v_ends is not null then
    perform {s}.note_ends(v_ends, v_now);
    perform {s}.after_job(e.schedule, v_now) from unnest(v_ends) e where e.schedule is not null;
  end if;
end $$;

-- Opens a session, unless a newer library has changed the tables (R20); ends the one that it replaces. Returns a process of
-- another application, if all others are of other applications and have no task in common with this one.
create function {s}.open(
  p_id uuid, p_replaces uuid, p_label text, p_build text, p_application text, p_tasks text[], p_versions bigint[], p_queues text[],
  p_concurrency bigint, p_lease bigint, p_not_after timestamptz, p_reader integer)
returns table (now timestamptz, version integer, min_reader integer, other_application text, other_label text)
language plpgsql volatile {plans} as $$
#variable_conflict use_column
begin
  now := {s}.in_time(p_not_after);
  select meta.version, meta.min_reader into open.version, open.min_reader from {s}.meta;
  if open.min_reader <= p_reader then
    with gone as (delete from {s}.session s where s.id = p_replaces returning s.*)
    {keep_ended(open.now, p_label)};
    -- It is paused if the session was that it replaces.
    insert into {s}.session (id, label, build, application, tasks, versions, queues, concurrency, opened_at, lease_until, pause_since,
      pause_until, paused_by, pause_reason)
    select p_id, p_label, p_build, p_application, p_tasks, p_versions, p_queues, p_concurrency, open.now, {after(open.now, p_lease)},
      e.pause_since, e.pause_until, e.paused_by, e.pause_reason
    from (select p_replaces as id) r left join {s}.ended_session e on e.id = r.id on conflict (id) do nothing;
    if cardinality(p_tasks) > 0 and not exists (
      select from {s}.session s where s.id <> p_id and s.lease_until > open.now
        and (s.application = p_application or s.tasks && p_tasks))
    then
      select s.application, s.label into other_application, other_label from {s}.session s
      where s.id <> p_id and s.lease_until > open.now and cardinality(s.tasks) > 0 order by s.id limit 1;
    end if;
  end if;
  return next;
end $$;
