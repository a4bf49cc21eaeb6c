-- Tables. `{s}` is the schema. Names are compared and ordered byte by byte, as the library does.

create table {s}.session (
  id uuid primary key,
  label text not null,
  build text not null,
  opened_at timestamptz not null,
  lease_until timestamptz not null,
  renewals bigint not null default 0
) with (fillfactor = 50);

create table {s}.schedule (
  name text collate "C" primary key,
  task text collate "C" not null,
  payload bytea not null,
  payload_version bigint not null,
  queue text collate "C" not null,
  priority smallint not null,
  rule text not null,
  timing text not null check (timing in ('computed', 'rate', 'delay', 'once', 'once_after')),
  -- Microseconds: to the first tick, and from tick to tick; of 'once', the instant since 1970.
  timing_first bigint not null,
  timing_every bigint not null,
  calculator text not null,
  overlap text not null check (overlap in ('skip', 'queue_one', 'allow')),
  max_attempts bigint not null,
  is_abandoned boolean not null,
  is_dynamic boolean not null,
  override_rule text,
  override_timing text check (override_timing in ('computed', 'rate', 'delay', 'once', 'once_after')),
  override_first bigint,
  override_every bigint,
  cursor_at timestamptz not null,
  anchor timestamptz,
  next_kind text not null check (next_kind in ('at', 'unknown', 'job', 'never')),
  next_at timestamptz check ((next_at is not null) = (next_kind = 'at')),
  fired bigint not null default 0,
  last_fired timestamptz,
  skipped_overlap bigint not null default 0,
  skipped_missed bigint not null default 0,
  skipped_paused bigint not null default 0,
  pause_since timestamptz,
  pause_until timestamptz,
  paused_by text,
  pause_reason text,
  waiting_id uuid,
  waiting_tick timestamptz,
  waiting_missed bigint,
  waiting_run_at timestamptz,
  registrant_opened timestamptz not null,
  -- From the end of a job to the next tick, if the rule that counts is a delay.
  delay bigint generated always as (
    case when override_rule is null then case when timing = 'delay' then timing_every end
         when override_timing = 'delay' then override_every end) stored,
  is_exclusive boolean generated always as (
    overlap <> 'allow' or (case when override_rule is null then timing else override_timing end) = 'delay') stored,
  -- When a process has to decide something; none while nobody has to.
  decide_at timestamptz generated always as (
    case when next_kind in ('job', 'never') or (pause_since is not null and pause_until is null) then null
         else greatest(coalesce(next_at, '-infinity'), coalesce(pause_until, '-infinity')) end) stored
) with (fillfactor = 70);

create index schedule_decide on {s}.schedule (task, decide_at);
create index schedule_over on {s}.schedule (cursor_at, name)
  where is_dynamic and override_rule is null and next_kind = 'never' and waiting_id is null;
create index schedule_repair on {s}.schedule (name) where waiting_id is not null or next_kind = 'job';

create sequence {s}.fence as bigint;

create table {s}.job (
  id uuid primary key,
  fence bigint not null default 0,
  session uuid,
  run_at timestamptz not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  attempt integer not null default 0 check (attempt >= 0),
  lost integer not null default 0 check (lost >= 0),
  undecoded integer not null default 0 check (undecoded >= 0),
  priority smallint not null check (priority between 0 and 3),
  is_abandoned boolean not null,
  is_exclusive boolean not null default false,
  is_cancel_requested boolean not null default false,
  is_key_until_start boolean not null default false,
  max_attempts bigint not null,
  payload_version bigint not null,
  state text collate "C" not null default 'ready' check (state in ('ready', 'running', 'done', 'parked', 'cancelled')),
  task text collate "C" not null,
  queue text collate "C" not null,
  key text collate "C",
  schedule text collate "C",
  tick timestamptz,
  missed bigint not null default 0,
  payload bytea not null,
  error text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- What is claimed, so that jobs of others and jobs of the future are never walked: by task and priority for processes that
-- serve all queues, and by task, queue and priority for those that serve some. The few that were lost before, or must not run
-- twice, are counted one by one, and stand in indexes of their own. The conditions of the two of a kind are written differently,
-- so that PostgreSQL cannot choose the wrong one.
create index job_ready on {s}.job (task, priority, run_at, id)
  where state = 'ready' and lost = 0 and not is_abandoned;
create index job_ready_of_queue on {s}.job (task, queue, priority, run_at, id)
  where state = 'ready' and lost < 1 and not is_abandoned;
create index job_special on {s}.job (task, priority, (is_abandoned::integer + 2 * (lost > 0)::integer), run_at, id)
  where state = 'ready' and (lost >= 1 or is_abandoned);
create index job_special_of_queue on {s}.job
  (task, queue, priority, (is_abandoned::integer + 2 * (lost > 0)::integer), run_at, id)
  where state = 'ready' and (lost > 0 or is_abandoned);
create index job_running on {s}.job (session) where state = 'running';
create index job_cancels on {s}.job (session) where state = 'running' and is_cancel_requested;
create index job_at_most_once on {s}.job (session) where state = 'running' and is_abandoned;
-- INVARIANT: at most one unfinished job has a key, and at most one unfinished job of a schedule keeps others out (R11).
create unique index job_key on {s}.job (task, key) where key is not null and state in ('ready', 'running');
create unique index job_exclusive on {s}.job (schedule) where is_exclusive and state in ('ready', 'running');
create index job_ended on {s}.job (finished_at, id) where state in ('done', 'cancelled');
create index job_parked on {s}.job (finished_at, id) where state = 'parked';
-- For people who look at the jobs of a schedule. A key has no such index: each job with a key would pay for it three times.
create index job_schedule on {s}.job (schedule, id) where schedule is not null;
