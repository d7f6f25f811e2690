/** The files that a program left, if any. A file whose bytes are a picture is shown; any other file can only be saved. */
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Artifact, JobDetail, ServiceClient } from '@vouchbox/client';
import { decodeBase64 } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';
import { pictureTypeOf, sizeOf } from '@vouchbox/protocol/words';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { saveBytes } from '../parts/save-bytes.ts';
import { useToast } from '../parts/toasts.tsx';
import { useCaller } from '../session/session.ts';
import { failureWords } from '../words/failure-words.ts';
import type { HistorySnapshot } from './job-history.ts';

interface ArtifactsProps {
  readonly job: JobDetail;
  readonly hasEnded: boolean;
  readonly history: HistorySnapshot;
}

export function Artifacts({ job: { job_id, large_outputs = [] }, hasEnded, history }: ArtifactsProps) {
  const { client, isLive } = useCaller();
  const hasSome = history.events.some(({ kind }) => kind === 'artifact');
  const result = useQuery({
    queryKey: ['result', job_id],
    queryFn: ({ signal }) => client.result(job_id, { signal }),
    enabled: isLive && hasEnded && hasSome,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!hasSome && large_outputs.length === 0) return null;
  return (
    <Panel title="Files that it left">
      {hasSome && result.isLoading && <p role="status">Reading the files…</p>}
      {result.isError && <Failure error={result.error} />}
      {result.data && (
        <ul className="artifacts">
          {result.data.artifacts.map((artifact) => (
            <ArtifactItem key={artifact.path} artifact={artifact} />
          ))}
        </ul>
      )}
      {large_outputs.length > 0 && (
        <ul className="artifacts">
          {large_outputs.map((output) => (
            <LargeOutput key={output.path} output={output} client={client} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface LargeOutputProps {
  readonly output: NonNullable<JobDetail['large_outputs']>[number];
  readonly client: ServiceClient;
}

/** A file that is fetched by its digest only when somebody asks for it. */
function LargeOutput({ output: { path, size_bytes, sha256 }, client }: LargeOutputProps) {
  const show = useToast();
  const fetched = useMutation({
    mutationFn: () => client.download(`sha256:${sha256}`),
    onSuccess: ({ bytes }) => saveBytes(bytes, path),
    onError: (error) => show(failureWords(error).sentence),
  });
  return (
    <SavedFile
      name={printable(path, 120)}
      size={size_bytes}
      isBusy={fetched.isPending}
      onSave={() => fetched.mutate()}
    />
  );
}

interface SavedFileProps {
  readonly name: string;
  readonly size: number;
  readonly isBusy?: boolean;
  readonly onSave: () => void;
  readonly children?: ReactNode;
}

function SavedFile({ name, size, isBusy = false, onSave, children }: SavedFileProps) {
  return (
    <li className="artifact">
      <span className="digest">
        <code>{name}</code> <span className="small soft">{sizeOf(size)}</span>
      </span>
      <button className="button" type="button" aria-label={`Save ${name}`} disabled={isBusy} onClick={onSave}>
        {isBusy ? 'Fetching…' : 'Save'}
      </button>
      {children}
    </li>
  );
}

function ArtifactItem({ artifact: { path, size_bytes, content_base64 } }: { readonly artifact: Artifact }) {
  const bytes = useMemo(() => decodeBase64(content_base64), [content_base64]);
  const name = printable(path, 120);
  if (bytes === null) return <li>{name} cannot be read.</li>;
  return (
    <SavedFile name={name} size={size_bytes} onSave={() => saveBytes(bytes, path)}>
      <Picture bytes={bytes} name={name} />
    </SavedFile>
  );
}

/** Shows bytes as a picture, or nothing if they are no picture. */
function Picture({ bytes, name }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly name: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const type = pictureTypeOf(bytes);
    if (type === null) return;
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  return url !== null && <img className="artifact-picture" src={url} alt={name} decoding="async" />;
}
