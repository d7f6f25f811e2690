/** Starts the dashboard in index.html: the session, the data that was read, short messages and the router. */
import { QueryClientProvider } from '@tanstack/react-query';
import './styles/base.css';
import './styles/controls.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { Frame } from './frame/frame.tsx';
import { Toasts } from './parts/toasts.tsx';
import { queryClient } from './query-client.ts';

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <Toasts>
          <Router base="/dashboard">
            <Frame />
          </Router>
        </Toasts>
      </QueryClientProvider>
    </StrictMode>,
  );
}
