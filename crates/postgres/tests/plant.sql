-- As a plain role that may create something in `public`, and owns the schema `mallory`: functions, operators, casts, types and
-- relations under each name that the words of `mallory.word` have in the catalogue. The types are those of the schema `reference`.
-- Each one that is called is counted, and fails.
set check_function_bodies = off;
create sequence mallory.calls;
create table mallory.planted (what text primary key);
grant usage on schema mallory to public;
grant usage on sequence mallory.calls to public;
create type mallory.own as (own text);

create function mallory.trap() returns text language plpgsql as $$
begin
  perform pg_catalog.nextval('mallory.calls');
  raise exception 'something planted was called';
end $$;

-- Creates something, unless it cannot be, or is there.
create function mallory.plant(p_sql text) returns void language plpgsql as $$
begin
  execute p_sql;
  insert into mallory.planted values (p_sql);
exception when others then
  null;
end $$;

create function mallory.plant_function(p_schema text, p_name text, p_args oid[], p_returns oid, p_is_set boolean, p_is_aggregate boolean)
returns void language plpgsql as $$
declare
  v_name text := format('%I.%I', p_schema, p_name);
  v_args text := array_to_string(p_args::regtype[]::text[], ', ');
  v_body text := format('begin perform pg_catalog.nextval(''mallory.calls''); raise exception ''%s was called''; end',
    replace(v_name, '''', ''));
  v_step text := format('%I.%I', p_schema, 'step_' || md5(p_name || v_args));
begin
  if p_is_aggregate then
    perform mallory.plant(format('create function %s(text, %s) returns text language plpgsql as %L', v_step, v_args, v_body));
    perform mallory.plant(format('create aggregate %s(%s) (sfunc = %s, stype = text, initcond = '''')', v_name, v_args, v_step));
  else
    perform mallory.plant(format('create function %s(%s) returns %s %s language plpgsql as %L', v_name, v_args,
      case when p_is_set then 'setof' end, p_returns::regtype, v_body));
  end if;
end $$;

create function mallory.plant_operator(p_schema text, p_name text, p_left oid, p_right oid, p_returns oid) returns void
language plpgsql as $$
declare
  v_step text := format('operate_%s_%s_%s', p_left, p_right, p_returns);
begin
  if to_regproc(format('%I.%I', p_schema, v_step)) is null then
    perform mallory.plant_function(p_schema, v_step, array_remove(array[nullif(p_left, 0), p_right], null), p_returns, false, false);
  end if;
  perform mallory.plant(format('create operator %I.%s (%s rightarg = %s, function = %I.%I)', p_schema, p_name,
    case when p_left <> 0 then 'leftarg = ' || p_left::regtype || ',' end, p_right::regtype, p_schema, v_step));
end $$;

-- The types of columns and arguments, and those that lie between them in an expression.
create view mallory.kind as
  select t.oid, t.typarray from pg_type t
  where t.typtype = 'b' and t.typcategory <> 'A' and t.oid in (
    select case when k.typcategory = 'A' then k.typelem else k.oid end from pg_type k where k.oid in (
      select a.atttypid from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'reference'::regnamespace and a.attnum > 0
      union select unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]) || p.prorettype) from pg_proc p
      where p.pronamespace = 'reference'::regnamespace)
    union select unnest(array['numeric', 'float8', 'oid', 'regclass', 'name', 'bit']::regtype[]));

-- Functions and aggregates of the catalogue that have one of the names.
create view mallory.known as
  select p.proname as name, p.proargtypes::oid[] as args, p.prorettype as returns, p.proretset as is_set, p.prokind = 'a' as is_aggregate,
    exists (select from unnest(p.proargtypes) a join pg_type t on t.oid = a where t.typtype = 'p') as is_open
  from pg_proc p join mallory.word w on w.word = p.proname where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind <> 'p';

