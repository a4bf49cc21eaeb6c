-- A poll: repairs, claims, what is due. The last row is the answer, those before it are the claimed jobs, as they were taken.

-- A poll takes jobs from lines, each of which is a range of one index: the jobs of one task, priority and kind (0 plain, +1 not
-- twice, +2 lost before), of one queue, or of all if the queue is null. `{plain}` and the like are the conditions of such a range.
create function {s}.lines(p_tasks text[], p_queues text[])
returns table (n bigint, task text, queue text, priority smallint) language sql stable as $$
  select u.n, u.task, q.queue, b.priority
  from unnest(p_tasks) with ordinality u(task, n)
  cross join unnest(coalesce(p_queues, array[null::text])) q(queue)
  cross join unnest(array[3, 2, 1, 0]::smallint[]) b(priority)
$$;

-- The tasks that have jobs which are not plain. Most have none.
create function {s}.special_tasks(p_tasks text[]) returns setof text language sql stable as $$
  select u.task from unnest(p_tasks) u(task)
  where (select true from {s}.job j where j.state = 'ready' and (j.lost >= 1 or j.is_abandoned) and j.task = u.task limit 1)
$$;

-- How many jobs a poll may take from each of these lines. It locks nothing. It is asked only if there are several tasks, queues
-- or kinds: then what is taken from one follows from the others. Of each line it reads about twice its part of the limit, and
-- more if all that was read of a line would be taken: as long as that is not so, what was not read changes nothing.
create function {s}.shares(
  p_now timestamptz, p_tasks text[], p_rooms bigint[], p_ns bigint[], p_queues text[], p_priorities smallint[], p_kinds integer[],
  p_limit bigint, p_abandon bigint, p_lost bigint)
returns integer[] language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_size bigint := 2 * p_limit / cardinality(p_ns) + 1;
  v_shares integer[];
  v_rooms bigint[];
  v_limit bigint;
  v_abandon bigint;
  v_lost bigint;
  r record;
begin
  loop
    v_shares := array_fill(0, array[cardinality(p_ns)]);
    v_rooms := p_rooms;
    v_limit := p_limit;
    v_abandon := p_abandon;
    v_lost := p_lost;
    for r in
      select l.line, l.n, l.kind
      from (
        select u.*, p_tasks[u.n] as task, least(v_size, p_rooms[u.n], p_limit, case when u.kind in (1, 3) then p_abandon end,
          case when u.kind in (2, 3) then p_lost end) as size
        from unnest(p_ns, p_queues, p_priorities, p_kinds) with ordinality u(n, queue, priority, kind, line)) l
      cross join lateral (
        (select j.run_at, j.id from {s}.job j where l.kind = 0 and l.queue is null and {plain} and j.run_at <= p_now
         order by j.run_at, j.id limit l.size)
        union all
        (select j.run_at, j.id from {s}.job j where l.kind = 0 and {plain_of_queue} and j.run_at <= p_now
         order by j.run_at, j.id limit l.size)
        union all
        (select j.run_at, j.id from {s}.job j where l.kind > 0 and l.queue is null and {special} and j.run_at <= p_now
         order by j.run_at, j.id limit l.size)
        union all
        (select j.run_at, j.id from {s}.job j where l.kind > 0 and {special_of_queue} and j.run_at <= p_now
         order by j.run_at, j.id limit l.size)) x
      order by l.priority desc, x.run_at, x.id
    loop
      exit when v_limit <= 0;
      continue when v_rooms[r.n] <= 0 or (r.kind in (1, 3) and v_abandon <= 0) or (r.kind in (2, 3) and v_lost <= 0);
      v_rooms[r.n] := v_rooms[r.n] - 1;
      v_limit := v_limit - 1;
      v_abandon := v_abandon - case when r.kind in (1, 3) then 1 else 0 end;
      v_lost := v_lost - case when r.kind in (2, 3) then 1 else 0 end;
      v_shares[r.line] := v_shares[r.line] + 1;
    end loop;
    exit when v_size >= p_limit or v_size > all(v_shares);
    v_size := 4 * v_size;
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
  v_ns bigint[];
  v_queues text[];
  v_priorities smallint[];
  v_kinds integer[];
  v_is_one boolean;
  v_special text[];
  v_limit bigint;
  v_shares integer[];
