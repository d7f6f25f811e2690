/** A part of a view with a heading of its own. */
import { type ReactNode, useId } from 'react';

interface PanelProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** Whether the panel takes the whole width where other panels stand side by side. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

export function Panel({ title, actions, isWide = false, children }: PanelProps) {
  const id = useId();
  return (
    <section className={isWide ? 'panel wide' : 'panel'} aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
