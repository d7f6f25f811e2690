import { expect, test } from 'vitest';
import { sha256Hex } from '#sha256';
import { verdictBytes } from './verdict-bytes.ts';

const bytes = new TextEncoder().encode('{}');
const file = (path: string, content_base64: string) => ({ artifacts: [{ path, content_base64 }] }) as never;

test('a verdict is read only if it has the digest that its grading names', () => {
  const good = file('output/verdict.json', 'e30=');
  expect(verdictBytes(good, sha256Hex(bytes))).toEqual(bytes);
  expect(verdictBytes(good, sha256Hex(new Uint8Array()))).toBeNull();
  expect(verdictBytes(file('output/other.json', 'e30='), sha256Hex(bytes))).toBeNull();
  expect(verdictBytes({ artifacts: [] }, sha256Hex(new Uint8Array()))).toBeNull();
});
