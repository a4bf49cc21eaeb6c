-- PostgreSQL gives a function that is made to everybody. Here each role gets what it needs: see docs/cluster.md.
-- The schema may have functions of others. A table of another role that has a column of one of the types would keep a later migration
-- from changing it.
revoke execute on function {functions} from public;
revoke usage on type {s}.session, {s}.ended_session, {s}.schedule, {s}.job, {s}.key, {s}.pause, {s}.action, {s}.signature, {s}.done,
  {s}.meta, {s}.jobs, {s}.line, {s}.walk, {s}.turn, {s}.place, {s}.limits, {s}.partition_order, {s}.task_limit, {s}.arrival, {s}.failing,
  {s}.firing, {s}.run_end from public;
