import { expect, test } from 'vitest';
import { sealed, unsealed } from './sealed.ts';

test('a sealed text is read with the same key, and looks different each time', () => {
  const text = '[{"text":"ä 💥"}]';
  expect(unsealed(sealed(text, 'key'), 'key')).toBe(text);
  expect(unsealed(sealed('', 'key'), 'key')).toBe('');
  expect(sealed(text, 'key')).not.toBe(sealed(text, 'key'));
});

test('a text that was sealed under another key, changed or cut is not read', () => {
  const whole = sealed('[{"text":"a"}]', 'key');
  expect(unsealed(whole, 'other')).toBeNull();
  for (let at = 0; at < whole.length; at++) {
    const letter = whole[at] === 'a' ? 'b' : 'a';
    expect(unsealed(whole.slice(0, at) + letter + whole.slice(at + 1), 'key'), `changed at ${at}`).toBeNull();
    expect(unsealed(whole.slice(0, at), 'key'), `cut at ${at}`).toBeNull();
  }
});
