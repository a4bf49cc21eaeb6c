-- Tables. `{s}` is the schema. Names are compared and ordered byte by byte, as the library does.

create table {s}.session (
  id uuid primary key,
  label text not null,
  build text not null,
  opened_at timestamptz not null,
  lease_until timestamptz not null,
  renewals bigint not null default 0,
  application text collate "C" not null default '',
  tasks text[] collate "C" not null default '{}',
  -- The greatest version of payloads that the process knows of each of these tasks.
  versions bigint[] not null default '{}',
  -- The queues that the process serves; null for all.
  queues text[] collate "C",
  concurrency bigint not null default 0,
  -- By how many microseconds its clock was ahead of the store's at the last renewal.
  clock_offset bigint,
  -- It takes no jobs and fires no ticks.
  pause_since timestamptz,
  pause_until timestamptz,
  paused_by text,
  pause_reason text
) with (fillfactor = 50);

-- A session that has ended, for an hour. `found_by` is null if its process has closed it; otherwise its lease had run out, and this
-- process has found that. INVARIANT: its first columns are those of a session, in their order: `keep_ended` copies the whole row.
create table {s}.ended_session (
  like {s}.session,
  ended_at timestamptz not null,
  found_by text,
  -- The number of jobs that it held.
  jobs bigint not null,
  primary key (id)
);

create index ended_session_at on {s}.ended_session (ended_at, id);

create table {s}.schedule (
  name text collate "C" primary key,
  task text collate "C" not null,
  payload bytea not null,
  payload_version bigint not null,
  queue text collate "C" not null,
  priority smallint not null,
  partition text collate "C",
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
  override_since timestamptz,
  override_by text,
  override_before text,
  cursor_at timestamptz not null,
  anchor timestamptz,
  next_kind text not null check (next_kind in ('at', 'unknown', 'job', 'never')),
  next_at timestamptz check ((next_at is not null) = (next_kind = 'at')),
  fired bigint not null default 0,
  last_fired timestamptz,
  skipped_overlap bigint not null default 0,
  skipped_limit bigint not null default 0,
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
  -- The end of the last run of a job, in any process; and the jobs that were parked since one was done.
  end_at timestamptz,
  end_state text check (end_state in ('parked', 'done', 'cancelled')),
  end_started timestamptz,
  end_error text,
  last_success timestamptz,
  failures bigint not null default 0,
  -- From the end of a job to the next tick, if the rule that counts is a delay.
  delay bigint generated always as (
    case when override_rule is null then case when timing = 'delay' then timing_every end
         when override_timing = 'delay' then override_every end) stored,
  is_exclusive boolean generated always as (
    overlap <> 'allow' or (case when override_rule is null then timing else override_timing end) = 'delay') stored,
  -- When a process has to decide something; null while none has to.
  decide_at timestamptz generated always as (
    case when next_kind in ('job', 'never') or (pause_since is not null and pause_until is null) then null
         else greatest(coalesce(next_at, '-infinity'), coalesce(pause_until, '-infinity')) end) stored
) with (fillfactor = 70);

create index schedule_decide on {s}.schedule (task, decide_at);
create index schedule_over on {s}.schedule (cursor_at, name)
  where is_dynamic and override_rule is null and next_kind = 'never' and waiting_id is null;
create index schedule_repair on {s}.schedule (name) where waiting_id is not null or next_kind = 'job';

create sequence {s}.fence as bigint;

