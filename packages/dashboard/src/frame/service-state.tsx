/** Shows whether the service can be reached and accepts jobs. The request for this is public and uses no budget. */
import { onlineManager, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { Tone } from '../parts/notice.tsx';
import { useCaller } from '../session/session.ts';

/** Milliseconds between two requests while the page is visible. */
const askedMilliseconds = 10_000;

export function ServiceState() {
  const { client } = useCaller();
  const isOnline = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
  const readiness = useQuery({
    queryKey: ['readiness'],
    queryFn: ({ signal }) => client.readiness({ signal }),
    refetchInterval: askedMilliseconds,
  });
  const [tone, words] = stateOf(isOnline, readiness.isError, readiness.data?.status);
  return (
    <p className="service-state small" role="status" data-tone={tone}>
      {words}
    </p>
  );
}

function stateOf(isOnline: boolean, isUnreachable: boolean, status: 'ready' | 'unready' | undefined): [Tone, string] {
  if (!isOnline) return ['bad', 'You are offline'];
  if (isUnreachable) return ['bad', 'Service unreachable'];
  if (status === undefined) return ['quiet', 'Connecting…'];
  return status === 'ready' ? ['good', 'Service ready'] : ['warn', 'Service not ready'];
}
