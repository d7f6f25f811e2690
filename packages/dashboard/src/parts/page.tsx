/** A view: its title, its actions and its content. The title gets the focus when the view is opened. */
import { type ReactNode, useEffect, useRef } from 'react';
import './page.css';

/** Whether a view is opened by going back or forward. The browser then scrolls to the previous position. */
let isGoingBack = false;
window.addEventListener('popstate', () => {
  isGoingBack = true;
});

interface PageProps {
  readonly title: string;
  /** Shown instead of the title. The title then only names the window. */
  readonly heading?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, heading, actions, children }: PageProps) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Vouchbox`;
  }, [title]);
  useEffect(() => {
    if (!isGoingBack) window.scrollTo(0, 0);
    isGoingBack = false;
    ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="page">
      <div className="page-head">
        <h1 ref={ref} tabIndex={-1}>
          {heading ?? title}
        </h1>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
