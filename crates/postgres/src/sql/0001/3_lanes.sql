-- Claims from lanes: the due jobs of partitions, which take turns, within their limits. `Poll::claim_lanes` of the library is the
-- same for stores in memory and in SQLite.

-- The due jobs of lines get their lane. Returns the groups of lanes that have got some.
create function {s}.bring_in(p_now timestamptz, p_lines {s}.line[], out groups {s}.turn[], out is_partial boolean)
language plpgsql volatile set {path} as $$
declare
  l {s}.line;
  v_count bigint;
begin
  select '{}', false into groups, is_partial;
  foreach l in array p_lines loop
    with due as materialized (
      select j.id from {s}.job j
      where j.state = 'ready' and j.queue = l.queue and j.task = l.task and j.priority = l.priority and j.kind = l.kind
        and (j.run_at, j.id) >= (l.from_at, l.from_id) and j.run_at <= p_now
      order by j.run_at, j.id limit 500 for update skip locked)
    update {s}.job j set seen_due_at = p_now, partition = coalesce(j.partition, '')
    from due where j.id = any(array[due.id]);
    get diagnostics v_count = row_count;
    is_partial := is_partial or v_count = 500;
    if v_count > 0 then
      groups := groups || {group_of(l)};
    end if;
  end loop;
end $$;

-- An arrival as a rate allows it: one of another rate, or of a clock that was ahead, may lie further in the future.
define arrival(arrival, now, gap, burst) as $$
least(greatest({arrival}, {now}), {now} + {gap} * {burst})
$$;

-- The starts that a rate allows now.
define starts(arrival, now, gap, burst) as $$
(({now} + {gap} * {burst} - {arrival({arrival}, {now}, {gap}, {burst})}) / {gap})
$$;

-- When a rate allows the next start that allows none now.
define opens_at(arrival, now, gap, burst) as $$
('1970-01-01 00:00:00+00'::timestamptz
  + ceil(({arrival({arrival}, {now}, {gap}, {burst})} - {gap} * ({burst} - 1)) / 1000.0)::bigint * '1 microsecond'::interval)
$$;

create type {s}.limits as (
  task text, names text[], all_running bigint, all_gap bigint, all_burst bigint, each_running bigint, each_gap bigint, each_burst bigint,
  all_waiting bigint, each_waiting bigint, ordered text, groups {s}.turn[], has_pauses boolean);

-- The limits of the task that has this name, or else of the first that had it.
create function {s}.limits_of(p_name text) returns {s}.limits language plpgsql stable set {path} as $$
declare
  v {s}.limits;
begin
  -- One of the two rows may be of an older build, with other former names.
  select coalesce(max(l.task), p_name), coalesce(string_to_array(string_agg(l.names, chr(31)), chr(31)), array[p_name]),
    max(l.running) filter (where l.scope = 'all'), max(l.gap) filter (where l.scope = 'all'), max(l.burst) filter (where l.scope = 'all'),
    max(l.running) filter (where l.scope = 'each'), max(l.gap) filter (where l.scope = 'each'), max(l.burst) filter (where l.scope = 'each'),
    max(l.waiting) filter (where l.scope = 'all'), max(l.waiting) filter (where l.scope = 'each'),
    max(l.ordered) filter (where l.scope = 'each')
  into v from {s}.task_limit l where l.task = (
    select t.task from {s}.task_limit t where p_name = any(string_to_array(t.names, chr(31))) order by t.task <> p_name, t.task limit 1);
  if v.ordered is not null then
    v.each_running := 1;
  end if;
  v.has_pauses := exists (select from {s}.pause where scope = 'partition');
  return v;
end $$;