begin
  -- The lines in which something is due.
  select array_agg(d.n), array_agg(d.queue), array_agg(d.priority), array_agg(0),
    min(d.n) = max(d.n) and min(d.queue) is not distinct from max(d.queue)
  into v_ns, v_queues, v_priorities, v_kinds, v_is_one
  from (
    select l.* from {s}.lines(p_tasks, p_queues) l
    where p_rooms[l.n] > 0 and case when l.queue is null
      then (select true from {s}.job j where {plain} and j.run_at <= p_now order by j.run_at limit 1)
      else (select true from {s}.job j where {plain_of_queue} and j.run_at <= p_now order by j.run_at limit 1) end
    order by l.priority desc) d;
  v_special := array(select * from {s}.special_tasks(p_tasks));
  if v_special <> '{}' then
    select v_ns || array_agg(l.n), v_queues || array_agg(l.queue), v_priorities || array_agg(l.priority),
      v_kinds || array_agg(l.kind), v_is_one and count(*) = 0
    into v_ns, v_queues, v_priorities, v_kinds, v_is_one
    from (
      select array_position(p_tasks, t.task)::bigint as n, t.task, t.queue, t.priority, k.kind
      from {s}.lines(v_special, p_queues) t cross join generate_series(1, 3) k(kind)) l
    where p_rooms[l.n] > 0 and (p_abandon > 0 or l.kind = 2) and (p_lost > 0 or l.kind = 1) and case when l.queue is null
      then (select true from {s}.job j where {special} and j.run_at <= p_now order by j.run_at limit 1)
      else (select true from {s}.job j where {special_of_queue} and j.run_at <= p_now order by j.run_at limit 1) end;
  end if;
  if v_is_one then
    v_limit := least(p_limit, p_rooms[v_ns[1]]);
    return query
    with chosen as materialized (
      select x.id, nextval('{s}.fence') as fence from (
        select y.id
        from (select p_tasks[v_ns[1]] as task, v_queues[1] as queue, u.priority from unnest(v_priorities) u(priority)) l
        cross join lateral (
          (select z.* from (
             select j.id from {s}.job j
             where l.queue is null and {plain} and j.run_at <= p_now
             order by j.run_at, j.id limit v_limit for update skip locked) z)
          union all
          (select z.* from (
             select j.id from {s}.job j
             where {plain_of_queue} and j.run_at <= p_now
             order by j.run_at, j.id limit v_limit for update skip locked) z)) y
        limit v_limit) x),
    claimed as (
      update {s}.job j set state = 'running', session = p_session, fence = c.fence, attempt = j.attempt + 1,
        started_at = p_now, key = case when j.is_key_until_start then null else j.key end
      from chosen c where j.id = c.id returning j.*)
    select * from claimed c order by c.fence;
  elsif v_ns is not null then
    v_shares := {s}.shares(p_now, p_tasks, p_rooms, v_ns, v_queues, v_priorities, v_kinds, p_limit, p_abandon, p_lost);
    return query
    with chosen as materialized (
      select y.id, nextval('{s}.fence') as fence from (
        select x.*
        from (
          select u.*, p_tasks[u.n] as task from unnest(v_ns, v_queues, v_priorities, v_kinds, v_shares)
            u(n, queue, priority, kind, size) where u.size > 0) l
        cross join lateral (
          (select z.* from (
             select j.id, j.priority, j.run_at from {s}.job j
             where l.kind = 0 and l.queue is null and {plain} and j.run_at <= p_now
             order by j.run_at, j.id limit l.size for update skip locked) z)
          union all
          (select z.* from (
             select j.id, j.priority, j.run_at from {s}.job j
             where l.kind = 0 and {plain_of_queue} and j.run_at <= p_now
             order by j.run_at, j.id limit l.size for update skip locked) z)
          union all
          (select z.* from (
             select j.id, j.priority, j.run_at from {s}.job j
             where l.kind > 0 and l.queue is null and {special} and j.run_at <= p_now
             order by j.run_at, j.id limit l.size for update skip locked) z)
          union all
          (select z.* from (
             select j.id, j.priority, j.run_at from {s}.job j
             where l.kind > 0 and {special_of_queue} and j.run_at <= p_now
             order by j.run_at, j.id limit l.size for update skip locked) z)) x
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
declare
  v_next timestamptz;
  v_special text[];
begin
  v_next := (
    select min(case when l.queue is null
      then (select j.run_at from {s}.job j where {plain} and j.run_at > p_now order by j.run_at limit 1)
      else (select j.run_at from {s}.job j where {plain_of_queue} and j.run_at > p_now order by j.run_at limit 1) end)
    from {s}.lines(p_tasks, p_queues) l);
  v_special := array(select * from {s}.special_tasks(p_tasks));
  if v_special <> '{}' then
    v_next := least(v_next, (
      select min(case when l.queue is null
        then (select j.run_at from {s}.job j where {special} and j.run_at > p_now order by j.run_at limit 1)
        else (select j.run_at from {s}.job j where {special_of_queue} and j.run_at > p_now order by j.run_at limit 1) end)
      from (select t.*, k.kind from {s}.lines(v_special, p_queues) t cross join generate_series(1, 3) k(kind)) l));
  end if;
  return v_next;
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
    if p_limit > 0 and p_queues is distinct from '{}' then
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
    if p_queues is distinct from '{}' then
      next_job := {s}.next_job(poll.now, p_tasks, p_queues);
    end if;
    select array_agg(j.id order by j.id), array_agg(j.fence order by j.id) into cancel_jobs, cancel_fences
    from {s}.job j where j.session = p_session and j.state = 'running' and j.is_cancel_requested;
  end if;
  is_answer := true;
  return next;
end $$;
