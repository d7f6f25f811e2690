/** The service's capabilities, read once and then again from time to time. */
import { queryOptions } from '@tanstack/react-query';
import { useCaller } from './session.ts';

/** How many milliseconds the capabilities count as fresh. They hardly ever change. */
const freshMilliseconds = 60_000;

export function useCapabilities() {
  const { client, isLive } = useCaller();
  return queryOptions({
    queryKey: ['capabilities'],
    queryFn: ({ signal }) => client.capabilities({ signal }),
    enabled: isLive,
    staleTime: freshMilliseconds,
  });
}
