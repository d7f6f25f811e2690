/** Signed notes: a published note is read, and each kind of spoiled note is refused. */
import { describe, expect, test } from 'vitest';
import { testCosignature, testNoteKey, testSignature } from '../../../../test/rig/test-log.ts';
import { cosignedAt, type Note, noteKeyText, noteSignedBy, noteText, parseNote, parseNoteKey } from './note.ts';

/** The example from golang.org/x/mod/sumdb/note. */
const PUBLISHED = {
  key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  note:
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n— PeterNeumann " +
    'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

const log = testNoteKey('log.example/log/1', 'note');
const witness = testNoteKey('witness.example', 'cosignature');
const TEXT = 'log.example/log/1\n1\nbjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=\n';
const good = `${TEXT}\n${testSignature(log, TEXT)}`;

function read(text: string): Note {
  const result = parseNote(text);
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.note;
}

function keyOf(text: string) {
  const result = parseNoteKey(text);
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.key;
}

test('the example note of the Go package verifies with the key published beside it', async () => {
  const key = keyOf(PUBLISHED.key);
  expect(noteKeyText(key)).toBe(PUBLISHED.key);
  const note = read(PUBLISHED.note);
  expect(noteText(note)).toBe(PUBLISHED.note);
  expect(await noteSignedBy(note, key)).toBe('signed');
  expect(await noteSignedBy({ ...note, text: note.text.replace('you', 'yov') }, key)).toBe('wrong');
});

describe('a key is refused if it', () => {
  test.each([
    ['has no hint', 'PeterNeumann+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'],
    ['has the hint of another name', PUBLISHED.key.replace('Peter', 'Piter')],
    ['is of another type', PUBLISHED.key.replace('+ARpc', '+AhpC')],
    ['has a space in its name', log.text.replace('.example', ' example')],
    ['is too short', PUBLISHED.key.slice(0, -4)],
    ['proves nothing, because its point has small order', `a+00000000+AQ${'A'.repeat(41)}E=`],
    ['is empty', ''],
  ])('%s', (_what, text) => {
    expect(parseNoteKey(text)).toMatchObject({ kind: 'refused' });
  });
});

describe('a note is refused if it', () => {
  test.each([
    ['has no signatures', TEXT],
    ['has no text', testSignature(log, TEXT)],
    ['has a line that is no signature', `${good}log.example\n`],
    ['has a control character', good.replace('example', 'exam\u0007ple')],
    ['has a carriage return', good.replaceAll('\n', '\r\n')],
    ['does not end its last line', good.slice(0, -1)],
    ['has a signature without bytes', `${TEXT}\n— log.example AAAAAA==\n`],
    ['has a second spelling of base64', good.replace(/=\n$/, '\n')],
    ['has more signatures than are read', `${good}${testSignature(log, TEXT).repeat(64)}`],
    ['is too long', `${'x\n'.repeat(40_000)}${good}`],
    ['is too long for the file that remembers it', `${'€'.repeat(30_000)}\n${good}`],
  ])('%s', (_what, text) => {
    expect(parseNote(text)).toMatchObject({ kind: 'refused' });
  });
});

test('a signature by an unknown key is ignored, and a wrong signature by a known key invalidates the note', async () => {
  const stranger = testSignature(testNoteKey('log.example/log/1', 'note'), TEXT);
  expect(await noteSignedBy(read(`${good}${stranger}`), log.noteKey)).toBe('signed');
  expect(await noteSignedBy(read(`${TEXT}\n${stranger}`), log.noteKey)).toBe('unsigned');
  const wrong = testSignature(log, 'something else\n');
  expect(await noteSignedBy(read(`${good}${wrong}`), log.noteKey)).toBe('wrong');
});

test('a cosignature states the time at which its witness saw the checkpoint, and signs that time', async () => {
  const line = testCosignature(witness, TEXT, 1_800_000_000);
  expect(await cosignedAt(read(`${good}${line}`), witness.noteKey)).toBe(1_800_000_000);
  expect(await cosignedAt(read(good), witness.noteKey)).toBe('unsigned');
  const other = testCosignature(witness, TEXT.replace('\n1\n', '\n2\n'), 1_800_000_000);
  expect(await cosignedAt(read(`${good}${other}`), witness.noteKey)).toBe('wrong');
  const note = read(`${good}${line}`);
  const at = note.signatures.length - 1;
  const later = note.signatures.map((each, of) => (of === at ? { ...each, bytes: each.bytes.with(7, 1) } : each));
  expect(await cosignedAt({ ...note, signatures: later as Note['signatures'] }, witness.noteKey)).toBe('wrong');
  const short = note.signatures.map((each, of) => (of === at ? { ...each, bytes: each.bytes.slice(0, 5) } : each));
  expect(await cosignedAt({ ...note, signatures: short }, witness.noteKey)).toBe('wrong');
});
