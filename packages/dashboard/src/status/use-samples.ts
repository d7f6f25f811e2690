/** The status of the service, requested repeatedly while the view is visible, and its history. */
import { useQuery } from '@tanstack/react-query';
import type { ServiceStatus } from '@vouchbox/client';
import { useCaller } from '../session/session.ts';

/** One answer, as charts need it. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly depth: number;
  readonly running: number;
  readonly parked: number;
}

/** Milliseconds between two questions, and how many answers are kept. The service has no signal for this. */
const askedMilliseconds = 2000;
const samplesMax = 900;

/** They stay when another view is opened. */
let samples: readonly Sample[] = [];

function remember({ queue, running, parked }: ServiceStatus): void {
  samples = [...samples.slice(1 - samplesMax), { at: Date.now(), depth: queue.depth, running, parked: parked.cells }];
}

export function useSamples() {
  const { client, isLive } = useCaller();
  const { data, error } = useQuery({
    queryKey: ['status'],
    queryFn: async ({ signal }) => {
      const status = await client.status({ signal });
      remember(status);
      return { status, samples };
    },
    enabled: isLive,
    refetchInterval: askedMilliseconds,
    staleTime: 0,
  });
  return { status: data?.status, samples: data?.samples ?? samples, error };
}
