/** The files that a program left. Pictures are shown if their bytes are pictures; anything else can only be saved. */
import { useQuery } from '@tanstack/react-query';
import type { Artifact, JobDetail } from '@vouchbox/client';
import { decodeBase64 } from '@vouchbox/evidence';
import { printable } from '@vouchbox/protocol/vocabulary';
import { useEffect, useMemo, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { saveBytes } from '../parts/save-bytes.ts';
import { useCaller } from '../session/session.ts';
import { sizeOf } from '../words/amounts.ts';
import type { HistorySnapshot } from './job-history.ts';
import { pictureTypeOf } from './picture-type.ts';

interface ArtifactsProps {
  readonly job: JobDetail;
  readonly hasEnded: boolean;
  readonly history: HistorySnapshot;
}

export function Artifacts({ job: { job_id }, hasEnded, history }: ArtifactsProps) {
  const { client, isLive } = useCaller();
  const hasSome = history.events.some(({ kind }) => kind === 'artifact');
  const result = useQuery({
    queryKey: ['result', job_id],
    queryFn: ({ signal }) => client.result(job_id, { signal }),
    enabled: isLive && hasEnded && hasSome,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Panel title="Artifacts">
      {!hasSome && (
        <p className="soft">{hasEnded ? 'It left no files.' : 'Files are kept when the program has ended.'}</p>
      )}
      {hasSome && result.isLoading && <p role="status">Reading the files…</p>}
      {result.isError && <Failure error={result.error} />}
      {result.data && (
        <ul className="artifacts">
          {result.data.artifacts.map((artifact) => (
            <ArtifactItem key={artifact.path} artifact={artifact} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ArtifactItem({ artifact: { path, size_bytes, content_base64 } }: { readonly artifact: Artifact }) {
  const bytes = useMemo(() => decodeBase64(content_base64), [content_base64]);
  const name = printable(path, 120);
  if (bytes === null) return <li>{name} cannot be read.</li>;
  return (
    <li className="artifact">
      <span className="digest">
        <code>{name}</code> <span className="small soft">{sizeOf(size_bytes)}</span>
      </span>
      <button className="button" type="button" aria-label={`Save ${name}`} onClick={() => saveBytes(bytes, path)}>
        Save
      </button>
      <Picture bytes={bytes} name={name} />
    </li>
  );
}

/** These bytes as a picture; nothing if they are not one. */
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
