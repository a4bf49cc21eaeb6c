-- A poll: repairs, claims, and what is due. The last row is the answer, those before it are the claimed jobs, to be put in the
-- order of their fences.

-- The lines that have jobs of these tasks in these queues, both in their order, and those of others that the walk has met. Each step
-- of the loop finds the first job after a line; beside what is not asked for, the first one of the next task or queue that is.
define lines(tasks, queues) as $$
array(
          with recursive l as (
            (select j.queue, j.task, j.priority, j.kind, j.run_at, j.id from {s}.job j
             where j.state = 'ready' and j.task >= ({tasks})[1]
             order by j.task, j.queue, j.priority, j.kind, j.run_at, j.id limit 1)
            union all
            select n.* from l cross join lateral (
              select width_bucket(l.task, {tasks}) as task, case when {queues} is null then 1 else width_bucket(l.queue, {queues}) end as queue) w
            cross join lateral (
              select ({tasks})[w.task] = l.task as is_task, {queues} is null or ({queues})[w.queue] = l.queue as is_queue,
                ({queues})[w.queue + 1] as next_queue) k
            cross join lateral (
              select a.* from (values
                (1, l.task, l.queue, l.priority, l.kind),
                (2, l.task, k.next_queue, -1::smallint, 0::bigint),
                (3, ({tasks})[w.task + 1], '', -1::smallint, 0::bigint)) a(n, task, queue, priority, kind)
              where a.n = case when not k.is_task then 3 when k.is_queue then 1 when k.next_queue is not null then 2 else 3 end) a
            cross join lateral (
              select j.queue, j.task, j.priority, j.kind, j.run_at, j.id from {s}.job j
              where j.state = 'ready' and (j.task, j.queue, j.priority, j.kind) > (a.task, a.queue, a.priority, a.kind)
              order by j.task, j.queue, j.priority, j.kind, j.run_at, j.id limit 1) n)
          select row(l.queue, l.task, l.priority, l.kind, l.run_at, l.id)::{s}.line from l)
$$;

-- The entries of the index of ready jobs that this transaction has read. A page, which may hold dead entries alone, counts as five.
define ready_reads() as $$
(pg_stat_get_xact_tuples_returned('{s}.job_ready'::regclass) + 5 * pg_stat_get_xact_blocks_fetched('{s}.job_ready'::regclass))
$$;

-- Those of known lines that have jobs. An older snapshot makes each walk over the index meet the entries of all jobs that have
-- left it since; these begin where the last poll found the first job.
create function {s}.lines_since(p_now timestamptz, p_lines {s}.line[]) returns setof {s}.line
language plpgsql volatile set {path} as $$
begin
  return query
  select l.queue, l.task, l.priority, l.kind, x.run_at, x.id
  from unnest(p_lines) l cross join lateral (select least(l.from_at, p_now - '1 second'::interval) as at) b cross join lateral (
    select j.run_at, j.id from {s}.job j
    where j.state = 'ready' and j.queue = l.queue and j.task = l.task and j.priority = l.priority and j.kind = l.kind
      and (j.run_at, j.id) >= (b.at, case when b.at = l.from_at then l.from_id else '00000000-0000-0000-0000-000000000000' end)
    order by j.run_at, j.id limit 1) x;
end $$;

-- The lines for the next poll: those that were found, and those that were known, from a second ago on at the latest. One that was
-- found later may have got a job by a transaction that began a moment ago.
define lines_left(now, known, found) as $$
array(
        select distinct on (k.queue, k.task, k.priority, k.kind)
          row(k.queue, k.task, k.priority, k.kind, b.at,
            case when b.at = k.from_at then k.from_id else '00000000-0000-0000-0000-000000000000' end)::{s}.line
        from (select f.* from unnest({found}) f
          union all select k.queue, k.task, k.priority, k.kind, {now}, k.from_id from unnest({known}) k) k
        cross join lateral (select least(k.from_at, {now} - '1 second'::interval) as at) b
        order by k.queue, k.task, k.priority, k.kind, b.at, b.at = k.from_at)
$$;

