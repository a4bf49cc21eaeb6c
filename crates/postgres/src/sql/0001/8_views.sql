-- For people.

-- A payload as JSON; null if the job has none, or one that PostgreSQL cannot read as JSON: no JSON, too long, or too deep.
create function {s}.as_json(p_payload bytea) returns jsonb language plpgsql stable parallel safe set {path} as $$
begin
  return nullif(convert_from(p_payload, 'UTF8'), '')::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

-- All jobs, those that have ended among them.
create view {s}.jobs as
  select j.id, j.task, {s}.as_json(j.payload) as payload, j.payload_version as version, j.state, j.partition, j.key, j.queue,
    (array['low', 'normal', 'high', 'urgent'])[j.priority + 1] as priority, j.run_at, j.attempt, j.max_attempts, j.lost,
    case when j.is_abandoned then 'abandon' else 'rerun' end as on_lost, j.schedule, j.tick, j.session, j.created_at, j.started_at,
    j.finished_at, j.error, j.progress
  from (
    select * from {s}.job
    union all
    select ended.* from {s}.done d cross join lateral {done_jobs()} ended) j;
