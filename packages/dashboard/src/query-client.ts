/** The data that was read from the service, and how long it is shown without another request. */
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { noticeRefusal } from './session/session.ts';

/** How many milliseconds an answer counts as fresh. */
const freshMilliseconds = 5000;

/** Only the service's client retries. If the key is refused, the session ends, unless the call had another credential. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { meta }) => {
      if (meta?.['isOtherCredential'] !== true) noticeRefusal(error);
    },
  }),
  mutationCache: new MutationCache({ onError: noticeRefusal }),
  defaultOptions: {
    queries: { retry: false, staleTime: freshMilliseconds, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});