-- Waits for a pause that is being made, but for no transaction that is left open after one.
create function {s}.await_pause() returns void language plpgsql volatile set {path} set lock_timeout = '100ms' as $$
begin
  perform pg_catalog.pg_advisory_xact_lock_shared(hashtextextended('pauses of {s}', 0));
exception when lock_not_available then
  null;
end $$;

-- The pauses of jobs that hold. A pause that is not among them is committed after what the same transaction claims (R21).
define read_pauses(now, tasks, queues, until) as $$
if not pg_try_advisory_xact_lock_shared(hashtextextended('pauses of {s}', 0)) then
    perform {s}.await_pause();
  end if;
  select coalesce(array_agg(p.name order by p.name) filter (where p.scope = 'task'), '{}'),
    coalesce(array_agg(p.name order by p.name) filter (where p.scope = 'queue'), '{}'), min(p.until)
  into {tasks}, {queues}, {until} from {s}.pause p
  where p.scope = any(array['task', 'queue']) and (p.until is null or p.until > {now});
$$;

create function {s}.pauses(
  p_now timestamptz, out tasks text[], out queues text[], out until timestamptz)
language plpgsql volatile set {path} as $$
begin
  {read_pauses(p_now, tasks, queues, until)}
end $$;

-- The number of jobs that a poll may take of each of several lines, as `Poll::choose` of the library counts them. It
-- locks nothing.
create function {s}.shares(
  p_now timestamptz, p_lines {s}.line[], p_sizes bigint[], p_rooms bigint[], p_limit bigint, p_abandon bigint, p_lost bigint, p_long bigint)
returns bigint[] language plpgsql volatile set {path} as $$
begin
  return (
    with due as (
      select l.n as line, l.task, l.priority, l.kind, l.room, x.run_at, x.id
      from (select l.*, p_sizes[l.n] as size, p_rooms[l.n] as room
        from unnest(p_lines) with ordinality l(queue, task, priority, kind, from_at, from_id, n)) l
      cross join lateral (
        select j.run_at, j.id from {s}.job j
        where j.state = 'ready' and j.queue = l.queue and j.task = l.task and j.priority = l.priority and j.kind = l.kind
          and (j.run_at, j.id) >= (l.from_at, l.from_id) and j.run_at <= p_now
        order by j.run_at, j.id limit l.size) x),
    by_kind as (
      select d.*, count(*) filter (where d.kind & 1 > 0) over o as abandoned, count(*) filter (where d.kind & 2 > 0) over o as lost,
        count(*) filter (where d.kind & 4 > 0) over o as long
      from due d window o as (order by d.priority desc, d.run_at, d.id)),
    by_task as (
      select k.*, row_number() over (partition by k.task order by k.priority desc, k.run_at, k.id) as n
      from by_kind k
      where (k.kind & 1 = 0 or k.abandoned <= p_abandon) and (k.kind & 2 = 0 or k.lost <= p_lost) and (k.kind & 4 = 0 or k.long <= p_long)),
    chosen as (
      select t.line from by_task t where t.n <= t.room order by t.priority desc, t.run_at, t.id limit p_limit)
    select array_agg(coalesce(c.size, 0) order by n.line)
    from generate_subscripts(p_lines, 1) n(line)
    left join (select line, count(*) as size from chosen group by line) c on c.line = n.line);
end $$;

-- Claims the first jobs of each line that no other transaction has locked, within the bytes that an answer may carry.
--
-- READ COMMITTED suffices: a row is locked before it is changed, and is still ready then. The session is read without a lock:
-- a claim that is committed into a session which ends meanwhile is found by the next reap (R10).
create function {s}.claim(
  p_session uuid, p_now timestamptz, p_lines {s}.line[], p_tasks text[], p_rooms bigint[], p_limit bigint, p_abandon bigint,
  p_lost bigint, p_long bigint, p_bytes bigint)
returns setof {s}.job language plpgsql volatile set {path} as $$
declare
  v_rooms bigint[] := array(
    select p_rooms[array_position(p_tasks, l.task)]
    from unnest(p_lines) with ordinality l(queue, task, priority, kind, from_at, from_id, n) order by l.n);
  v_sizes bigint[] := array(
    select least(p_limit, v_rooms[l.n], case when l.kind & 1 > 0 then p_abandon end, case when l.kind & 2 > 0 then p_lost end,
      case when l.kind & 4 > 0 then p_long end)
    from unnest(p_lines) with ordinality l(queue, task, priority, kind, from_at, from_id, n) order by l.n);
