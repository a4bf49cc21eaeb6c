-- A poll: repairs, claims, what is due. The last row is the answer, those before it are the claimed jobs, as they were taken.

-- Which jobs a poll may take: how many of each task, priority and kind (0 plain, +1 not twice, +2 lost before). It locks
-- nothing. It is asked only if jobs of several tasks, or special ones, are due: then what is taken of one follows from the
-- others.
create function {s}.shares(
  p_now timestamptz, p_tasks text[], p_rooms bigint[], p_queues text[], p_limit bigint, p_abandon bigint, p_lost bigint)
returns integer[] language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_shares integer[] := array_fill(0, array[16 * cardinality(p_tasks)]);
  v_left bigint[] := p_rooms;
  r record;
  v_at integer;
begin
  for r in
    select c.n, c.priority, c.kind from (
      select u.n, b.priority, 0 as kind, x.run_at, x.id
      from unnest(p_tasks, p_rooms) with ordinality u(task, room, n)
      cross join (values (3::smallint), (2::smallint), (1::smallint), (0::smallint)) b(priority)
      cross join lateral (
        select j.run_at, j.id from {s}.job j
        where j.state = 'ready' and j.lost = 0 and not j.is_abandoned
          and j.task = u.task and j.priority = b.priority and j.run_at <= p_now
          and (p_queues is null or j.queue = any(p_queues))
        order by j.run_at, j.id limit least(u.room, p_limit)) x
      union all
      select u.n, b.priority, k.kind, x.run_at, x.id
      from unnest(p_tasks, p_rooms) with ordinality u(task, room, n)
      cross join (values (3::smallint), (2::smallint), (1::smallint), (0::smallint)) b(priority)
      cross join (values (1), (2), (3)) k(kind)
      cross join lateral (
        select j.run_at, j.id from {s}.job j
        where j.state = 'ready' and (j.lost > 0 or j.is_abandoned)
          and j.is_abandoned = (k.kind in (1, 3)) and (j.lost > 0) = (k.kind in (2, 3))
          and j.task = u.task and j.priority = b.priority and j.run_at <= p_now
          and (p_queues is null or j.queue = any(p_queues))
        order by j.run_at, j.id
        limit least(u.room, p_limit, case when k.kind in (1, 3) then p_abandon end,
          case when k.kind in (2, 3) then p_lost end)) x
    ) c order by c.priority desc, c.run_at, c.id
  loop
    exit when p_limit <= 0;
    continue when v_left[r.n] <= 0 or (r.kind in (1, 3) and p_abandon <= 0) or (r.kind in (2, 3) and p_lost <= 0);
    v_left[r.n] := v_left[r.n] - 1;
    p_limit := p_limit - 1;
    p_abandon := p_abandon - case when r.kind in (1, 3) then 1 else 0 end;
    p_lost := p_lost - case when r.kind in (2, 3) then 1 else 0 end;
    v_at := ((r.n - 1) * 4 + r.priority) * 4 + r.kind + 1;
    v_shares[v_at] := v_shares[v_at] + 1;
  end loop;
  return v_shares;
end $$;

-- Claims. READ COMMITTED suffices: a row is locked before it is changed, and one that another has locked is passed over, so
-- that it is still ready when it is changed. The session is read without a lock: a claim that is committed into a session
-- which ends meanwhile is found by the next reap (R10).
create function {s}.claim(
  p_session uuid, p_now timestamptz, p_tasks text[], p_rooms bigint[], p_queues text[], p_limit bigint, p_abandon bigint,
  p_lost bigint)
returns setof {s}.job language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_active bigint[];
  v_shares integer[];
  v_is_special boolean;