-- The groups in which the jobs of a partition have an order together.
create function {s}.ordered_groups(p_limits {s}.limits) returns {s}.turn[] language plpgsql stable set {path} as $$
begin
  if p_limits.ordered is null then
    return null;
  end if;
  return array(
    with recursive g as (
      select n.task, x.queue, x.kind from unnest(p_limits.names) n(task) cross join lateral (
        select j.queue, j.kind from {s}.job j where j.lane is not null and j.task = n.task
        order by j.queue, (j.kind >> 5) limit 1) x
      union all
      select g.task, x.queue, x.kind from g cross join lateral (
        select j.queue, j.kind from {s}.job j
        where j.lane is not null and j.task = g.task and (j.queue, j.kind >> 5) > (g.queue, g.kind >> 5)
        order by j.queue, (j.kind >> 5) limit 1) x)
    select {group_of(g)} from g);
end $$;

create function {s}.is_limited(p_name text) returns boolean language plpgsql stable set {path} as $$
declare
  v {s}.limits;
begin
  if not exists (select from {s}.task_limit) then
    return false;
  end if;
  v := {s}.limits_of(p_name);
  return v.all_running is not null or v.all_gap is not null or v.each_running is not null or v.each_gap is not null
    or v.all_waiting is not null or v.each_waiting is not null or v.ordered is not null;
end $$;

-- The jobs of a group.
define in_group(group) as $$
j.lane is not null and j.task = {group}.task and j.queue = {group}.queue and j.kind >> 5 = {group}.version
$$;

-- The group of a line.
define group_of(line) as $$
row({line}.task, {line}.queue, {line}.kind >> 5, null, null, null, null, null)::{s}.turn
$$;

-- The order of the jobs of a lane.
define rank(job) as $$
-{job}.priority::integer, {job}.run_at, {job}.id
$$;

-- The jobs of a lane from a place on, or all.
define from_place(place) as $$
({rank(j)}) >= (coalesce(({place}).rank, -32768), coalesce(({place}).run_at, '-infinity'),
          coalesce(({place}).id, '00000000-0000-0000-0000-000000000000'))
$$;

-- The jobs of a task that run and have a partition: their number, and the first fence.
define running(limits, fence) as $$
(select count(*) as n, min(r.fence) as fence from {s}.job r
        where r.state = any(array['running', '']) and r.partition is not null and r.task = any({limits}.names)
          and r.fence > 0 and r.fence >= coalesce({fence}, 0))
$$;

-- The entries of the indexes of lanes that this transaction has read, as `ready_reads` counts them.
define lane_reads() as $$
(select sum(pg_stat_get_xact_tuples_returned(i.index) + 5 * pg_stat_get_xact_blocks_fetched(i.index))::bigint
    from unnest(array['{s}.job_lane', '{s}.job_partition', '{s}.job_limited']::regclass[]) i(index))
$$;

-- The first due job of a partition, whatever its queue and version: one that has begun before all others. It may be tried again later, and
-- a parked job may hold it.
create type {s}.partition_order as (
  head uuid, has_begun boolean, priority smallint, run_at timestamptz, task text, queue text, version bigint, held_until timestamptz,
  parked uuid);

create function {s}.order_of(p_limits {s}.limits, p_lane text, p_now bigint) returns {s}.partition_order
language plpgsql stable set {path} as $$
declare
  v {s}.partition_order;
  v_now timestamptz := '1970-01-01 00:00:00+00'::timestamptz + p_now / 1000 * '1 microsecond'::interval;
begin
  select j.id, true, j.priority, j.run_at, j.task, j.queue, j.kind >> 5, case when j.held_until > v_now then j.held_until end
  into v.head, v.has_begun, v.priority, v.run_at, v.task, v.queue, v.version, v.held_until
  from {s}.job j where j.state = any(array['ready', '']) and j.held_until is not null and j.task = any(p_limits.names) and j.partition = p_lane
  order by j.priority desc, j.run_at, j.id limit 1;
  if not found then
    select h.id, h.priority, h.run_at, h.task, h.queue, h.version
    into v.head, v.priority, v.run_at, v.task, v.queue, v.version
    from (
      select g.task, g.queue, g.version, x.* from unnest(p_limits.groups) g cross join lateral (
        select j.id, j.priority, j.run_at from {s}.job j where {in_group(g)} and j.lane = p_lane and {not_expired(v_now)}
        order by {rank(j)} limit 1) x) h
    order by {rank(h)} limit 1;
  end if;
  if p_limits.ordered = 'hold' then
    select j.id into v.parked from {s}.job j where j.state = any(array['parked', '']) and j.partition = p_lane and j.task = any(p_limits.names)
    order by j.id limit 1;
  end if;
  return v;