-- A type, with an element in the place of an open one.
create function mallory.closed(p_type oid, p_element oid, p_array oid) returns oid language sql as $$
  select case when t.typtype <> 'p' then t.oid when t.typname like 'any%array' and t.typname not like '%nonarray' then p_array
    when t.typname like 'any%' then p_element when t.typname = 'record' then 'text'::regtype else t.oid end
  from pg_type t where t.oid = p_type
$$;

create function mallory.plant_all(p_schema text) returns void language plpgsql as $$
begin
  -- Functions as they are, and with each type in the place of an open one.
  perform mallory.plant_function(p_schema, f.name, f.args, f.returns, f.is_set, f.is_aggregate) from mallory.known f where not f.is_open;
  perform mallory.plant_function(p_schema, f.name, array(select mallory.closed(a, k.oid, k.typarray) from unnest(f.args) a),
    mallory.closed(f.returns, k.oid, k.typarray), f.is_set, f.is_aggregate)
  from mallory.known f cross join mallory.kind k where f.is_open;
  -- Operators.
  perform mallory.plant_operator(p_schema, o.oprname, o.oprleft, o.oprright, o.oprresult)
  from pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace and (o.oprleft in (select oid from mallory.kind)
    or o.oprright in (select oid from mallory.kind));
  perform mallory.plant_operator(p_schema, o.oprname, mallory.closed(o.oprleft, k.oid, k.typarray),
    mallory.closed(o.oprright, k.oid, k.typarray), mallory.closed(o.oprresult, k.oid, k.typarray))
  from pg_operator o cross join mallory.kind k where o.oprnamespace = 'pg_catalog'::regnamespace and (
    o.oprleft in (select oid from pg_type where typtype = 'p') or o.oprright in (select oid from pg_type where typtype = 'p'));
  -- Types: a value of one is checked.
  perform mallory.plant(format('create domain %I.%I as %s check (mallory.trap() is null)', p_schema, t.typname, t.oid::regtype))
  from pg_type t where t.oid in (select oid from mallory.kind);
  -- Relations: of the schema, and of the catalogue.
  perform mallory.plant(format('create view %I.%I as select mallory.trap() as planted', p_schema, c.relname))
  from pg_class c where c.relkind in ('r', 'v') and (c.relnamespace = 'reference'::regnamespace
    or (c.relnamespace = 'pg_catalog'::regnamespace and c.relname in (select word from mallory.word)));
end $$;

-- All that has up to two arguments, with any types: the exact ones are found before those to which others can be cast.
create function mallory.plant_any(p_schema text) returns void language plpgsql as $$
begin
  perform mallory.plant_function(p_schema, f.name, array[k.oid], 'text'::regtype, false, f.is_aggregate)
  from (select distinct name, is_aggregate from mallory.known where cardinality(args) = 1) f
  cross join (select oid from mallory.kind union select typarray from mallory.kind union select 'mallory.own'::regtype) k;
  perform mallory.plant_function(p_schema, f.name, array[k.oid, l.oid], 'text'::regtype, false, f.is_aggregate)
  from (select distinct name, is_aggregate from mallory.known where cardinality(args) = 2) f
  cross join mallory.kind k cross join mallory.kind l;
  perform mallory.plant_operator(p_schema, o.name, k.oid, l.oid,
    case when o.name in ('+', '-', '*', '/', '%', '&', '|', '>>') then k.oid else 'boolean'::regtype end)
  from unnest(array['=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '&', '|', '>>', '||', '~~', '~', '&&', '@>', '->>']) o(name)
  cross join mallory.kind k cross join mallory.kind l;
end $$;

select mallory.plant_all('mallory');
select mallory.plant_any('mallory');
select mallory.plant_all('public');
-- Casts belong to the role that owns one of the types.
select mallory.plant_function('mallory', 'cast_' || k.oid, array[k.oid], 'mallory.own'::regtype, false, false) from mallory.kind k;
select mallory.plant(format('create cast (%s as mallory.own) with function mallory.cast_%s(%s) as implicit', k.oid::regtype, k.oid,
  k.oid::regtype)) from mallory.kind k;
