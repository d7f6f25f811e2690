/** A part of a view that is folded until it is opened, with a few words about its content. It keeps its state between views. */
import { type ReactNode, useEffect, useId } from 'react';
import { flushSync } from 'react-dom';
import { kept } from '../kept.ts';

interface FoldProps {
  readonly title: string;
  readonly brief?: ReactNode;
  readonly actions?: ReactNode;
  /** Whether the fold opens by itself, because nobody may miss its content. */
  readonly isUrgent?: boolean;
  readonly children: ReactNode;
}

const open = kept<ReadonlySet<string>>(new Set());

function setOpen(title: string, isOpen: boolean): void {
  const others = [...open.get()].filter((other) => other !== title);
  open.set(new Set(isOpen ? [...others, title] : others));
}

/** Opens a fold and goes to it. */
export function openFold(title: string): void {
  // The content is drawn before the page scrolls to it. Otherwise, the last fold on a page would end below the window.
  flushSync(() => setOpen(title, true));
  const summary = document.querySelector<HTMLElement>(`[data-fold="${title}"]`);
  summary?.scrollIntoView({ block: 'start' });
  summary?.focus();
}

export function Fold({ title, brief, actions, isUrgent = false, children }: FoldProps) {
  const id = useId();
  const isOpen = open.use().has(title);
  useEffect(() => {
    if (isUrgent) setOpen(title, true);
  }, [isUrgent, title]);
  return (
    <section className="fold" aria-labelledby={id}>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(title, currentTarget.open)}>
        <summary className="fold-head" data-fold={title}>
          <h2 id={id}>{title}</h2>
          <span className="fold-brief small soft">{brief}</span>
        </summary>
        {isOpen && (
          <div className="fold-body">
            {children}
            {actions !== undefined && <div className="row">{actions}</div>}
          </div>
        )}
      </details>
    </section>
  );
}