end $$;

-- The starts that a partition has room for, beside those of its jobs that run, and by its rate, order and pause; and when all allow the
-- next one, if they allow none now and time alone brings it. A claim may know a place of the lane.
define lane_room(lane, limits, now, place) as $$
(select
      coalesce({limits}.each_running - running.n, 4294967295) as by_running, running.fence,
      case when {limits}.ordered is not null and ((placed.o).head is null or (placed.o).held_until is not null or (placed.o).parked is not null)
        then 0 when paused.until is not null then 0 else rated.by_rate end as by_rate,
      rated.arrival, rated.opens_at as rate_opens_at,
      case when (placed.o).parked is null and paused.until is distinct from 'infinity'
        then greatest(rated.opens_at, (placed.o).held_until, paused.until) end as opens_at, placed.o
    from (select case when {limits}.each_gap is not null then (
      select a.arrival from {s}.arrival a
      where a.task = {limits}.task and a.scope = 'each' and a.partition = {lane}) end as arrival) a
    cross join lateral (
      select a.arrival, coalesce({starts(a.arrival, {now}, {limits}.each_gap, {limits}.each_burst)}, 4294967295) as by_rate,
        case when {starts(a.arrival, {now}, {limits}.each_gap, {limits}.each_burst)} <= 0
          then {opens_at(a.arrival, {now}, {limits}.each_gap, {limits}.each_burst)} end as opens_at) rated
    cross join lateral (
      select case when {limits}.ordered is not null then {s}.order_of({limits}, {lane}, {now}) end as o offset 0) placed
    cross join lateral (
      select count(*) as n, min(r.fence) as fence from {s}.job r
      where {limits}.each_running is not null and r.state = any(array['running', '']) and r.partition >= '' and r.partition = {lane}
        and r.task = any({limits}.names) and r.fence >= coalesce(({place}).fence, 0)) running
    cross join lateral (
      select (select coalesce(pause.until, 'infinity') from {s}.pause
        where {limits}.has_pauses and pause.scope = 'partition' and pause.name = {limits}.task || chr(31) || {lane}
          and (pause.until is null or {micros(pause.until)} > {now} / 1000)) as until) paused)
$$;

-- The arrival of the rate of all its jobs.
define all_arrival(limits) as $$
(select a.arrival from {s}.arrival a where a.task = {limits}.task and a.scope = 'all' and a.partition = '')
$$;

-- A lane in which a job of the group may start. Where order counts, its first one may be of another queue or version.
define is_open(room, group) as $$
({room}.by_running > 0 and {room}.by_rate > 0 and (({room}.o).head is null
        or (({room}.o).task = {group}.task and ({room}.o).queue = {group}.queue and ({room}.o).version = {group}.version)))
$$;

-- The lanes of a group, from the one after its last on, and around: at most `p_most`, until `p_room` are open. Each has the
-- starts that its partition has room for. It locks nothing. While the group has places, those are its lanes. A walk that may be followed
-- by a rest goes on, so that all of them take turns meanwhile.
create function {s}.look_at_lanes(p_group {s}.turn, p_limits {s}.limits, p_now bigint, p_room bigint, p_most bigint)
returns table (n bigint, place {s}.place, by_running bigint, opens_at timestamptz, is_open boolean, opened bigint)
language plpgsql volatile set {path} as $$
#variable_conflict use_column
declare
  -- No text lies between another one and the same with this byte.
  v_from text := coalesce(p_group.lane || chr(1), '');
  p {s}.place;
