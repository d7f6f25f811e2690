/** One line of output: text with colours. Characters that steer a terminal or turn the direction of text are spelled out. */
import { printableText } from '@vouchbox/protocol/vocabulary';
import { memo } from 'react';
import { piecesOf } from './colours.ts';
import type { OutputLine } from './job-log.ts';

export const Line = memo(({ line }: { readonly line: OutputLine }) => {
  const text = line.text.endsWith('\r') ? line.text.slice(0, -1) : line.text;
  const pieces = piecesOf(text, line.colour);
  return pieces.map(({ text: part, classes, colour, ground }, place) => (
    <span
      key={place}
      className={classes === '' ? undefined : classes}
      style={
        colour === null && ground === null ? undefined : { color: colour ?? undefined, background: ground ?? undefined }
      }
    >
      {printableText(part)}
    </span>
  ));
});
