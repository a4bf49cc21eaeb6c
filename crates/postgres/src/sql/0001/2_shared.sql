-- What the other functions share. They are in PL/pgSQL, which plans a statement once for each
-- connection; those that are called often forbid it to plan again for the values of each call. A function that writes locks the rows of schedules first, by name, then those of jobs:
-- two transactions never wait for each other (R12). Each statement of a function sees what was committed before it began,
-- so that a look after a lock sees what the lock has waited for.

-- The clock of the store. Tests replace this function.
create function {s}.clock() returns timestamptz language sql volatile as 'select pg_catalog.clock_timestamp()';

-- An instant that many microseconds later, at most the end of the year 9999.
create function {s}.after(p_at timestamptz, p_micros bigint) returns timestamptz language sql stable parallel safe as $$
  select least('9999-12-31 23:59:59.999999+00'::timestamptz,
    p_at + (least(p_micros, 300000000000000000) / 3600000000) * '1 hour'::interval
         + (least(p_micros, 300000000000000000) % 3600000000) * '1 microsecond'::interval)
$$;

-- An instant that many microseconds earlier.
create function {s}.before(p_at timestamptz, p_micros bigint) returns timestamptz language sql stable parallel safe as $$
  select p_at - (least(p_micros, 200000000000000000) / 3600000000) * '1 hour'::interval
              - (least(p_micros, 200000000000000000) % 3600000000) * '1 microsecond'::interval
$$;

-- The clock, unless it is too late (R2).
create function {s}.in_time(p_not_after timestamptz) returns timestamptz language plpgsql volatile as $$
declare
  v_now timestamptz := {s}.clock();
begin
  if v_now > p_not_after then
    raise exception 'the request reached the store too late' using errcode = 'SCH01';
  end if;
  return v_now;
end $$;

create function {s}.is_busy(p_schedule text) returns boolean language plpgsql volatile as $$
begin
  return exists (select from {s}.job where schedule = p_schedule and is_exclusive and state in ('ready', 'running'));
end $$;

-- Makes a job of a schedule, unless there is one of this identity (R3), or another is in the way (R11).
create function {s}.insert_of(
  p_of {s}.schedule, p_id uuid, p_tick timestamptz, p_missed bigint, p_run_at timestamptz, p_now timestamptz)
returns boolean language plpgsql volatile as $$
begin
  insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned,
    is_exclusive, schedule, tick, missed, created_at)
  values (p_id, p_of.task, p_of.payload, p_of.payload_version, p_of.queue, p_of.priority, p_run_at,
    greatest(p_of.max_attempts, 1), p_of.is_abandoned, p_of.is_exclusive, p_of.name, p_tick, p_missed, p_now)
  on conflict do nothing;
  return found;
end $$;

create function {s}.nudge() returns void language plpgsql volatile as $$
begin
  perform pg_catalog.pg_notify('{channel}', '');
end $$;

-- A job of a schedule has ended or is gone: the tick that waits becomes a job, or the next delay begins.
create function {s}.after_job(p_schedule text, p_now timestamptz) returns void language plpgsql volatile as $$
declare
  v {s}.schedule;
begin
  select * into v from {s}.schedule where name = p_schedule for update;
  if not found or {s}.is_busy(p_schedule) then
    return;
  end if;
  if v.waiting_id is not null then
    update {s}.schedule set waiting_id = null, waiting_tick = null, waiting_missed = null, waiting_run_at = null
    where name = p_schedule;
    if {s}.insert_of(v, v.waiting_id, v.waiting_tick, v.waiting_missed, v.waiting_run_at, p_now) then
      update {s}.schedule set fired = fired + 1, last_fired = v.waiting_tick where name = p_schedule;
      if v.waiting_run_at <= p_now then
        perform {s}.nudge();
      end if;
    end if;
  elsif v.delay is not null and v.next_kind = 'job' then
    -- A delay counts from the end of the tick that waits, if there is one.
    update {s}.schedule set cursor_at = p_now, next_kind = 'at', next_at = {s}.after(p_now, v.delay)
    where name = p_schedule;
  end if;
end $$;

create function {s}.lock_schedules(p_names text[]) returns void language plpgsql volatile as $$
begin
  perform from {s}.schedule where name = any(p_names) order by name for update;
end $$;

-- After a crash of the server, commits that were not flushed are gone, and with them fences that were given out, by this process
-- or by another. Each process skips more fences than can be lost, before its first claim on a connection.
create function {s}.skip_fences() returns void language plpgsql volatile as $$
begin
  perform from {s}.meta for update;
  perform setval('{s}.fence', nextval('{s}.fence') + 1000000);
end $$;
