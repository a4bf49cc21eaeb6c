-- Changes by hand, and commands that are signed.

-- Keeps the action of a signed command that has changed something. One that is there already counts on if it has a scope or is
-- to add; else the same command has come twice. In a function that has the rights of its owner, `current_user` is the owner.
create function {s}.sign(
  p_sign {s}.signature, p_verb text, p_kind text, p_target text, p_task text, p_count bigint, p_adds boolean,
  p_old text default '', p_new text default '')
returns void language plpgsql volatile set {path} as $$
declare
  v_is_one boolean := p_sign.scope is null;
begin
  if p_sign.action is null or p_count = 0 then
    return;
  end if;
  insert into {s}.action as a (
    id, at, done_by, session_role, address, node, verb, kind, target, task, count, reason, old_value, new_value)
  values (p_sign.action, {clock}, coalesce(p_sign.done_by, ''), session_user, p_sign.address, p_sign.node, p_verb,
    case when v_is_one then p_kind when p_kind in ('task', 'schedule') then 'tasks' when p_kind in ('jobs', 'node', 'partition') then p_kind
      else p_kind || 's' end,
    coalesce(p_sign.scope, p_target), case when v_is_one then p_task else p_sign.scope_task end, p_count,
    coalesce(p_sign.reason, ''), case when v_is_one then p_old else '' end, case when v_is_one then p_new else '' end)
  on conflict (id) do update set count = a.count + excluded.count where p_adds or not v_is_one;
end $$;

-- Actions, the latest first. The role is empty if it is this program's.
create function {s}.list_actions(p_since timestamptz, p_by text, p_task text, p_after uuid, p_limit bigint)
returns setof {s}.action language plpgsql stable {plans} as $$
declare
  v_at timestamptz := 'infinity';
  v_id uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
begin
  if p_after is not null then
    select a.at, a.id into v_at, v_id from {s}.action a where a.id = p_after;
  end if;
  return query
  select a.id, a.at, a.done_by, case when a.session_role = session_user then '' else a.session_role end, a.address, a.node,
    a.verb, a.kind, a.target, a.task, a.count, a.reason, a.old_value, a.new_value
  from {s}.action a
  where (a.at, a.id) < (v_at, v_id) and a.at >= coalesce(p_since, '-infinity') and (p_by is null or a.done_by = p_by)
    and (p_task is null or a.task = p_task or a.target = p_task)
  order by a.at desc, a.id desc limit p_limit;
end $$;

-- A command about a job, or a run of a schedule, in one transaction with its action.
create function {s}.command_job(
  p_verb text, p_job uuid, p_schedule text, p_not_after timestamptz, p_sign {s}.signature)
returns text language plpgsql volatile {plans} as $$
declare
  v_task text;
  v_answer text;
begin
  if p_sign.action is not null and p_schedule is null then
    select j.task into v_task from {s}.job(p_job) j;
  end if;
  v_answer := case p_verb
    when 'cancel' then {s}.cancel_job(p_job, p_not_after)
    when 'retry' then {s}.retry_job(p_job, p_not_after)
    when 'delete' then {s}.remove_job(p_job, p_not_after)
    when 'run' then {s}.run_schedule(p_schedule, p_job, p_not_after) end;
  if v_answer = 'ok' and p_sign.action is not null then
    if p_schedule is not null then
      select s.task into v_task from {s}.schedule s where s.name = p_schedule;
    end if;
    perform {s}.sign(p_sign, p_verb, case when p_schedule is null then 'job' else 'schedule' end,
      coalesce(p_schedule, p_job::text), v_task, 1, false);
  end if;
  return v_answer;
end $$;

-- The signature of a client. The role with which it has connected stands beside the name that it gives.
define signed(by, reason) as $$
row({s}.new_id(), coalesce({by}, session_user), coalesce(host(inet_client_addr()), ''), '', coalesce({reason}, ''),
    null, null)::{s}.signature
$$;

-- Commands for any client. Each leaves an action.
create function {s}.cancel(p_job uuid, p_by text default session_user, p_reason text default '')
returns text language sql volatile security definer set {path} as $$
  select {s}.command_job('cancel', p_job, null, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.retry(p_job uuid, p_by text default session_user, p_reason text default '')
returns text language sql volatile security definer set {path} as $$
  select {s}.command_job('retry', p_job, null, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.remove(p_job uuid, p_by text default session_user, p_reason text default '')
returns text language sql volatile security definer set {path} as $$
  select {s}.command_job('delete', p_job, null, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.run_now(p_schedule text, p_job uuid, p_by text default session_user, p_reason text default '')
returns text language sql volatile security definer set {path} as $$
  select {s}.command_job('run', p_job, p_schedule, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.command_all(
  p_action text, p_task text default null, p_queue text default null, p_state text default null, p_key text default null,
  p_schedule text default null, p_after uuid default null, p_limit bigint default 1000, p_by text default session_user,
  p_reason text default '', p_has_error boolean default false, p_partition text default null, out done bigint, out last uuid)
language sql volatile security definer set {path} as $$
  select * from {s}.command_jobs(p_action, p_task, p_queue, p_state, p_key, p_schedule, p_after, p_limit, 'infinity',
    {signed(p_by, p_reason)}, p_has_error, p_partition)
$$;

-- Gives a job that waits or is parked another payload; without a version, of the same one.
create function {s}.edit(
  p_job uuid, p_payload jsonb, p_version bigint default null, p_by text default session_user, p_reason text default '')
returns text language plpgsql volatile security definer {plans} as $$
begin
  if octet_length(p_payload::text) > {payload_max} or p_version not between 0 and 4294967295 then
    raise exception 'the payload has at most {payload_max} bytes, and its version 32 bits' using errcode = '22023';
  end if;
  return {s}.edit_job(p_job, convert_to(p_payload::text, 'UTF8'),
    coalesce(p_version, (select greatest(payload_version, 1) from {s}.job where id = p_job), 1), null, 'infinity',
    {signed(p_by, p_reason)});
end $$;

-- Pauses and resumes a kind of job or a queue: no job of it is claimed until it is resumed, or until an instant.
create function {s}.pause_task(
  p_task text, p_reason text default '', p_by text default session_user, p_until timestamptz default null)
returns text language sql volatile security definer set {path} as $$
  select {s}.pause_jobs('task', p_task, p_by, p_reason, p_until, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.resume_task(p_task text, p_reason text default '', p_by text default session_user)
returns text language sql volatile security definer set {path} as $$
  select {s}.resume_jobs('task', p_task, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.pause_queue(
  p_queue text, p_reason text default '', p_by text default session_user, p_until timestamptz default null)
returns text language sql volatile security definer set {path} as $$
  select {s}.pause_jobs('queue', p_queue, p_by, p_reason, p_until, 'infinity', {signed(p_by, p_reason)})
$$;
create function {s}.resume_queue(p_queue text, p_reason text default '', p_by text default session_user)
returns text language sql volatile security definer set {path} as $$
  select {s}.resume_jobs('queue', p_queue, 'infinity', {signed(p_by, p_reason)})
$$;

