/** The views and their addresses. No address contains a credential. Large views are loaded only when they are opened. */
import { lazy, Suspense } from 'react';
import { Link, Redirect, Route, Switch } from 'wouter';
import { GradingPage } from '../gradings/grading-page.tsx';
import { GradingsPage } from '../gradings/gradings-page.tsx';
import { JobPage } from '../job/job-page.tsx';
import { JobsPage } from '../jobs/jobs-page.tsx';
import { Page } from '../parts/page.tsx';

const PlaygroundPage = lazy(async () => ({
  default: (await import('../playground/playground-page.tsx')).PlaygroundPage,
}));
const StatusPage = lazy(async () => ({ default: (await import('../status/status-page.tsx')).StatusPage }));
const ServicePage = lazy(async () => ({ default: (await import('../about/service-page.tsx')).ServicePage }));
const KeyPage = lazy(async () => ({ default: (await import('../about/key-page.tsx')).KeyPage }));

export function Views() {
  return (
    <Suspense fallback={<p role="status">Loading…</p>}>
      <Switch>
        <Route path="/">
          <Redirect to="/jobs" replace />
        </Route>
        <Route path="/jobs" component={JobsPage} />
        <Route path="/jobs/:job_id">{({ job_id }) => <JobPage key={job_id} job_id={job_id} />}</Route>
        <Route path="/gradings" component={GradingsPage} />
        <Route path="/gradings/:grading_id">
          {({ grading_id }) => <GradingPage key={grading_id} grading_id={grading_id} />}
        </Route>
        <Route path="/playground" component={PlaygroundPage} />
        <Route path="/status" component={StatusPage} />
        <Route path="/service" component={ServicePage} />
        <Route path="/key" component={KeyPage} />
        <Route component={NotFound} />
      </Switch>
    </Suspense>
  );
}

/** What is shown at an address without a view. */
function NotFound() {
  return (
    <Page title="No such page">
      <p>
        This address leads to nothing. Go to <Link href="/jobs">your jobs</Link>.
      </p>
    </Page>
  );
}
