import { expect, test } from 'vitest';
import { logWord } from './log-words.ts';

const headOf = (...names: string[]) => ({
  origin: 'log.example/log/1',
  note: { text: '', signatures: names.map((name) => ({ name, hint: new Uint8Array(4), bytes: new Uint8Array(64) })) },
});

test('a head that only the log signed is called unwitnessed', () => {
  expect(logWord(headOf('log.example/log/1'))).toMatch(/^UNWITNESSED: /);
});

test('other signers are shown by name, but are not called witnesses before a check', () => {
  const word = logWord(headOf('log.example/log/1', 'one.example', 'two.example', 'one.example'));
  expect(word).toBe('lines of one.example, two.example, which nobody checked here');
});
