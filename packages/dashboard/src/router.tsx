/** The views and their addresses. No address holds a credential. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { Frame } from './frame/frame.tsx';
import { NotFound } from './frame/not-found.tsx';
import { Unexpected } from './frame/unexpected.tsx';
import { JobPage } from './job/job-page.tsx';
import { readFilters } from './jobs/filters.ts';
import { JobsPage } from './jobs/jobs-page.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Unexpected });

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/jobs' });
    },
  }),
  createRoute({ getParentRoute: () => root, path: '/jobs', component: JobsPage, validateSearch: readFilters }),
  createRoute({ getParentRoute: () => root, path: '/jobs/$job_id', component: JobPage }),
  createRoute({
    getParentRoute: () => root,
    path: '/service',
    component: lazyRouteComponent(() => import('./about/service-page.tsx'), 'ServicePage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/key',
    component: lazyRouteComponent(() => import('./about/key-page.tsx'), 'KeyPage'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/dashboard',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
