/** The tools above a log: they choose how it is shown, and copy and save it. */
import { Toggle } from '@base-ui/react/toggle';
import { ToggleGroup } from '@base-ui/react/toggle-group';
import type { RefObject } from 'react';
import { useCopy } from '../parts/copy-button.tsx';
import { saveBytes } from '../parts/save-bytes.ts';
import { canFold, logText, type OutputLine, outermostFolds } from './log-lines.ts';

const STREAMS = ['both', 'stdout', 'stderr'] as const;

/** How a log is shown. */
export interface LogView {
  readonly shown: (typeof STREAMS)[number];
  readonly isWrapped: boolean;
  readonly isTimed: boolean;
  /** The numbers of the folded lines: the lines indented under these are hidden. */
  readonly folded: ReadonlySet<number>;
  /** The sought text; empty if nothing is sought. */
  readonly sought: string;
}

export const FIRST_VIEW: LogView = { shown: 'both', isWrapped: false, isTimed: false, folded: new Set(), sought: '' };

interface ViewToolsProps {
  readonly lines: readonly OutputLine[];
  readonly view: LogView;
  readonly onChange: (part: Partial<LogView>) => void;
}

export function ViewTools({ lines, view: { shown, isWrapped, isTimed, folded }, onChange }: ViewToolsProps) {
  const fold = (isPressed: boolean) => onChange({ folded: isPressed ? outermostFolds(lines) : new Set() });
  return (
    <>
      <ToggleGroup
        className="output-streams"
        aria-label="Streams"
        value={[shown]}
        onValueChange={([next]: LogView['shown'][]) => next !== undefined && onChange({ shown: next })}
      >
        {STREAMS.map((name) => (
          <Toggle key={name} value={name} className="output-toggle">
            {name}
          </Toggle>
        ))}
      </ToggleGroup>
      <Toggle
        className="output-toggle"
        pressed={isWrapped}
        onPressedChange={(isPressed) => onChange({ isWrapped: isPressed })}
      >
        wrap
      </Toggle>
      <Toggle
        className="output-toggle"
        pressed={isTimed}
        onPressedChange={(isPressed) => onChange({ isTimed: isPressed })}
      >
        times
      </Toggle>
      <Toggle
        className="output-toggle"
        pressed={folded.size > 0}
        disabled={folded.size === 0 && !lines.some((_line, place) => canFold(lines, place))}
        onPressedChange={fold}
      >
        fold
      </Toggle>
    </>
  );
}

interface SaveToolsProps {
  readonly job_id: string;
  readonly lines: readonly OutputLine[];
  /** The number of the line that the person went to; null if there is none. */
  readonly addressed: number | null;
  /** The element that can fill the screen. */
  readonly frame: RefObject<HTMLElement | null>;
}

export function SaveTools({ job_id, lines, addressed, frame }: SaveToolsProps) {
  const copy = useCopy();
  const tools: readonly (readonly [name: string, use: () => unknown])[] = [
    ...(addressed === null
      ? []
      : [['copy line address', () => copy(addressOf(job_id, addressed), `the address of line ${addressed}`)] as const]),
    ['copy', () => copy(logText(lines), 'the output')],
    ['save', () => saveBytes(new TextEncoder().encode(logText(lines)), 'output.txt')],
    ...(document.fullscreenEnabled ? [['full screen', () => fill(frame.current)] as const] : []),
  ];
  return tools.map(([name, use]) => (
    <button key={name} className="output-toggle" type="button" onClick={() => void use()}>
      {name}
    </button>
  ));
}

function addressOf(job_id: string, number: number): string {
  return `${location.origin}/dashboard/jobs/${job_id}#L${number}`;
}

/** Fills the screen with an element, or leaves the full screen. */
function fill(element: HTMLElement | null): Promise<void> | undefined {
  return document.fullscreenElement === null ? element?.requestFullscreen() : document.exitFullscreen();
}