begin
  if cardinality(p_lines) > 1 then
    v_sizes := {s}.shares(p_now, p_lines, v_sizes, v_rooms, p_limit, p_abandon, p_lost, p_long);
  end if;
  return query
  with chosen as materialized (
    select y.*, sum(y.bytes) over (order by y.priority desc, y.run_at, y.id) as total
    from (
      select l.task, l.kind, x.* from unnest(p_lines) with ordinality l(queue, task, priority, kind, from_at, from_id, n)
      cross join lateral (
        select j.id, j.priority, j.run_at, case when l.kind & 4 = 0 then octet_length(j.payload) else 0 end as bytes, case when j.is_key_until_start then j.key end as key
        from {s}.job j
        where j.state = 'ready' and j.queue = l.queue and j.task = l.task and j.priority = l.priority and j.kind = l.kind
          and (j.run_at, j.id) >= (l.from_at, l.from_id) and j.run_at <= p_now and {not_expired(p_now)}
        order by j.run_at, j.id limit v_sizes[l.n] for update skip locked) x) y),
  fenced as materialized (
    select o.*, nextval('{s}.fence') as fence from (
      select c.id, c.task, c.key from chosen c where c.total <= p_bytes or c.kind & 4 > 0
      order by c.priority desc, c.run_at, c.id) o),
  {take_fenced(p_session, p_now, j.held_until)};
end $$;

-- Cancels jobs that no process has taken by their time, the earliest first, within the bytes of a claim. One that another transaction has
-- locked is left to the next poll.
create function {s}.expire(p_now timestamptz, out tasks text[], out counts bigint[], out is_partial boolean)
language plpgsql volatile set {path} as $$
begin
  with over as materialized (
    select x.id, row_number() over o as n, sum(x.bytes) over o as total
    from (
      select j.id, j.expires_at, octet_length(j.payload) as bytes from {s}.job j
      where j.state = 'ready' and j.started_at is null and j.expires_at <= p_now
      order by j.expires_at, j.id limit {expired_max} + 1 for update skip locked) x
    window o as (order by x.expires_at, x.id)),
  gone as (
    delete from {s}.job j using over
    where j.id = any(array[over.id]) and over.n <= {expired_max} and (over.n = 1 or over.total <= {claim_bytes_max})
    returning j.id, j.session, {ended_columns}, 'cancelled' as state, j.attempt, j.undecoded, j.lost, j.max_attempts,
      '{expired}' as error, j.attempts, j.progress),
  freed as (
    delete from {s}.key k using gone g
    where g.key is not null and k.task = any(array[g.task]) and k.key = g.key and k.job = g.id and k.until is null),
  outlived as (
    update {s}.key k set has_ended = true from gone g
    where g.key is not null and k.task = any(array[g.task]) and k.key = g.key and k.job = g.id and k.until is not null),
  kept as (
    insert into {s}.done (ended_at, session, least_id, greatest_id, id, {done_names_plain})
    select p_now, j.session, min(j.id::text)::uuid, max(j.id::text)::uuid, {packed} from gone j group by j.session),
  by_task as (select g.task, count(*) as n from gone g group by g.task)
  select array_agg(t.task order by t.task), array_agg(t.n order by t.task), coalesce(sum(t.n), 0) < (select count(*) from over)
  into tasks, counts, is_partial from by_task t;
end $$;

-- A job that may be claimed although an expiry was not decided for it: it was locked then.
define not_expired(now) as $$
(j.expires_at is null or j.started_at is not null or j.expires_at > {now})
$$;

define next_job(now, lines) as $$
(
        select min((
          select j.run_at from {s}.job j
          where j.state = 'ready' and j.queue = l.queue and j.task = l.task and j.priority = l.priority and j.kind = l.kind
            and j.run_at > {now}
          order by j.run_at limit 1))
        from unnest({lines}) l)
$$;