begin
  if p_group.places is not null then
    select 0, 0 into n, opened;
    for p in select h.* from unnest(p_group.places) h order by h.lane < v_from, h.lane loop
      exit when opened >= p_room;
      select {rank(j)} into place.rank, place.run_at, place.id
      from {s}.job j where {in_group(p_group)} and j.lane = p.lane and {from_place(p)} order by {rank(j)} limit 1;
      continue when not found;
      select p.lane, coalesce(y.fence, p.fence), y.by_running, y.opens_at, {is_open(y, p_group)}
      into place.lane, place.fence, by_running, opens_at, is_open
      from {lane_room(p.lane, p_limits, p_now, p)} y;
      select n + 1, opened + is_open::integer into n, opened;
      return next;
    end loop;
    return;
  end if;
  return query
  with recursive w as (
    select 1::bigint as n, x.lane, x.is_around, y.by_running, y.fence, y.opens_at, {is_open(y, p_group)} as is_open,
      {is_open(y, p_group)}::integer::bigint as opened
    from (
      (select j.lane, false as is_around from {s}.job j where {in_group(p_group)} and j.lane >= v_from order by j.lane limit 1)
      union all
      (select j.lane, true from {s}.job j where {in_group(p_group)} and j.lane < v_from order by j.lane limit 1)
      limit 1) x
    cross join lateral {lane_room(x.lane, p_limits, p_now, null::{s}.place)} y
    union all
    select w.n + 1, x.lane, x.is_around, y.by_running, y.fence, y.opens_at, {is_open(y, p_group)},
      w.opened + {is_open(y, p_group)}::integer
    from w cross join lateral (
      (select j.lane, w.is_around from {s}.job j
       where {in_group(p_group)} and j.lane > w.lane and (not w.is_around or j.lane < v_from) order by j.lane limit 1)
      union all
      (select j.lane, true from {s}.job j
       where {in_group(p_group)} and j.lane < case when not w.is_around then v_from end order by j.lane limit 1)
      limit 1) x
    cross join lateral {lane_room(x.lane, p_limits, p_now, null::{s}.place)} y
    where w.n < p_most and (w.opened < p_room or p_group.rest is not null))
  select w.n, row(w.lane, null, null, null, w.fence)::{s}.place, w.by_running, w.opens_at, w.is_open, w.opened from w;
end $$;

-- The starts that locked lanes have room for.
define open_lanes(locked, per, limits, now, group) as $$
(
          select u.lane, u.n, h.rank, h.run_at, h.id, y.by_running, y.fence, y.arrival, least({per}, y.by_running, y.by_rate) as size, (y.o).head
          from unnest({locked}) with ordinality u(lane, n) left join unnest({group}.places) h on h.lane = u.lane
          cross join lateral {lane_room(u.lane, {limits}, {now}, h)} y)
$$;

-- The jobs that a claim takes of a group, which it locks with their lanes: the first of each lane, then the second of each.
--
-- INVARIANT: of what a limit counts no more runs than it says. A lane is locked, and the jobs that run are counted by a later statement,
-- whose snapshot has all that the former holders of the lock have committed. A lock that another claim has is no error: the next poll
-- looks again. Where the task has a limit of all its jobs, one lock stands for those of its lanes.
create function {s}.choose_of_group(
  p_group {s}.turn, p_time timestamptz, p_room bigint, p_lost bigint, p_long bigint, p_bytes bigint,
  out ids uuid[], out keys text[], out turn {s}.turn, out lost bigint, out long bigint, out bytes bigint, out is_partial boolean, out is_full boolean,
  out opens_at timestamptz, out is_ordered boolean)
