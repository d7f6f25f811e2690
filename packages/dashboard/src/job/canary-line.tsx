/** The findings of the canary that is named in a job's signed statement. */
import { useQuery } from '@tanstack/react-query';
import { ServiceFailure } from '@vouchbox/client';
import {
  canaryFindings,
  decodeEnvelope,
  decodeStatement,
  type ExecutionPredicate,
  readPredicate,
} from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';
import type { ReactNode } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { useCaller } from '../session/session.ts';

export function CanaryLine({ job_id }: { readonly job_id: string }) {
  const { client, isLive } = useCaller();
  const canary = useQuery({
    queryKey: ['canary', job_id],
    queryFn: async ({ signal }) => predicateIn((await client.canary(job_id, { signal })).bytes),
    enabled: isLive,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (canary.isError && !isMissing(canary.error)) return <Failure error={canary.error} />;
  if (canary.isPending) return null;
  return <p className="small soft">{wordsOf(canary.data ?? null)}</p>;
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.code === 'canary_not_found' || error.code === 'route_not_found');
}

function predicateIn(envelope: Uint8Array): ExecutionPredicate | null {
  const decoded = decodeEnvelope(envelope);
  const statement = decoded.kind === 'refused' ? null : decodeStatement(decoded.envelope.payload);
  const read = statement?.kind === 'statement' ? readPredicate(statement.statement.predicate) : null;
  return read?.kind === 'predicate' ? read.predicate : null;
}

function wordsOf(canary: ExecutionPredicate | null): ReactNode {
  if (canary === null) return 'It names no canary: none had ended in such a cell before it.';
  const { tries, problem } = canaryFindings(canary);
  return (
    <>
      Its canary, which ended at <Moment at={printable(canary.finishedAt)} />
      {problem === null
        ? ` in another cell of this kind, was refused all ${tries.length} tries.`
        : `, found a hole: ${printable(problem)}.`}
    </>
  );
}