-- A claimed job, as a row of the answer to a poll.
define claimed_job() as $$
false, null::timestamptz, null::boolean, null::text[], null::timestamptz, null::timestamptz, null::uuid[], null::bigint[],
        null::uuid[], null::bigint[], null::boolean[], null::text, null::text[], null::text[], null::boolean, null::text, null::boolean, null::boolean,
        null::text[], null::bigint[], {job_columns}
$$;

create function {s}.poll(
  p_session uuid, p_tasks text[], p_rooms bigint[], p_versions bigint[], p_queues text[], p_limit bigint, p_abandon bigint, p_lost bigint,
  p_not_after timestamptz, p_is_relaxed boolean, p_with_leases boolean, p_walk text default null, p_may_walk boolean default true,
  p_turns text default null)
returns table (
  is_answer boolean, now timestamptz, is_alive boolean, due text[], next_job timestamptz, next_tick timestamptz,
  cancel_jobs uuid[], cancel_fences bigint[], leases uuid[], marks bigint[], are_over boolean[], walk text,
  paused_tasks text[], paused_queues text[], is_paused boolean, turns text, is_partial boolean, is_full boolean,
  expired_tasks text[], expired_counts bigint[], {job_types})
language plpgsql volatile {plans} as $$
#variable_conflict use_column
declare
  v_schedule text;
  v_lines {s}.line[];
  v_due {s}.line[];
  v_walk {s}.walk := p_walk::{s}.walk;
  v_read bigint;
  v_groups {s}.turn[];
  v_turns {s}.turn[] := p_turns::{s}.turn[];
  v_limited text[];
  v_task integer;
  v_long bigint := 1;
  v_bytes bigint := {claim_bytes_max};
  g {s}.turn;
  c record;
  b record;
  v_resumed timestamptz;
  v_tasks text[] := array(select t.task from unnest(p_tasks) t(task) order by t.task collate "C");
  v_queues text[] := case when p_queues is not null then
    array(select q.queue from unnest(p_queues) q(queue) order by q.queue collate "C") end;
