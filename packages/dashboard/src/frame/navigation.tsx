/** The views, in the order in which they are used. */
import { Link, useLocation } from 'wouter';

const VIEWS = [
  { to: '/jobs', name: 'Jobs' },
  { to: '/gradings', name: 'Gradings' },
  { to: '/playground', name: 'Playground' },
  { to: '/status', name: 'Status' },
  { to: '/service', name: 'Capabilities' },
  { to: '/key', name: 'Keys' },
] as const;

export function Navigation() {
  const [view] = useLocation();
  return (
    <nav aria-label="Views">
      <ul className="navigation">
        {VIEWS.map(({ to, name }) => (
          <li key={to}>
            <Link href={to} className="navigation-link" aria-current={view.startsWith(to) ? 'page' : undefined}>
              {name}
            </Link>
          </li>
        ))}
        <li>
          {/* Opens in a new tab, because this page would forget its key otherwise. */}
          <a href="/docs" target="_blank" rel="noreferrer" className="navigation-link">
            Documents
          </a>
        </li>
      </ul>
    </nav>
  );
}
