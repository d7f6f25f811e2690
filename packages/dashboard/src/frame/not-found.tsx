/** What is shown at an address without a view. */
import { Link } from 'wouter';
import { Page } from '../parts/page.tsx';

export function NotFound() {
  return (
    <Page title="No such page">
      <p>
        This address leads to nothing. Go to <Link href="/jobs">your jobs</Link>.
      </p>
    </Page>
  );
}