begin
  {read_clock(now, p_not_after)}
  select true, coalesce(pause_since is not null and (pause_until is null or pause_until > poll.now), false) into is_alive, is_paused
  from {s}.session where session.id = p_session and lease_until > poll.now;
  is_alive := found;
  select false, false, false, p_turns into is_answer, is_partial, is_full, turns;
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
    b := {s}.expire(poll.now);
    select b.tasks, b.counts, b.is_partial into expired_tasks, expired_counts, is_partial;
    -- No job is claimed while one is left that has expired.
    if is_partial then
      p_limit := 0;
    end if;
    {read_pauses(poll.now, paused_tasks, paused_queues, v_resumed)}
    if p_queues is distinct from '{}' then
      if v_walk.lines is not null and (not p_may_walk or poll.now between v_walk.until - '1 minute'::interval and v_walk.until) then
        -- Jobs come into their lanes late, so that the first one of a line says nothing about those.
        v_lines := array(select l from {s}.lines_since(poll.now, v_walk.lines) l where l.kind & 16 = 0)
          || array(select l from unnest(v_walk.lines) l where l.kind & 16 > 0);
      else
        v_read := {ready_reads()};
        v_lines := {lines(v_tasks, v_queues)};
        v_read := {ready_reads()} - v_read - {line_reads} * cardinality(v_lines);
        -- R24
        v_lines := array(
          select l from unnest(v_lines) l where l.kind >> 5 <= p_versions[array_position(p_tasks, l.task)]
            and (p_queues is null or l.queue = any(p_queues)));
        -- Walks over many entries of jobs that are gone take a small part of the time. The first one marks those as dead that no
        -- transaction sees, and may take longer than the next.
        v_walk.rest := case when v_read > {walk_cheap} then
          least(v_read * '10 microseconds'::interval, 4 * coalesce(v_walk.rest, '5 milliseconds'), '1 minute') end;
        v_walk.until := poll.now + v_walk.rest;
      end if;
      v_walk.lines := {lines_left(poll.now, v_walk.lines, v_lines)};
      walk := case when v_walk.until is not null or cardinality(v_walk.lines) <= 100 then v_walk::text end;
    end if;
    if paused_tasks <> '{}' or paused_queues <> '{}' then
      v_lines := array(select l from unnest(v_lines) l where l.task <> all(paused_tasks) and l.queue <> all(paused_queues));
    end if;
    v_groups := array(
      select distinct {group_of(l)} from unnest(v_lines) l where l.kind & 16 > 0);
    v_lines := array(select l from unnest(v_lines) l where l.kind & 16 = 0);
    v_due := array(select l from unnest(v_lines) l where l.from_at <= poll.now);
    if cardinality(v_due) > 0 then
      v_limited := array(
        select d.task from (select distinct l.task from unnest(v_due) l where exists (select from {s}.task_limit)) d
        where {s}.is_limited(d.task));
      b := {s}.bring_in(poll.now, array(select l from unnest(v_due) l where l.kind & 8 > 0 or l.task = any(v_limited)));
      select v_groups || b.groups, is_partial or b.is_partial into v_groups, is_partial;
      v_due := array(select l from unnest(v_due) l where l.kind & 8 = 0 and l.task <> all(v_limited));
    end if;
    if is_paused then
      p_limit := 0;
    end if;
    if p_limit > 0 and cardinality(v_groups) > 0 then
      v_read := least(p_limit, p_abandon);
      -- Without other due jobs that this poll could take they get all the room, else half of it.
      if exists (
        select from unnest(v_due) l where p_rooms[array_position(p_tasks, l.task)] > 0 and (l.kind & 1 = 0 or p_abandon > 0)
          and (l.kind & 2 = 0 or p_lost > 0))
      then
        v_read := (v_read + 1) / 2;
      end if;
      v_groups := {groups_at(v_groups, v_turns)};
      -- The jobs of a group run before those of the next are counted.
      for i in 1 .. cardinality(v_groups) loop
        g := v_groups[i];
        v_task := array_position(p_tasks, g.task);
        select * into c from {s}.choose_of_group(
          g, poll.now, least((v_read + cardinality(v_groups) - i) / (cardinality(v_groups) - i + 1), p_rooms[v_task]), p_lost, v_long, v_bytes);
        if c.ids <> '{}' then
          return query select {claimed_job()} from {s}.take(p_session, poll.now, g.task, c.ids, c.keys, c.is_ordered) job;
          p_is_relaxed := false;
        end if;
        select p_lost - c.lost, v_long - c.long, v_bytes - c.bytes into p_lost, v_long, v_bytes;
        select is_partial or c.is_partial, is_full or c.is_full, least(v_resumed, c.opens_at) into is_partial, is_full, v_resumed;
        v_read := v_read - cardinality(c.ids);
        select p_limit - cardinality(c.ids), p_abandon - cardinality(c.ids) into p_limit, p_abandon;
        p_rooms[v_task] := p_rooms[v_task] - cardinality(c.ids);
        if c.turn is distinct from g then
          v_turns := array(select t from unnest(v_turns) t where (t.task, t.queue, t.version) <> (g.task, g.queue, g.version)) || c.turn;
          turns := v_turns::text;
        end if;
      end loop;
    end if;
    if p_limit > 0 and cardinality(v_due) > 0 then
      return query select {claimed_job()} from {s}.claim(
        p_session, poll.now, v_due, p_tasks, p_rooms, p_limit, p_abandon, p_lost, v_long, v_bytes) job;
      -- A claim that a crash of the server may undo is one that may run twice.
      if found and p_is_relaxed and (p_abandon = 0 or not exists (select from unnest(v_due) l where l.kind & 1 > 0)) then
        perform set_config('synchronous_commit', 'off', true);
      end if;
    end if;
    select array_agg(name order by name) filter (where decide_at <= poll.now), min(decide_at) filter (where decide_at > poll.now)
    into due, next_tick
    from {s}.schedule where schedule.task = any(p_tasks) and decide_at is not null;
    next_job := v_resumed;
    if cardinality(v_lines) > 0 then
      next_job := least(next_job, {next_job(poll.now, v_lines)});
    end if;
    select array_agg(j.id order by j.id), array_agg(j.fence order by j.id) into cancel_jobs, cancel_fences
    from {s}.job j where j.session = p_session and j.state = 'running' and j.is_cancel_requested;
  end if;
  is_answer := true;
  return next;
end $$;
