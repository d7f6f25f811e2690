/** The data read from the service, and for how long it is shown without another request. */
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { noticeRefusal } from './session/session.ts';

/** Milliseconds for which an answer counts as fresh. */
const freshMilliseconds = 5000;

/** Only the service's client retries. A refused key ends the session, unless the refused call had another credential. */
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
