import { describe, expect, test } from 'vitest';
import { sha256Hex as native, runningSha256 as runningNative } from './sha256-native.ts';
import { sha256Hex as portable, runningSha256 as runningPortable } from './sha256-portable.ts';

describe('portable SHA-256', () => {
  test('equals the vectors of FIPS 180-4', () => {
    expect(portable('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(portable('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    );
    expect(portable('a'.repeat(1_000_000))).toBe('cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0');
  });

  test('equals the native digest for every length around the block boundaries', () => {
    for (let length = 0; length <= 200; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 167 + length) & 255);
      expect(portable(bytes)).toBe(native(bytes));
    }
  });

  test('digests a string as UTF-8, and a view without the other bytes of its buffer', () => {
    expect(portable('h\u00e9\u{1f600}')).toBe(native('h\u00e9\u{1f600}'));
    const view = new Uint8Array(300).fill(7).subarray(13, 150);
    expect(portable(view)).toBe(native(view));
  });
});

describe.each([
  ['native', runningNative],
  ['portable', runningPortable],
])('the %s digest of bytes that arrive in pieces', (_which, running) => {
  test('is the digest of the whole, wherever the pieces are cut', () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, index) => (index * 167) & 255);
    for (let cut = 1; cut <= 200; cut++) {
      const digest = running();
      for (let at = 0; at < bytes.length; at += cut) digest.update(bytes.subarray(at, at + cut));
      expect(digest.hex()).toBe(native(bytes));
    }
  });

  test('does not change if a piece is overwritten after it was added', () => {
    const digest = running();
    const piece = new Uint8Array(100);
    for (const fill of [1, 2, 3]) digest.update(piece.fill(fill));
    expect(digest.hex()).toBe(native(Uint8Array.from({ length: 300 }, (_, at) => Math.floor(at / 100) + 1)));
  });

  test('is the digest of the empty text if there are no pieces', () => {
    expect(running().hex()).toBe(native(''));
  });
});
