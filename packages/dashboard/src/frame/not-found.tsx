/** An address that is no view. */
import { Link } from '@tanstack/react-router';
import { Page } from '../parts/page.tsx';

export function NotFound() {
  return (
    <Page title="No such page">
      <p>
        This address leads to nothing. Go to <Link to="/jobs">your jobs</Link>.
      </p>
    </Page>
  );
}
