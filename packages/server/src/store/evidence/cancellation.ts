/** Requests to end a job. A queued job ends here; for a running job, the request is recorded once. */
import type { EventBody } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { JOB, selectBy, updateBy } from '../by-column.ts';
import { extendChain, storedEvents } from '../history/events.ts';
import { claimantOf } from '../jobs/claims.ts';
import { peerOf } from '../jobs/pairs.ts';
import type { CancelResult } from '../records/answers.ts';
import type { CancelInput } from '../records/inputs.ts';
import type { StoreDatabase } from '../schema.ts';
import { finish } from './outcomes.ts';

const selectForCancel = selectBy('jobs', JOB, [...JOB, 'status', 'cancellation_requested', 'chain_seq', 'chain_head']);
const markRequested = updateBy('jobs', JOB, [], { to: { cancellation_requested: 1 } });

/** Requests the end of a job and, if the job is in a pair, of the other job. A queued job ends now; a running job is marked. */
export async function requestCancel(db: StoreDatabase, input: CancelInput): Promise<CancelResult> {
  const result = await cancelOne(db, input);
  if (result.kind === 'not_found' || result.kind === 'already_terminal') return result;
  const peer = await peerOf(db, input);
  if (peer === null) return result;
  await cancelOne(db, { ...input, job_id: peer });
  return { ...result, peer };
}

async function cancelOne(db: StoreDatabase, input: CancelInput): Promise<CancelResult> {
  const job = await selectForCancel.first(db, input);
  if (job === null) return { kind: 'not_found' };
  if (isTerminal(job.status)) return { kind: 'already_terminal' };
  // The clock may have been set back, but the end of a job must not be earlier than its last event.
  const [last] = await storedEvents(db, { ...job, after: job.chain_seq - 1, until: job.chain_seq });
  const at = [last?.timestamp ?? '', input.at].toSorted().at(-1) ?? input.at;
  const requested: EventBody[] =
    job.cancellation_requested === 1
      ? []
      : [{ kind: 'cancel_requested', timestamp: at, data: { principal: input.principal } }];
  markRequested.send(db, input);
  if (job.status === 'queued') return cancelQueued(db, { ...input, at }, requested);
  extendChain(db, job, requested);
  return { kind: 'running', node: await claimantOf(db, input) };
}

async function cancelQueued(
  db: StoreDatabase,
  { tenant, job_id, at }: CancelInput,
  events: readonly EventBody[],
): Promise<CancelResult> {
  await finish(db, {
    tenant,
    job_id,
    status: 'cancelled',
    terminal_reason: 'cancelled',
    exit_code: null,
    signal: null,
    finished_at: at,
    duration_ms: null,
    events,
    artifacts: [],
    execution: null,
    usage: null,
    output: null,
    recovery: false,
  });
  return { kind: 'cancelled' };
}