language plpgsql volatile set {path} as $$
#variable_conflict use_variable
declare
  v_now bigint := {micros(p_time)} * 1000;
  v_limits {s}.limits := {s}.limits_of(p_group.task);
  v_room bigint := p_room;
  v_all_room bigint := 4294967295;
  v_all_arrival bigint;
  v_count bigint := 0;
  v_opened bigint;
  v_lanes text[];
  v_locked text[];
  v_per bigint;
  v_taken bigint[];
  v_found bigint[];
  v_rooms bigint[];
  v_arrivals bigint[];
  v_rows refcursor;
  v_row record;
  v_read bigint := {lane_reads()};
  v_alive bigint := 0;
  v_fence bigint;
  v_looked {s}.place[] := '{}';
  v_places {s}.place[];
begin
  select '{}'::uuid[], '{}'::text[], 0, 0, 0, false, false, v_limits.ordered is not null
  into ids, keys, lost, long, bytes, is_partial, is_full, is_ordered;
  if p_group.until is not null and p_time not between p_group.until - '1 minute'::interval and p_group.until then
    select null, null, null into p_group.until, p_group.fence, p_group.places;
  end if;
  turn := p_group;
  -- An order counts jobs of other groups, too, in which no place is known.
  if is_ordered and p_group.until is not null then
    opens_at := p_group.until;
    return;
  end if;
  v_limits.groups := {s}.ordered_groups(v_limits);
  if v_limits.all_running is not null or v_limits.all_gap is not null then
    if not pg_try_advisory_xact_lock(hashtextextended('limit of {s} ' || v_limits.task, 0)) then
      is_partial := p_room > 0;
      return;
    end if;
    if v_limits.all_running is not null then
      select r.n, r.fence into v_alive, v_fence from {running(v_limits, p_group.fence)} r;
      v_all_room := greatest(v_limits.all_running - v_alive, 0);
    end if;
    if v_limits.all_gap is not null then
      v_all_arrival := {all_arrival(v_limits)};
      v_room := least(v_room, {starts(v_all_arrival, v_now, v_limits.all_gap, v_limits.all_burst)});
    end if;
    v_room := least(v_room, v_all_room);
  end if;
  if v_room > 0 then
    select coalesce(array_agg((w.place).lane order by w.n) filter (where w.is_open and w.opened <= v_room), '{}'), count(*), max(w.opened),
      coalesce((array_agg((w.place).lane order by w.n desc) filter (where w.opened < v_room or w.is_open and w.opened = v_room))[1], turn.lane),
      bool_or(w.by_running <= 0), min(w.opens_at),
      coalesce(array_agg(w.place), '{}'), v_alive + coalesce(2 * sum(v_limits.each_running - w.by_running), 0)
    into v_lanes, v_count, v_opened, turn.lane, is_full, opens_at, v_looked, v_alive
    from {s}.look_at_lanes(p_group, v_limits, v_now, v_room, {lanes_max}) w;
    is_full := coalesce(is_full, false);
    is_partial := (v_count >= {lanes_max} and p_group.places is null) or coalesce(v_opened, 0) >= v_room;
    v_locked := v_lanes;
    if v_limits.all_running is null and v_limits.all_gap is null
      and (v_limits.each_running is not null or v_limits.each_gap is not null or v_limits.ordered is not null)
    then
      v_locked := array(
        select l.lane from unnest(v_lanes) with ordinality l(lane, n)
        where pg_try_advisory_xact_lock(hashtextextended('lane of {s} ' || v_limits.task || chr(31) || l.lane, 0)) order by l.n);
      is_partial := is_partial or cardinality(v_locked) < cardinality(v_lanes);
    end if;
  end if;
  if cardinality(v_locked) > 0 then
    v_per := (v_room + cardinality(v_locked) - 1) / cardinality(v_locked);
    v_taken := array_fill(0::bigint, array[cardinality(v_locked)]);
    select v_taken, v_taken, v_taken into v_found, v_rooms, v_arrivals;
    if v_limits.ordered is null then
      open v_rows for
        with open as materialized {open_lanes(v_locked, v_per, v_limits, v_now, p_group)}
        select o.lane, o.n, o.by_running, o.fence, o.arrival, x.*,
          row_number() over (partition by o.n order by {rank(x)}) as k
        from open o cross join lateral (
          select j.id, j.priority, j.run_at, j.kind, octet_length(j.payload) as bytes,
            case when j.is_key_until_start then j.key end as key
          from {s}.job j
          where {in_group(p_group)} and j.lane = o.lane and {from_place(o)} and {not_expired(p_time)}
            and (j.held_until is null or j.held_until <= p_time)
          order by {rank(j)} limit greatest(o.size, 0) for update skip locked) x
        order by k, o.n;
    else
      -- While another transaction has locked the first one, none starts.
      open v_rows for
        with open as materialized {open_lanes(v_locked, v_per, v_limits, v_now, p_group)}
        select o.lane, o.n, o.by_running, o.fence, o.arrival, x.*
        from open o cross join lateral (
          select j.id, j.priority, j.run_at, j.kind, octet_length(j.payload) as bytes,
            case when j.is_key_until_start then j.key end as key
          from {s}.job j
          where j.id = any(array[o.head]) and {in_group(p_group)} and j.lane = o.lane for update skip locked) x
        where o.size > 0 order by o.n;
    end if;
    loop
      fetch v_rows into v_row;
      exit when not found;
      v_found[v_row.n] := v_found[v_row.n] + 1;
      -- The last job that is taken, or the first one that is left.
      -- RACE: a claim that is not committed yet has a later fence than the first of those that are: they hold the same lock. Where none
      -- runs, this one, which holds it, draws the fence.
      if p_group.places is not null and v_found[v_row.n] = v_taken[v_row.n] + 1 then
        v_places[v_row.n] := row(
          v_row.lane, {rank(v_row)},
          coalesce(v_row.fence, case when v_limits.each_running is not null then nextval('{s}.fence') end))::{s}.place;
      end if;
      v_rooms[v_row.n] := v_row.by_running;
      v_arrivals[v_row.n] := v_row.arrival;
      is_partial := is_partial or (v_found[v_row.n] = v_per and v_per < v_room);
      continue when cardinality(ids) >= v_room;
      lost := lost + (v_row.kind & 2 > 0)::integer;
      long := long + (v_row.kind & 4 > 0)::integer;
      bytes := bytes + case when v_row.kind & 4 = 0 then v_row.bytes else 0 end;
      if (v_row.kind & 2 > 0 and lost > p_lost) or (v_row.kind & 4 > 0 and long > p_long) or (v_row.kind & 4 = 0 and bytes > p_bytes) then
        -- Without room for lost jobs another poll finds no more.
        is_partial := is_partial or p_lost > 0 or v_row.kind & 2 = 0;
        continue;
      end if;
      ids := ids || v_row.id;
      keys := keys || v_row.key;
      v_taken[v_row.n] := v_taken[v_row.n] + 1;
      if cardinality(ids) = v_room then
        turn.lane := v_row.lane;
      end if;
    end loop;
    is_full := is_full or exists (select from unnest(v_taken, v_rooms) t(taken, room) where t.taken > 0 and t.taken >= t.room);
    if v_limits.each_gap is not null then
      with next as (
        insert into {s}.arrival (task, scope, partition, arrival)
        select v_limits.task, 'each', t.lane,
          {arrival(t.arrival, v_now, v_limits.each_gap, v_limits.each_burst)} + v_limits.each_gap * t.taken
        from unnest(v_locked, v_taken, v_arrivals) t(lane, taken, arrival) where t.taken > 0
        on conflict on constraint arrival_pkey do update set arrival = excluded.arrival
        returning arrival.arrival)
      select least(opens_at, min({opens_at(n.arrival, v_now, v_limits.each_gap, v_limits.each_burst)})
        filter (where {starts(n.arrival, v_now, v_limits.each_gap, v_limits.each_burst)} <= 0))
      into opens_at from next n;
    end if;
  end if;
  is_partial := is_partial or (v_room > 0 and cardinality(ids) = v_room);
  is_full := is_full or cardinality(ids) >= v_all_room;
  if v_limits.all_gap is not null then
    v_all_arrival := {arrival(v_all_arrival, v_now, v_limits.all_gap, v_limits.all_burst)} + v_limits.all_gap * cardinality(ids);
    if ids <> '{}' then
      insert into {s}.arrival (task, scope, partition, arrival) values (v_limits.task, 'all', '', v_all_arrival)
      on conflict on constraint arrival_pkey do update set arrival = excluded.arrival;
    end if;
    if {starts(v_all_arrival, v_now, v_limits.all_gap, v_limits.all_burst)} <= 0 then
      opens_at := least(opens_at, {opens_at(v_all_arrival, v_now, v_limits.all_gap, v_limits.all_burst)});
    end if;
  end if;
  if p_group.places is not null then
    turn.fence := coalesce(v_fence, case when v_limits.all_running is not null then nextval('{s}.fence') end);
    turn.places := array(
      select distinct on ((h.place).lane) h.place
      from (
        select 1 as n, x as place from unnest(v_places) x
        union all select 2, x from unnest(v_looked) x union all select 3, x from unnest(p_group.places) x) h
      where (h.place).lane is not null order by (h.place).lane, h.n);
    return;
  end if;
  -- An older snapshot makes each walk meet the entries of all jobs that have left the lanes since, and of all that ran. As the walk over
  -- lines, it rests. While the limit of the task is reached no lane is known, and the running jobs alone are counted.
  v_read := {lane_reads()} - v_read - v_alive - 6 * {line_reads} * v_count * coalesce(cardinality(v_limits.groups), 1) - cardinality(ids);
  if v_read > {walk_cheap} or p_group.until is null then
    turn.rest := case when v_read > {walk_cheap} then
      least(v_read * '10 microseconds'::interval, 4 * coalesce(turn.rest, '5 milliseconds'), '1 minute') end;
    turn.until := p_time + turn.rest;
    turn.places := case when turn.rest is not null and v_room > 0 then v_looked end;
  end if;
  if turn.until is not null then
    turn.fence := coalesce(v_fence, case when v_limits.all_running is not null then nextval('{s}.fence') end);
  end if;
