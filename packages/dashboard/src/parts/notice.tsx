/** A short text that stands out: good news, a problem or a remark. Screen readers announce problems at once. */
import type { ReactNode } from 'react';
import './notice.css';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <div className={`notice tone-${tone}`} role={tone === 'bad' ? 'alert' : 'note'}>
      {children}
    </div>
  );
}
