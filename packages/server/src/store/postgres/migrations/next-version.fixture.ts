/**
 * For tests of upgrades: the steps of a later version. They add a column to rows that older code reads and writes, fill the
 * column, and then refuse claims by nodes that do not know the column.
 */
import { type PostgresStep, rangeOf, STEPS } from './steps.ts';

const expand = `
alter table jobs add column outcome text collate "C";
alter table credentials add column note text collate "C";
alter table stream_tickets add column note text collate "C";
`;

const backfill = `
with batch as (
  select tenant, job_id from jobs
  where (tenant, job_id) > (coalesce($1::jsonb ->> 0, ''), coalesce($1::jsonb ->> 1, ''))
  order by tenant, job_id limit $2
), moved as (
  update jobs set outcome = status from batch
  where jobs.tenant = batch.tenant and jobs.job_id = batch.job_id and finished_at is not null and outcome is null
  returning 1
)
select (select count(*)::int from moved) as rows,
  (select jsonb_build_array(tenant, job_id)::text from batch order by tenant desc, job_id desc limit 1) as position`;

const version = rangeOf(STEPS).knows + 3;

/** With this step, an older node can no longer claim anything: its jobs would fail. */
const contract = `
create function refuse_older() returns trigger language plpgsql as $$ begin
  if (select schema_knows from nodes where node = new.node) < ${version} then raise exception 'too old'; end if; return new; end $$;
create trigger refuse_older before insert on claims for each row execute function refuse_older();
`;

export const NEXT_STEPS: readonly PostgresStep[] = [
  ...STEPS,
  { name: '9001-outcomes', kind: 'expand', sql: expand },
  { name: '9002-fill-outcomes', kind: 'backfill', sql: backfill },
  { name: '9003-only-outcomes', kind: 'contract', sql: contract },
];
