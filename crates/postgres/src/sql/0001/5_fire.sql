-- A tick that fires: a compare-and-set on the cursor, the rule and the pause that the process computed from (R6, R18). READ COMMITTED
-- suffices: the row of the schedule is locked first, so that all that follows is seen as it is.
create type {s}.firing as (
  session uuid, schedule text, rule text, seen timestamptz, pause_since timestamptz, pause_until timestamptz,
  cursor_at timestamptz, next_kind text, next_at timestamptz, job uuid, tick timestamptz, missed bigint, run_at timestamptz,
  on_busy text, skipped_overlap bigint, skipped_missed bigint, skipped_paused bigint, claim_version bigint, not_after timestamptz);

create function {s}.fire(p {s}.firing) returns table (outcome text, limited bigint, {job_types}) language plpgsql volatile
{plans} as $$
#variable_conflict use_column
declare
  v {s}.schedule;
  v_now timestamptz;
  v_is_blocked boolean;
  v_is_made boolean := false;
  v_skipped bigint;
begin
  select * into v from {s}.schedule where name = p.schedule for update skip locked;
  {read_clock(v_now, p.not_after)}
  outcome := case
    when not exists (select from {s}.session s where s.id = p.session and s.lease_until > v_now) then 'ended'
    when v.name is null then case when exists (select from {s}.schedule where name = p.schedule) then 'locked' else 'refused' end
    when coalesce(v.override_rule, v.rule) is distinct from p.rule or v.cursor_at is distinct from p.seen
      or v.pause_since is distinct from p.pause_since or v.pause_until is distinct from p.pause_until
      or p.cursor_at < p.seen then 'refused'
    when v_now < p.cursor_at or v_now < p.tick then 'too_early' end;
  if outcome is not null then
    return next;
    return;
  end if;
  v_is_blocked := p.job is not null and v.is_exclusive and {s}.is_busy(p.schedule);
  if v_is_blocked and p.on_busy = 'wait' then
    outcome := 'busy';
    return next;
    return;
  end if;
  if p.job is not null and not v_is_blocked then
    -- RACE: a retry by hand of a job whose schedule was removed and made again holds no lock here; the index decides.
    v_is_made := {s}.insert_of(v, p.job, p.tick, p.missed, p.run_at, v_now);
    v_is_blocked := not v_is_made and v.is_exclusive and {s}.is_busy(p.schedule);
  end if;
  v_skipped := p.skipped_overlap + case when v_is_blocked and (p.on_busy = 'skip' or v.waiting_id is not null) then 1 else 0 end;
  -- Ticks are skipped because of a limit if the job before has not begun, and waits for its turn.
  limited := case when v_skipped > 0 and (p.job is null or v_is_blocked) and exists (
    select from {s}.job j where j.schedule = p.schedule and j.is_exclusive and j.state in ('ready', 'running')
      and j.lane is not null and j.started_at is null and {s}.is_limited(j.task)) then v_skipped else 0 end;
  update {s}.schedule set
    cursor_at = p.cursor_at, next_kind = p.next_kind, next_at = p.next_at,
    skipped_overlap = skipped_overlap + v_skipped - limited,
    skipped_limit = skipped_limit + limited,
    skipped_missed = skipped_missed + p.skipped_missed,
    skipped_paused = skipped_paused + p.skipped_paused,
    fired = fired + case when v_is_made then 1 else 0 end,
    last_fired = case when v_is_made then p.tick else last_fired end,
    waiting_id = case when v_is_blocked and p.on_busy = 'queue' then p.job else waiting_id end,
    waiting_tick = case when v_is_blocked and p.on_busy = 'queue' then p.tick else waiting_tick end,
    waiting_missed = case when v_is_blocked and p.on_busy = 'queue' then p.missed else waiting_missed end,
    waiting_run_at = case when v_is_blocked and p.on_busy = 'queue' then p.run_at else waiting_run_at end
  where name = p.schedule;
  if v_is_blocked or limited > 0 then
    outcome := case when limited > 0 then 'limited' when p.on_busy = 'queue' then 'queued' else 'skipped' end;
    return next;
  -- A job with a partition, or of a task with limits, is claimed from its lane.
  elsif v_is_made and v.payload_version <= p.claim_version and p.run_at <= v_now and v.partition is null and not {s}.is_limited(v.task)
    and not exists (
    select from {s}.pauses(v_now) h where v.task = any(h.tasks) or v.queue = any(h.queues))
  then
    return query
    update {s}.job set state = 'running', session = p.session, fence = nextval('{s}.fence'), attempt = job.attempt + 1,
      started_at = v_now
    where job.id = p.job returning 'moved', 0::bigint, {job_columns};
  else
    if v_is_made and p.run_at <= v_now then
      perform {nudge};
    end if;
    outcome := 'moved';
    return next;
  end if;
end $$;
