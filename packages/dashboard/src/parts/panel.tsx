/** A part of a view that has its own heading. */
import { type ReactNode, useId } from 'react';

interface PanelProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** Whether the panel takes the whole width. Other panels share the width. */
  readonly isWide?: boolean;
  /** Whether the panel is as tall as two stacked panels beside it. */
  readonly isTall?: boolean;
  readonly children: ReactNode;
}

export function Panel({ title, actions, isWide = false, isTall = false, children }: PanelProps) {
  const id = useId();
  return (
    <section className={`panel ${isWide ? 'wide' : isTall ? 'tall' : ''}`} aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
