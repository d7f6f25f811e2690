/** Names the packs that provide a missing library, in the same words as the command. Shows nothing if no library is missing. */
import { useQuery } from '@tanstack/react-query';
import { missingModule, missingModuleRemark, packsWith } from '@vouchbox/protocol/vocabulary';
import { useMemo } from 'react';
import { Notice } from '../parts/notice.tsx';
import { useCaller } from '../session/session.ts';
import { useCapabilities } from '../session/use-capabilities.ts';
import type { HistorySnapshot } from './job-history.ts';

interface MissingLibraryProps {
  readonly history: HistorySnapshot;
  /** Called with the pack that the person chose; absent if a pack cannot be chosen for another run. */
  readonly onChoose?: (pack: string) => void;
}

export function MissingLibrary({ history, onChoose }: MissingLibraryProps) {
  const { events, lines } = history;
  const hasFailed = events.some((event) => event.kind === 'finished' && event.data.status !== 'succeeded');
  const missing = useMemo(
    () => (hasFailed ? missingModule(lines.stderr.map(({ text }) => text).join('\n')) : null),
    [hasFailed, lines],
  );
  const { isLive } = useCaller();
  const capabilities = useQuery({ ...useCapabilities(), enabled: isLive && missing !== null });
  if (missing === null || capabilities.data === undefined) return null;
  const packs = capabilities.data.runtime_packs;
  return (
    <Notice tone="warn">
      <p>{missingModuleRemark(missing, packs, 'runtime')}</p>
      {onChoose !== undefined && (
        <div className="row">
          {packsWith(missing, packs).map((name) => (
            <button key={name} className="button" type="button" onClick={() => onChoose(name)}>
              Use {name}
            </button>
          ))}
        </div>
      )}
    </Notice>
  );
}
