/** The views, in the order in which they are used. */
import { Link } from '@tanstack/react-router';

const VIEWS = [
  { to: '/jobs', name: 'Jobs' },
  { to: '/service', name: 'Capabilities' },
  { to: '/key', name: 'Keys' },
] as const;

export function Navigation() {
  return (
    <nav aria-label="Views">
      <ul className="navigation">
        {VIEWS.map(({ to, name }) => (
          <li key={to}>
            <Link to={to} className="navigation-link" activeProps={{ 'aria-current': 'page' }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
