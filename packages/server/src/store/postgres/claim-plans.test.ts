/** A node takes jobs from a queue of any length by the order of one index, whatever the server believes of the length. */
import { expect, inject, test, vi } from 'vitest';
import { admit } from '../jobs/admission.ts';
import { takeQueuedJobs } from '../jobs/queue.ts';
import type { BoundQuery } from '../prepared.ts';
import { admission, choice, newKey } from '../store.fixture.ts';
import type { Session } from './connection.ts';
import { dropSchema, newSchema } from './schema.fixture.ts';
import { WritingSession } from './writing-session.ts';

const ABLE = { languages: ['python'], packs: [], isolation: ['none'], memMbMax: 512 };

/** The queries of a claim with their parameters. */
async function queriesOfClaim(session: Session): Promise<readonly BoundQuery[]> {
  const asked = vi.spyOn(session, 'execute');
  try {
    await takeQueuedJobs(session.db, choice({ exclude: [], limit: 1, abilities: ABLE }));
    return asked.mock.calls.map(([query]) => query);
  } finally {
    asked.mockRestore();
  }
}

/** The plan as lines of text. */
async function planOf(session: Session, { sql, parameters }: BoundQuery): Promise<string> {
  const asked = { sql: `explain ${sql}`, parameters };
  const { rows } = await session.execute<{ 'QUERY PLAN': string }>(asked);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

test.each(['knows nothing of the tables', 'has counted the tables'])(
  'while the server %s, no query of a claim sorts or reads through a table',
  async (knowledge) => {
    const url = await newSchema(inject('postgresUrl'));
    try {
      await using writing = await WritingSession.open(url, {});
      const session = await writing.current();
      session.begin();
      for (let at = 0; at < 200; at++) await admit(session.db, admission(newKey('acme')));
      await session.commit();
      if (knowledge.startsWith('has')) await session.execute({ sql: 'analyze', parameters: [] });
      const queries = await queriesOfClaim(session);
      const plans: string[] = [];
      for (const query of queries) plans.push(await planOf(session, query));
      expect(plans.filter((plan) => /Sort|Seq Scan|Bitmap|Hash/.test(plan))).toEqual([]);
      expect(plans.filter((plan) => plan.includes('queue_by_time'))).toHaveLength(1);
    } finally {
      await dropSchema(url);
    }
  },
);