end $$;

-- Gives the jobs of `fenced` to a session. In a partition with order they keep their places.
define take_fenced(session, now, held_until) as $$
freed as (
    delete from {s}.key k using fenced f
    where f.key is not null and k.task = any(array[f.task]) and k.key = f.key and k.job = f.id)
  update {s}.job j set state = 'running', session = {session}, fence = f.fence, attempt = j.attempt + 1, started_at = {now}, progress = null,
    key = case when j.is_key_until_start then null else j.key end, held_until = {held_until}
  from fenced f where j.id = any(array[f.id]) returning j.*
$$;

-- Gives jobs that are locked to a session, in their order.
create function {s}.take(p_session uuid, p_now timestamptz, p_task text, p_ids uuid[], p_keys text[], p_is_ordered boolean)
returns setof {s}.job language plpgsql volatile set {path} as $$
declare
  v_held timestamptz := case when p_is_ordered then p_now end;
begin
  return query
  with fenced as materialized (
    select i.id, p_task as task, i.key, nextval('{s}.fence') as fence from unnest(p_ids, p_keys) i(id, key)),
  {take_fenced(p_session, p_now, v_held)};
end $$;

-- The groups of lines, each where the claims of the process go on.
define groups_at(lines, turns) as $$
array(
      select coalesce(t, d.g)
      from (select distinct g from unnest({lines}) g) d
      left join unnest({turns}) t on t.task = (d.g).task and t.queue = (d.g).queue and t.version = (d.g).version
      order by (d.g).task collate "C", (d.g).queue collate "C", (d.g).version)
$$;
