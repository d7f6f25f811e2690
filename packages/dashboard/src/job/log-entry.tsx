/** Shows what the service's log says about a job. Nothing is checked here: a check needs the log's key, pinned by the reader. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { ServiceFailure } from '@vouchbox/client';
import { type LogProof, parseLogProof } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf } from '@vouchbox/protocol/words';
import { Facts } from '../parts/facts.tsx';
import { Failure } from '../parts/failure.tsx';
import { Fold } from '../parts/fold.tsx';
import { saveBytes } from '../parts/save-bytes.ts';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import { failureWords } from '../words/failure-words.ts';
import { logWord } from '../words/log-words.ts';

/** Shows the job's place in the log, or nothing if the service keeps no log. */
export function LogEntry({ job_id }: { readonly job_id: string }) {
  const capabilities = useQuery(useCapabilities());
  if (capabilities.data?.features.includes('transparency_log') !== true) return null;
  return (
    <Fold title="Transparency log" brief="where the statement is in the log of the service">
      <LoggedAt job_id={job_id} />
    </Fold>
  );
}

function LoggedAt({ job_id }: { readonly job_id: string }) {
  const { client, isLive } = useCaller();
  const proof = useQuery({
    queryKey: ['log-proof', job_id],
    queryFn: async ({ signal }) => proofIn((await client.logProof(job_id, { signal })).bytes),
    enabled: isLive,
    staleTime: Number.POSITIVE_INFINITY,
    // The client has already waited for a head, so a log that still has none is asked less often from now on.
    refetchInterval: ({ state: { error } }) => (isAwaited(error) ? recheckMilliseconds : false),
  });
  return (
    <>
      {proof.isLoading && <p role="status">Reading the proof…</p>}
      {proof.isError && <NoProof error={proof.error} />}
      {proof.data && <ProofFacts proof={proof.data} />}
      {proof.data && (
        <div className="row">
          <SaveProof job_id={job_id} />
        </div>
      )}
    </>
  );
}

const recheckMilliseconds = 5000;

function NoProof({ error }: { readonly error: Error }) {
  if (isAwaited(error)) return <p role="status">NOT LOGGED: it waits for its place and a signed head.</p>;
  if (codeOf(error) === 'not_logged') return <p>NOT LOGGED: no log was kept when this result was signed.</p>;
  return <Failure error={error} />;
}

function ProofFacts({ proof: { index, checkpoint } }: { readonly proof: LogProof }) {
  return (
    <>
      <Facts
        facts={[
          ['Log', printable(checkpoint.origin)],
          ['Place', `statement ${index}, under a head of ${amountOf(checkpoint.size, 'statement')}`],
          ['Witnesses', logWord(checkpoint)],
        ]}
      />
      <p className="soft">
        This is what the service says. Check the saved proof with service-verify and the key of the log.
      </p>
    </>
  );
}

/** Saves the proof. Fetches it again first, so that it has the latest head and all witnesses that have signed that head. */
function SaveProof({ job_id }: { readonly job_id: string }) {
  const { client } = useCaller();
  const show = useToast();
  const fetched = useMutation({
    mutationFn: () => client.logProof(job_id),
    onSuccess: ({ bytes }) => saveBytes(bytes, `${job_id}.tlog-proof`),
    onError: (error) => show(failureWords(error).sentence),
  });
  return (
    <button className="button" type="button" disabled={fetched.isPending} onClick={() => fetched.mutate()}>
      Save the proof
    </button>
  );
}

function proofIn(bytes: Uint8Array): LogProof {
  const result = parseLogProof(bytes);
  if (result.kind === 'refused') throw new Error(`The proof cannot be read: ${result.reason}.`);
  return result.proof;
}

const codeOf = (error: Error | null) => (error instanceof ServiceFailure ? error.code : null);
const isAwaited = (error: Error | null) => AWAITED.has(codeOf(error) ?? '');
const AWAITED: ReadonlySet<string> = new Set(['log_proof_unavailable', 'attestation_unavailable']);
