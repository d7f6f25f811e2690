/** A text of any length, with a name. A long text is folded; the page contains it only while it is open. */
import { sizeOf } from '@vouchbox/protocol/words';
import { useState } from 'react';
import './folded.css';

interface FoldedProps {
  readonly name: string;
  /** Text without characters that control a terminal or change the direction of text. */
  readonly text: string;
}

/** The most characters and lines of a text that is not folded, and how many characters of a folded text are shown. */
const wholeCharactersMax = 240;
const wholeLinesMax = 8;
const beginningCharacters = 100;

export function Folded({ name, text }: FoldedProps) {
  const [isOpen, setOpen] = useState(false);
  const isShort = text.length <= wholeCharactersMax && text.split('\n').length <= wholeLinesMax;
  const whole = (
    <pre className="folded-text" tabIndex={0} role="group" aria-label={name}>
      {text}
    </pre>
  );
  if (isShort)
    return (
      <div className="folded">
        <span className="small soft">{name}</span>
        {whole}
      </div>
    );
  return (
    <details className="folded" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="small soft">
        {name}, {sizeOf(new Blob([text]).size)} <code>{text.slice(0, beginningCharacters)}…</code>
      </summary>
      {isOpen && whole}
    </details>
  );
}
