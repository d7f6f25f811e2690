/** A tenant's current jobs by language, for the tenant's own metrics. */
import { LANGUAGES } from '@vouchbox/protocol/vocabulary';
import { prepared } from '../prepared.ts';
import type { CurrentJobs } from '../records/answers.ts';
import type { StoreDatabase } from '../schema.ts';
import { tenantCounts } from './tenants.ts';

/** Counts a tenant's jobs of one status by language. The query reads one range of an index, so ended jobs cost nothing. */
const byLanguage = prepared((db, { tenant, status }: { tenant: string; status: 'queued' | 'running' }) =>
  db
    .selectFrom('jobs')
    .select((row) => ['language', row.fn.countAll<number>().as('jobs')])
    .where('tenant', '=', tenant)
    .where('status', '=', status)
    .groupBy('language'),
);

/** One tenant's queued and running jobs. */
export async function currentJobs(db: StoreDatabase, tenant: string): Promise<CurrentJobs> {
  const queued = await byLanguage.all(db, { tenant, status: 'queued' });
  const running = await byLanguage.all(db, { tenant, status: 'running' });
  const jobsIn = (rows: typeof queued, language: string) =>
    Number(rows.find((row) => row.language === language)?.jobs ?? 0);
  return {
    ...(await tenantCounts(db, tenant)),
    languages: LANGUAGES.map((language) => ({
      language,
      queued: jobsIn(queued, language),
      running: jobsIn(running, language),
    })),
  };
}
