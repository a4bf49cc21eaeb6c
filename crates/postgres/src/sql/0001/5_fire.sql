-- A tick that fires: a compare-and-set on the cursor, the rule and the pause that the process computed from (R6, R18). READ COMMITTED
-- suffices: the row of the schedule is locked first, so that all that follows is seen as it is.
create function {s}.fire(
  p_session uuid, p_schedule text, p_rule text, p_seen timestamptz,
  p_pause_since timestamptz, p_pause_until timestamptz, p_cursor timestamptz, p_next_kind text,
  p_next_at timestamptz, p_job uuid, p_tick timestamptz, p_missed bigint, p_run_at timestamptz, p_on_busy text,
  p_skipped_overlap bigint, p_skipped_missed bigint, p_skipped_paused bigint, p_claim boolean, p_not_after timestamptz)
returns table (outcome text, {job_types}) language plpgsql volatile
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v {s}.schedule;
  v_now timestamptz;
  v_is_blocked boolean;
  v_is_made boolean := false;
begin
  select * into v from {s}.schedule where name = p_schedule for update;
  v_now := {s}.in_time(p_not_after);
  outcome := case
    when not exists (select from {s}.session s where s.id = p_session and s.lease_until > v_now) then 'ended'
    when v.name is null then 'refused'
    when coalesce(v.override_rule, v.rule) is distinct from p_rule or v.cursor_at is distinct from p_seen
      or v.pause_since is distinct from p_pause_since or v.pause_until is distinct from p_pause_until
      or p_cursor < p_seen then 'refused'
    when v_now < p_cursor or v_now < p_tick then 'too_early' end;
  if outcome is not null then
    return next;
    return;
  end if;
  v_is_blocked := p_job is not null and v.is_exclusive and {s}.is_busy(p_schedule);
  if v_is_blocked and p_on_busy = 'wait' then
    outcome := 'busy';
    return next;
    return;
  end if;
  if p_job is not null and not v_is_blocked then
    -- RACE: a retry by hand of a job whose schedule was removed and made again holds no lock here; the index decides.
    v_is_made := {s}.insert_of(v, p_job, p_tick, p_missed, p_run_at, v_now);
    v_is_blocked := not v_is_made and v.is_exclusive and {s}.is_busy(p_schedule);
  end if;
  update {s}.schedule set
    cursor_at = p_cursor, next_kind = p_next_kind, next_at = p_next_at,
    skipped_overlap = skipped_overlap + p_skipped_overlap
      + case when v_is_blocked and (p_on_busy = 'skip' or v.waiting_id is not null) then 1 else 0 end,
    skipped_missed = skipped_missed + p_skipped_missed,
    skipped_paused = skipped_paused + p_skipped_paused,
    fired = fired + case when v_is_made then 1 else 0 end,
    last_fired = case when v_is_made then p_tick else last_fired end,
    waiting_id = case when v_is_blocked and p_on_busy = 'queue' then p_job else waiting_id end,
    waiting_tick = case when v_is_blocked and p_on_busy = 'queue' then p_tick else waiting_tick end,
    waiting_missed = case when v_is_blocked and p_on_busy = 'queue' then p_missed else waiting_missed end,
    waiting_run_at = case when v_is_blocked and p_on_busy = 'queue' then p_run_at else waiting_run_at end
  where name = p_schedule;
  if v_is_blocked then
    outcome := case when p_on_busy = 'queue' then 'queued' else 'skipped' end;
    return next;
  elsif v_is_made and p_claim and p_run_at <= v_now then
    return query
    update {s}.job set state = 'running', session = p_session, fence = nextval('{s}.fence'), attempt = job.attempt + 1,
      started_at = v_now
    where job.id = p_job returning 'moved', {job_columns};
  else
    if v_is_made and p_run_at <= v_now then
      perform {s}.nudge();
    end if;
    outcome := 'moved';
    return next;
  end if;
end $$;
