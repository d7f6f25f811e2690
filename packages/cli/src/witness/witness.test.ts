/** The witness over real HTTP: what it signs and what it refuses. https://c2sp.org/tlog-witness. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkpointText,
  consistencyRanges,
  consistencyText,
  cosignedAt,
  leafHash,
  type NodeHashes,
  type NoteKey,
  nodeHash,
  noteKey,
  noteText,
  parseNote,
  rangeHash,
} from '@vouchbox/evidence';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openWitness, type WitnessServer } from './witness-server.ts';
import { WitnessState } from './witness-state.ts';

const NOW = 1_790_000_000;

interface TestKey {
  readonly key: NoteKey;
  readonly privateKey: KeyObject;
}

function keyNamed(
  name: string,
  type: NoteKey['type'],
  privateKey = generateKeyPairSync('ed25519').privateKey,
): TestKey {
  const raw = Buffer.from((privateKey.export({ format: 'jwk' }) as { x: string }).x, 'base64url');
  const made = noteKey(name, type, Uint8Array.from(raw));
  if (made.kind === 'refused') throw new Error(made.reason);
  return { key: made.key, privateKey };
}

const log = keyNamed('log.example/log/1', 'note');
const own = keyNamed('witness.example', 'cosignature');

/** The hashes of a log whose leaves are numbers. The leaf at `changed` differs. */
function hashesOf(changed: number): NodeHashes {
  const hashOf: NodeHashes = ({ level, index }) =>
    level === 0
      ? leafHash(new TextEncoder().encode(`${index === changed ? 'changed ' : ''}${index}`))
      : nodeHash(hashOf({ level: level - 1, index: index * 2 }), hashOf({ level: level - 1, index: index * 2 + 1 }));
  return hashOf;
}

function headOf(size: number, { changed = -1, by = log, origin = 'log.example/log/1' } = {}): string {
  const root = rangeHash({ start: 0, end: size }, hashesOf(changed));
  const text = checkpointText(origin, { size, root });
  const { name, hint } = keyNamed(origin, 'note', by.privateKey).key;
  return noteText({
    text,
    signatures: [{ name, hint, bytes: Uint8Array.from(sign(null, Buffer.from(text), by.privateKey)) }],
  });
}

function requestOf(old: number, size: number, changes: Parameters<typeof headOf>[1] = {}): string {
  const hashes = consistencyRanges(old, size).map((range) => rangeHash(range, hashesOf(changes.changed ?? -1)));
  return consistencyText(old, hashes, headOf(size, changes));
}

let scratch: string;
let state: WitnessState;
let server: WitnessServer;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-witness-'));
  await open();
});
afterEach(async () => {
  await close();
  rmSync(scratch, { recursive: true });
});

async function open(): Promise<void> {
  state = WitnessState.open(join(scratch, 'state'), 'witness.example');
  server = await openWitness({ state, logs: [log.key], ...own, now: () => NOW }, { host: '127.0.0.1', port: 0 });
}

async function close(): Promise<void> {
  await server[Symbol.asyncDispose]();
  state[Symbol.dispose]();
}

const add = async (body: string | Uint8Array<ArrayBuffer>) => {
  const answer = await fetch(`${server.url}/add-checkpoint`, { method: 'POST', body });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
};

test('a witness signs the head of a grown log and adds its own time, even after the witness was restarted', async () => {
  const first = await add(requestOf(0, 3));
  expect(first).toMatchObject({ status: 200 });
  const note = parseNote(headOf(3) + first.text);
  expect(note.kind === 'note' && (await cosignedAt(note.note, own.key))).toBe(NOW);
  await close();
  await open();
  expect(await add(requestOf(3, 8))).toMatchObject({ status: 200 });
  expect(await add(requestOf(8, 8))).toMatchObject({ status: 200 });
  const known = await fetch(`${server.url}/checkpoint?origin=log.example/log/1`);
  expect(await known.text()).toBe(headOf(8) + (await add(requestOf(8, 8))).text);
});

