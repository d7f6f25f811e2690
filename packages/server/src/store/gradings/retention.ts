/** Removes gradings after the time for which the operator keeps them. The jobs of gradings are removed like all other jobs. */
import { deleteBy, GRADING } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { StoreDatabase } from '../schema.ts';

const selectEnded = prepared((db, { before, limit }: { before: string; limit: number }) =>
  db
    .selectFrom('gradings')
    .select(['tenant', 'grading_id'])
    .where('finished_at', 'is not', null)
    .where('finished_at', '<', before)
    .orderBy('finished_at')
    .limit(limit),
);

const deleteGrading = deleteBy('gradings', GRADING);

/** Removes gradings that ended before `before`, with all their rows. Returns how many were removed; 0 means that none is left. */
export async function deleteEndedGradings(
  db: StoreDatabase,
  step: { readonly before: string; readonly limit: number },
): Promise<number> {
  const ended = await selectEnded.all(db, step);
  deleteGrading.sendEach(db, ended);
  return ended.length;
}