begin
  v_is_special := exists (
    select from {s}.job j where j.state = 'ready' and (j.lost > 0 or j.is_abandoned)
      and j.task = any(p_tasks) and j.run_at <= p_now);
  v_active := array(
    select u.n from unnest(p_tasks, p_rooms) with ordinality u(task, room, n)
    where u.room > 0 and exists (
      select from (values (3::smallint), (2::smallint), (1::smallint), (0::smallint)) b(priority)
      cross join lateral (
        select from {s}.job j
        where j.state = 'ready' and j.lost = 0 and not j.is_abandoned
          and j.task = u.task and j.priority = b.priority and j.run_at <= p_now
        limit 1) x));
  if cardinality(v_active) = 1 and not v_is_special then
    return query
    with chosen as materialized (
      select x.id, nextval('{s}.fence') as fence from (
        select y.id from (values (3::smallint), (2::smallint), (1::smallint), (0::smallint)) b(priority)
        cross join lateral (
          select j.id from {s}.job j
          where j.state = 'ready' and j.lost = 0 and not j.is_abandoned
            and j.task = p_tasks[v_active[1]] and j.priority = b.priority and j.run_at <= p_now
            and (p_queues is null or j.queue = any(p_queues))
          order by j.run_at, j.id limit p_limit for update skip locked) y
        limit least(p_limit, p_rooms[v_active[1]])) x),
    claimed as (
      update {s}.job j set state = 'running', session = p_session, fence = c.fence, attempt = j.attempt + 1,
        started_at = p_now, key = case when j.is_key_until_start then null else j.key end
      from chosen c where j.id = c.id returning j.*)
    select * from claimed c order by c.fence;
  elsif cardinality(v_active) > 0 or v_is_special then
    v_shares := {s}.shares(p_now, p_tasks, p_rooms, p_queues, p_limit, p_abandon, p_lost);
    return query
    with share as (
      select p_tasks[(s.n - 1) / 16 + 1] as task, ((s.n - 1) / 4 % 4)::smallint as priority, (s.n - 1) % 4 as kind, s.size
      from unnest(v_shares) with ordinality s(size, n) where s.size > 0),
    chosen as materialized (
      select y.id, nextval('{s}.fence') as fence from (
        select x.* from (
          select z.* from share s cross join lateral (
            select j.id, j.priority, j.run_at from {s}.job j
            where j.state = 'ready' and j.lost = 0 and not j.is_abandoned
              and j.task = s.task and j.priority = s.priority and j.run_at <= p_now
              and (p_queues is null or j.queue = any(p_queues))
            order by j.run_at, j.id limit s.size for update skip locked) z
          where s.kind = 0
          union all
          select z.* from share s cross join lateral (
            select j.id, j.priority, j.run_at from {s}.job j
            where j.state = 'ready' and (j.lost > 0 or j.is_abandoned)
              and j.is_abandoned = (s.kind in (1, 3)) and (j.lost > 0) = (s.kind in (2, 3))
              and j.task = s.task and j.priority = s.priority and j.run_at <= p_now
              and (p_queues is null or j.queue = any(p_queues))
            order by j.run_at, j.id limit s.size for update skip locked) z
          where s.kind > 0) x
        order by x.priority desc, x.run_at, x.id) y),
    claimed as (
      update {s}.job j set state = 'running', session = p_session, fence = c.fence, attempt = j.attempt + 1,
        started_at = p_now, key = case when j.is_key_until_start then null else j.key end
      from chosen c where j.id = c.id returning j.*)
    select * from claimed c order by c.fence;
  end if;
end $$;

create function {s}.next_job(p_now timestamptz, p_tasks text[], p_queues text[])
returns timestamptz language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return least(
    (select min(x.run_at) from unnest(p_tasks) u(task)
     cross join (values (3::smallint), (2::smallint), (1::smallint), (0::smallint)) b(priority)
     cross join lateral (
       select j.run_at from {s}.job j
       where j.state = 'ready' and j.lost = 0 and not j.is_abandoned
         and j.task = u.task and j.priority = b.priority and j.run_at > p_now
         and (p_queues is null or j.queue = any(p_queues))
       order by j.run_at limit 1) x),
    (select min(j.run_at) from {s}.job j
     where j.state = 'ready' and (j.lost > 0 or j.is_abandoned)
       and j.task = any(p_tasks) and j.run_at > p_now and (p_queues is null or j.queue = any(p_queues))));
end $$;

create function {s}.poll(
  p_session uuid, p_tasks text[], p_rooms bigint[], p_queues text[], p_limit bigint, p_abandon bigint, p_lost bigint,
  p_not_after timestamptz, p_is_relaxed boolean, p_with_leases boolean)
returns table (
  is_answer boolean, now timestamptz, is_alive boolean, due text[], next_job timestamptz, next_tick timestamptz,
  cancel_jobs uuid[], cancel_fences bigint[], leases uuid[], marks bigint[], are_over boolean[], {job_types})
language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_schedule text;
  v_has_abandoned boolean := false;
begin
  now := {s}.in_time(p_not_after);
  is_alive := exists (select from {s}.session where session.id = p_session and lease_until > poll.now);
  is_answer := false;
  if p_with_leases then
    select array_agg(id order by id), array_agg(renewals order by id), array_agg(lease_until <= poll.now order by id)
    into leases, marks, are_over from {s}.session where id <> p_session;
  end if;
  if is_alive then
    for v_schedule in
      select name from {s}.schedule where waiting_id is not null or next_kind = 'job' order by name
    loop
      if not {s}.is_busy(v_schedule) then
        perform {s}.after_job(v_schedule, poll.now);
      end if;
    end loop;
    if p_limit > 0 then
      return query
      select false, null::timestamptz, null::boolean, null::text[], null::timestamptz, null::timestamptz, null::uuid[],
        null::bigint[], null::uuid[], null::bigint[], null::boolean[], {job_columns}
      from {s}.claim(p_session, poll.now, p_tasks, p_rooms, p_queues, p_limit, p_abandon, p_lost) job;
      -- A claim that a crash of the server may undo is one that may run twice.
      if found and p_is_relaxed and not exists (
        select from {s}.job where session = p_session and state = 'running' and is_abandoned and started_at = poll.now)
      then
        perform set_config('synchronous_commit', 'off', true);
      end if;
    end if;
    select array_agg(name order by name) filter (where decide_at <= poll.now), min(decide_at) filter (where decide_at > poll.now)
    into due, next_tick
    from {s}.schedule where schedule.task = any(p_tasks) and decide_at is not null;
    next_job := {s}.next_job(poll.now, p_tasks, p_queues);
    select array_agg(j.id order by j.id), array_agg(j.fence order by j.id) into cancel_jobs, cancel_fences
    from {s}.job j where j.session = p_session and j.state = 'running' and j.is_cancel_requested;
  end if;
  is_answer := true;
  return next;
end $$;
