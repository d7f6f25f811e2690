/** The status of the service, requested repeatedly while the view is visible: the service does not announce changes. */
import { useQuery } from '@tanstack/react-query';
import { useCaller } from '../session/session.ts';

const askedMilliseconds = 2000;

export function useStatus() {
  const { client, isLive } = useCaller();
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => client.status({ signal }),
    enabled: isLive,
    refetchInterval: askedMilliseconds,
    staleTime: 0,
  });
}
