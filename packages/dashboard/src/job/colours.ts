/** Colours in a program's output: ANSI escape sequences, and which of them stay in force after a line. ECMA-48 § 8.3.117. */
import Anser from 'anser';

/** A piece of a line that looks the same throughout. */
export interface Piece {
  readonly text: string;
  /** Names of classes in `output.css`, with a space between two. */
  readonly classes: string;
  /** Colours beyond the sixteen named ones, as CSS; null if there are none. */
  readonly colour: string | null;
  readonly ground: string | null;
}

const ESCAPE = String.fromCharCode(0x1b);
const COLOUR_SEQUENCE = new RegExp(`${ESCAPE}\\[([\\d;]*)m`, 'g');
/** The most characters of sequences in force, because a program could change colours without ever resetting them. */
const sequenceCharactersMax = 256;

/** The sequences in force after a text, given the sequences in force before the text. */
export function colourAfter(before: string, text: string): string {
  if (!text.includes(ESCAPE)) return before;
  let held = before;
  for (const [sequence, parameters = ''] of text.matchAll(COLOUR_SEQUENCE)) {
    held = /^0*(;|$)/.test(parameters) ? (/^0*$/.test(parameters) ? '' : sequence) : held + sequence;
    if (held.length > sequenceCharactersMax) held = sequence.slice(0, sequenceCharactersMax);
  }
  return held;
}

/** Splits a line into pieces. Sequences other than colours are left out. No text ever becomes markup. */
export function piecesOf(text: string, before: string): readonly Piece[] {
  if (before === '' && !text.includes(ESCAPE)) return [{ text, classes: '', colour: null, ground: null }];
  return Anser.ansiToJson(before + text, { use_classes: true, remove_empty: true, json: true }).map(
    ({ content, fg, bg, fg_truecolor, bg_truecolor, decorations }) => ({
      text: content,
      classes: [named(fg), ground(named(bg)), ...decorations.map((name) => `is-${name}`)]
        .filter((name) => name !== '')
        .join(' '),
      colour: cssColour(fg, fg_truecolor),
      ground: cssColour(bg, bg_truecolor),
    }),
  );
}

/** The class of one of the sixteen colours that have names. */
function named(name: string | null): string {
  return name !== null && /^ansi-(bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/.test(name) ? name : '';
}

function ground(name: string): string {
  return name === '' ? '' : `on-${name}`;
}

/** A colour that is given by three numbers or by its place in a palette of 256. */
function cssColour(name: string | null, truecolor: string | null): string | null {
  const numbers = name === 'ansi-truecolor' ? /^(\d{1,3}), (\d{1,3}), (\d{1,3})$/.exec(truecolor ?? '') : null;
  if (numbers !== null) return `rgb(${numbers[1]} ${numbers[2]} ${numbers[3]})`;
  const [, place] = /^ansi-palette-(\d{1,3})$/.exec(name ?? '') ?? [];
  return place === undefined ? null : paletteColour(Number(place));
}

/** The colour at a place in the palette: 16–231 are a cube with six levels, 232–255 a scale of greys. */
function paletteColour(place: number): string | null {
  if (place < 16 || place > 255) return null;
  if (place >= 232) return `rgb(${8 + (place - 232) * 10} ${8 + (place - 232) * 10} ${8 + (place - 232) * 10})`;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const cube = place - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}