-- Jobs that are unfinished or parked. Finished ones leave for the table `done`.
create table {s}.job (
  id uuid primary key,
  fence bigint not null default 0,
  session uuid,
  run_at timestamptz not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  -- Of a job that has run in a partition with order: it is claimed no earlier, and `run_at` is its place.
  held_until timestamptz,
  -- It is cancelled, unless a process has taken it by then.
  expires_at timestamptz,
  attempt integer not null default 0 check (attempt >= 0),
  lost integer not null default 0 check (lost >= 0),
  undecoded integer not null default 0 check (undecoded >= 0),
  priority smallint not null check (priority between 0 and 3),
  -- 0 plain, +1 if the job must not run twice, +2 if it was lost twice in a row, +4 if its payload is too long for a poll with others,
  -- +8 if it has a partition and no lane, +16 if it has a lane, and +32 for each version of the payload (R24).
  kind bigint not null generated always as (
    is_abandoned::integer + 2 * (lost > 1)::integer + 4 * (octet_length(payload) > {claim_bytes_max})::integer
    + case when partition is null then 0 when run_at <= greatest(created_at, seen_due_at) then 16 else 8 end
    + 32 * least(greatest(payload_version, 0), 4294967295)) stored,
  -- A *lane* is the ready jobs of one task, queue, version and partition that were due when they were accepted, or when a poll saw them.
  lane text collate "C" generated always as (
    case when state = 'ready' and run_at <= greatest(created_at, seen_due_at) then partition end) stored,
  seen_due_at timestamptz,
  is_abandoned boolean not null,
  is_exclusive boolean not null default false,
  is_cancel_requested boolean not null default false,
  is_key_until_start boolean not null default false,
  max_attempts bigint not null,
  payload_version bigint not null,
  state text collate "C" not null default 'ready' check (state in ('ready', 'running', 'parked')),
  task text collate "C" not null,
  queue text collate "C" not null,
  partition text collate "C",
  key text collate "C",
  schedule text collate "C",
  tick timestamptz,
  missed bigint not null default 0,
  payload bytea not null,
  error text,
  traceparent text,
  -- The last ones that did not succeed: see `with_attempt`.
  attempts text,
  -- The progress of its last run: a fraction, a space, and a text.
  progress text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- A *line* is the ready jobs of one task, queue, priority and kind, by due time: a range of this index. A poll goes from line to
-- line, and never walks jobs of other tasks, of other queues, with newer payloads than it knows, or of the future.
create index job_ready on {s}.job (task, queue, priority, kind, run_at, id) where state = 'ready';
-- A claim goes from lane to lane, and takes the first jobs of each.
create index job_lane on {s}.job (task, queue, (kind >> 5), lane, (-priority::integer), run_at, id) where lane is not null;
-- A running job takes a place of the limits of its task and of its partition. Nothing else does, so that no place is ever lost.
-- Indexes without entries cost the same by statistics. So each has a condition that its own statements alone have: an array for the
-- state, `partition >= ''` and `fence > 0`, which hold for all running jobs of partitions.
create index job_partition on {s}.job (task, partition, fence) where state = any(array['running', '']) and partition >= '';
create index job_limited on {s}.job (task, fence) where state = any(array['running', '']) and partition is not null and fence > 0;
-- In a partition with order none starts before one that has begun.
create index job_held on {s}.job (task, partition, priority desc, run_at, id) where state = any(array['ready', '']) and held_until is not null;
-- A parked job may hold those behind it.
create index job_parked_partition on {s}.job (task, partition, id) where state = any(array['parked', '']) and partition is not null;
-- For people who look at the jobs of a partition.
create index job_of_partition on {s}.job (partition, id) where state = any(array['ready', '']) and partition >= '';
-- Jobs that expire unless they are claimed.
create index job_expiring on {s}.job (expires_at, id) where state = 'ready' and started_at is null and expires_at is not null;
-- Jobs that are tried again, for their number and their list.
create index job_retrying on {s}.job (id, task, queue) where state = 'ready' and error is not null;
create index job_running on {s}.job (session, is_cancel_requested) where state = 'running';
create index job_parked on {s}.job (finished_at, id) where state = 'parked';
-- For lists, which begin with the newest.
create index job_parked_newest on {s}.job (task, queue, id) where state = 'parked';
-- INVARIANT: at most one unfinished job of a schedule keeps others out (R11).
create unique index job_exclusive on {s}.job (schedule) where is_exclusive and state in ('ready', 'running');
-- For people who look at the jobs of a schedule or a key.
create index job_schedule on {s}.job (schedule, id) where schedule is not null;
create index job_key on {s}.job (key, id) where key is not null;

-- INVARIANT: an unfinished job with a key has a row here that has not ended, and no other row is such. A row that has ended keeps
-- the key for the time that its job has asked for.
create table {s}.key (
  task text collate "C" not null,
  key text collate "C" not null,
  job uuid not null,
  until timestamptz,
  has_ended boolean not null default false,
  primary key (task, key)
);

create index key_over on {s}.key (until) where has_ended;

-- Jobs that are paused: those of a task, those in a queue, or those of a task in a partition, whose name is both with the byte 31
-- between them. A pause that is over may still have its row.
create table {s}.pause (
  scope text collate "C" not null check (scope in ('task', 'queue', 'partition')),
  name text collate "C" not null,
  since timestamptz not null,
  until timestamptz,
  -- A name that people give, and the role with which they have connected.
  paused_by text not null,
  session_role text not null,
  reason text not null,
  primary key (scope, name)
);

-- The limits of tasks. Those of the limit that counts are beside the one in the code and the one that was set by hand.
create table {s}.task_limit (
  task text collate "C" not null,
  scope text collate "C" not null check (scope in ('all', 'each')),
  -- The name of the task, and its former ones.
  names text collate "C" not null,
  running bigint,
  -- Of a rate: nanoseconds from start to start, and the starts that are allowed at once.
  gap bigint,
  burst bigint,
  -- The due jobs in a queue at which an enqueue is refused.
  waiting bigint,
  -- Jobs of a partition start in their order: they go on behind one that is parked, or it holds them.
  ordered text collate "C" check (ordered in ('go_on', 'hold')),
  code text,
  by_hand text,
  registrant_opened timestamptz not null,
  primary key (task, scope)
);

-- The next start of a task or a partition by its rate, in nanoseconds since 1970, while it lies ahead.
create table {s}.arrival (
  task text collate "C" not null,
  scope text collate "C" not null,
  partition text collate "C" not null,
  arrival bigint not null,
  primary key (task, scope, partition)
) with (fillfactor = 50);

-- A lane whose jobs before this one are gone, and the fence from which on jobs of its partition run.
create type {s}.place as (lane text, rank integer, run_at timestamptz, id uuid, fence bigint);
-- Where the claims of a process go on in a group of lanes: after this lane; until then, in these places alone, and all running jobs of the
-- task have this fence or a later one.
create type {s}.turn as (
  task text, queue text, version bigint, lane text, rest interval, until timestamptz, fence bigint, places {s}.place[]);

-- Changes by hand.
create table {s}.action (
  id uuid primary key,
  at timestamptz not null,
  -- A name that people give, and the role with which they have connected.
  done_by text not null,
  session_role text not null,
  address text not null,
  node text not null,
  verb text not null,
  kind text not null check (kind in ('jobs', 'job', 'task', 'tasks', 'queue', 'queues', 'partition', 'schedule', 'node')),
  target text not null,
  task text,
  count bigint not null,
  reason text not null,
  -- The old and the new rule, or the length of the old and the new payload.
  old_value text not null,
  new_value text not null
);

create index action_at on {s}.action (at, id);

-- The person who gives a command. Commands with the same action are one entry, which has the scope in place of what each is about. A
-- command without an action is signed by no person.
create type {s}.signature as (
  action uuid, done_by text, address text, node text, reason text, scope text, scope_task text);

-- The jobs of a task that were parked since one was done: their number, when the first was parked, and the end of the last.
create table {s}.failing (
  task text collate "C" primary key,
  failures bigint not null,
  since timestamptz not null,
  end_at timestamptz not null,
  end_started timestamptz,
  end_error text
) with (fillfactor = 50);

-- The end of a run of a job; `number` says which of those of one request is the last one.
create type {s}.run_end as (number bigint, task text, schedule text, state text, started_at timestamptz, error text);

-- A line has no ready job before the one that is due at `from_at` and has the identity `from_id`.
create type {s}.line as (queue text, task text, priority smallint, kind bigint, from_at timestamptz, from_id uuid);

-- The lines that a poll leaves for the next one, and for how long and until when they stand for a walk over the index.
create type {s}.walk as (lines {s}.line[], rest interval, until timestamptz);

-- Jobs that are done or cancelled: a row for those that one statement has ended, column by column. An array of one element holds
-- for all jobs of the row. Every identity of a row lies between `least_id` and `greatest_id`. A row without tasks has nothing of its
-- jobs but what a request needs that is sent again; lists do not show them.
create table {s}.done (
  number bigint generated always as identity,
  ended_at timestamptz not null,
  session uuid,
  least_id uuid not null,
  greatest_id uuid not null,
  id uuid[] not null,
  -- An array for each column of `job` that `JOB_COLUMNS` keeps of ended jobs: `columns.rs` makes the list, and the example
  -- `print_migrations` shows it.
  {done_columns},
  -- By this order jobs are found. A publication of all tables takes no deletes of a table without a key, and the number makes it one.
  primary key (greatest_id, number)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

create index done_ended on {s}.done (ended_at);
