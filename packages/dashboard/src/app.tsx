/** Everything that all views share: the session, what was read, short messages and the router. */
import { QueryClientProvider } from '@tanstack/react-query';
import { Router } from 'wouter';
import { Frame } from './frame/frame.tsx';
import { Toasts } from './parts/toasts.tsx';
import { queryClient } from './query-client.ts';

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <Router base="/dashboard">
          <Frame />
        </Router>
      </Toasts>
    </QueryClientProvider>
  );
}