test('signatures that a stranger adds to a head are neither kept nor shown', async () => {
  expect(await add(requestOf(0, 3))).toMatchObject({ status: 200 });
  const [line = ''] = headOf(3).match(/\u2014 .*\n/) ?? [];
  const junk = Array.from({ length: 62 }, (_, at) => `\u2014 log.example/log/1 ${btoa(`line ${at}`)}\n`);
  const shown = () => fetch(`${server.url}/checkpoint?origin=log.example/log/1`).then((answer) => answer.text());
  const { status, text } = await add(`${requestOf(3, 3)}${line}${junk.join('')}`);
  expect({ status, shown: await shown() }).toEqual({ status: 200, shown: headOf(3) + text });
  await close();
  await open();
  expect(await add(requestOf(3, 8))).toMatchObject({ status: 200 });
});

describe('the witness of a log', () => {
  beforeEach(async () => {
    expect(await add(requestOf(0, 8))).toMatchObject({ status: 200 });
  });

  test('answers with the size of the head that it signed last if the log was rolled back', async () => {
    expect(await add(requestOf(0, 5))).toEqual({ status: 409, type: 'text/x.tlog.size', text: '8\n' });
    expect(await add(requestOf(5, 9))).toMatchObject({ status: 409, text: '8\n' });
  });

  test.each([
    ['another tree of the same size', requestOf(8, 8, { changed: 2 }), 409],
    ['a tree that changed', requestOf(8, 12, { changed: 2 }), 422],
    ['a proof with one hash too many', requestOf(8, 12).replace('\n\n', `\n${'A'.repeat(43)}=\n\n`), 422],
    ['a head of another key', requestOf(8, 9, { by: keyNamed('x', 'note') }), 403],
    ['a log that it does not watch', requestOf(0, 9, { origin: 'else.example/log/1' }), 404],
    ['an old size above the new size', requestOf(8, 8).replace('old 8', 'old 9'), 400],
    ['no proof', 'old 8\n', 400],
    ['bytes that are not text', Uint8Array.of(255, 0, 255), 400],
    ['more bytes than a proof has', 'A'.repeat(300_000), 413],
  ])('refuses %s, and signs the next good head', async (_what, body, status) => {
    expect((await add(body as string)).status).toBe(status);
    expect(await add(requestOf(8, 9))).toMatchObject({ status: 200 });
  });
});

test('two heads that arrive at once are signed one after the other', async () => {
  const answers = await Promise.all([add(requestOf(0, 4)), add(requestOf(0, 4, { changed: 1 }))]);
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
});

test('a witness treats each tree of a log as a separate log with the same key', async () => {
  expect(await add(requestOf(0, 8))).toMatchObject({ status: 200 });
  expect(await add(requestOf(0, 2, { origin: 'log.example/log/2' }))).toMatchObject({ status: 200 });
});

test("a witness accepts at most 100 trees of a log, so that a log cannot fill the witness's disk", async () => {
  const ofTree = (tree: number) => add(requestOf(0, 1, { origin: `log.example/log/${tree}` }));
  for (let tree = 1; tree <= 100; tree++) expect((await ofTree(tree)).status).toBe(200);
  expect(await ofTree(999_999_999)).toMatchObject({ status: 403, text: 'the log opened 100 trees already\n' });
  expect(await add(requestOf(1, 3, { origin: 'log.example/log/7' }))).toMatchObject({ status: 200 });
});

test("a witness's state is used by one process at a time, and is refused if it was changed", async () => {
  expect(() => WitnessState.open(join(scratch, 'state'), 'witness.example')).toThrow('another witness uses');
  await add(requestOf(0, 8));
  await close();
  const text = readFileSync(join(scratch, 'state'), 'utf8');
  for (const wrong of ['', '{}', text.replace('log.example/log/1', 'log.example/log/7')]) {
    writeFileSync(join(scratch, 'state'), wrong);
    expect(() => WitnessState.open(join(scratch, 'state'), 'x')).toThrow('is not the state of a witness');
  }
  writeFileSync(join(scratch, 'state'), text);
  await open();
});
