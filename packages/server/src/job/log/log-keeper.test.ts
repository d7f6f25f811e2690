/** The log's keeper over a real store: other programs accept the keeper's signatures, and its log grows across restarts. */
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  consistencyRanges,
  headProblem,
  isConsistent,
  leafHash,
  type NoteKey,
  noteSignedBy,
  noteText,
  parseCheckpoint,
  parseNoteKey,
  rekorKeyOf,
} from '@vouchbox/evidence';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { testCosignature, testNoteKey } from '../../../../../test/rig/test-log.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { admitJob, attestationOf, finishOf, TestStore } from '../../store/store.fixture.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges } from '../nudges.ts';
import { openSigningKeys } from '../sign/keys/signing-keys.ts';
import { LogKeeper, type LogKeeperOptions } from './log-keeper.ts';
import type { WitnessAddress } from './witnesses.ts';

const HOST = 'log.example';
let dataDir: string;
let testStore: TestStore;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-log-'));
  testStore = await TestStore.open();
});
afterEach(async () => {
  await testStore[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true });
});

function keeper(changes: Partial<LogKeeperOptions> = {}): LogKeeper {
  const { store } = testStore;
  const shared = {
    dataDir,
    host: HOST,
    keys: openSigningKeys(dataDir),
    nudges: createNudges(),
    log: createLog('silent'),
  };
  return new LogKeeper({ ...shared, store, ...changes });
}

let made = 0;
async function attested(): Promise<JobKey> {
  const { store } = testStore;
  const key = await admitJob(store);
  await store.finish(finishOf(key));
  const receipt = (await store.job(key))?.receipt_sha256 ?? '';
  const leaf_hash = leafHash(new TextEncoder().encode(`statement ${++made}`));
  await store.storeAttestation({ ...attestationOf(key, receipt), leaf_hash });
  return key;
}

async function headNow() {
  const state = await testStore.store.logState();
  const [checkpoint, rekor] = [state?.head?.checkpoint, state?.head?.rekor_head].map((text) =>
    parseCheckpoint(text ?? ''),
  );
  const key = parseNoteKey(state?.log_key ?? '');
  if (checkpoint?.kind !== 'checkpoint' || rekor?.kind !== 'checkpoint' || key.kind !== 'key')
    throw new Error(`there is no head: ${JSON.stringify(state)}`);
  return { checkpoint: checkpoint.checkpoint, rekor: rekor.checkpoint, key: key.key as NoteKey };
}

test('a head is signed in both forms and covers all waiting statements', async () => {
  await attested();
  await attested();
  await keeper().logWhatWaits();
  const { checkpoint, rekor, key } = await headNow();
  expect(checkpoint).toMatchObject({ origin: 'log.example/log/1', size: 3 });
  expect(await headProblem(checkpoint, key)).toBeNull();
  expect(rekor).toMatchObject({ origin: 'log.example - 1', size: 3, root: checkpoint.root });
  expect(await noteSignedBy(rekor.note, rekorKeyOf(key, { host: HOST, tree: 1 }))).toBe('signed');
});

test('a later head extends the earlier one, even after a restart', async () => {
  await attested();
  await keeper().logWhatWaits();
  const { checkpoint: before } = await headNow();
  await testStore.reopen();
  for (let each = 0; each < 5; each++) await attested();
  await keeper().logWhatWaits();
  const { checkpoint: after } = await headNow();
  expect([before.size, after.size]).toEqual([2, 7]);
  const proof = await testStore.store.logRanges(consistencyRanges(before.size, after.size));
  expect(isConsistent(before, after, proof)).toBe(true);
});

test('no head is signed while no new statement arrives', async () => {
  await keeper().logWhatWaits();
  const { checkpoint } = await headNow();
  await keeper().logWhatWaits();
  expect((await headNow()).checkpoint).toEqual(checkpoint);
});

test.each(['sequenceLog', 'logRanges', 'storeLogHead'] as const)(
  'after a crash right after %s there is one tree, and its next head has the missing leaves',
  async (last) => {
    await attested();
    const { store } = testStore;
    const died = new Error('died');
    const dying = new Proxy(store, {
      get(target, name) {
        const own = Reflect.get(target, name, target) as unknown;
        if (name !== last) return own;
        return async (...words: unknown[]) => {
          await (own as (...words: unknown[]) => Promise<unknown>)(...words);
          throw died;
        };
      },
    });
    await expect(keeper({ store: dying }).logWhatWaits()).rejects.toBe(died);
    await testStore.reopen();
    await attested();
    await keeper().logWhatWaits();
    const { checkpoint, key } = await headNow();
    expect(checkpoint.size).toBe(3);
    expect(await headProblem(checkpoint, key)).toBeNull();
  },
);

test('each statement gets one position, even if two keepers of the log work at once', { tags: ['Log-2'] }, async () => {
  for (let each = 0; each < 6; each++) await attested();
  await keeper().logWhatWaits();
  for (let each = 0; each < 6; each++) await attested();
  await Promise.all([keeper().logWhatWaits(), keeper().logWhatWaits()]);
  await keeper().logWhatWaits();
  expect((await headNow()).checkpoint.size).toBe(13);
});

test('the keeper signs nothing for another host’s log or a log whose key is missing', async () => {
  await keeper().logWhatWaits();
  await attested();
  await expect(keeper({ host: 'else.example' }).logWhatWaits()).rejects.toThrow('the log belongs to log.example');
  rmSync(join(dataDir, 'attestation-keys/log-key.pem'));
  await expect(keeper().logWhatWaits()).rejects.toThrow('the key of the log is gone');
});

test('a store restored from an old copy logs nothing, and its next tree names the last head and cosignature', async () => {
  for (let each = 0; each < 3; each++) await attested();
  await keeper().logWhatWaits();
  const { checkpoint } = await headNow();
  const witness = testNoteKey('witness.example', 'cosignature');
  const line = testCosignature(witness, checkpoint.note.text, 1_800_000_000);
  const junk = Array.from({ length: 60 }, (_, at) => `\u2014 witness.example ${btoa(`line ${at}`)}\n`).join('');
  const asked: string[] = [];
  await using server = createServer((request, response) => {
    asked.push(request.method ?? '');
    response.end(noteText(checkpoint.note) + line + junk);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await testStore[Symbol.asyncDispose]();
  testStore = await TestStore.open();
  rmSync(join(dataDir, 'log-mark'));
  await attested();
  const older = keeper({ witnesses: [{ key: witness.noteKey, url }] });
  await expect(older.logWhatWaits()).rejects.toThrow('the store is older than the log');
  expect([asked, (await testStore.store.logState())?.size]).toEqual([['GET'], 1]);
  expect(await older.reopen()).toMatchObject({ lost: 4, previous: noteText(checkpoint.note) + line });
});

describe('a log whose witness does not answer at first', { tags: ['Log-8a'] }, () => {
  const witness = testNoteKey('witness.example', 'cosignature');
  let answer: RequestListener;
  let server: Server;
  let witnesses: readonly WitnessAddress[];
  const away: RequestListener = (request) => request.socket.destroy();
  const knowsNothing: RequestListener = (_, response) => response.writeHead(404).end();
  beforeEach(async () => {
    answer = away;
    server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    witnesses = [{ key: witness.noteKey, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }];
  });
  afterEach(() => server[Symbol.asyncDispose]());
  /** Long enough for a busy machine, on which a witness may answer late. */
  const patience = { timeout: 20_000 };
  const logged = (kept: LogKeeper) => vi.waitFor(() => kept.logWhatWaits(), patience);
  const sizes = async () => {
    const state = await testStore.store.logState();
    return [state?.size, state?.head?.size];
  };

  test('adds no statement before the witness has answered once', async () => {
    const first = keeper({ witnesses });
    await attested();
    await expect(first.logWhatWaits()).rejects.toThrow('no witness has answered');
    expect(await sizes()).toEqual([1, undefined]);
    answer = knowsNothing;
    await logged(first);
    expect(await sizes()).toEqual([2, 2]);
    answer = away;
    await attested();
    await first.logWhatWaits();
    expect(await sizes()).toEqual([3, 3]);
    await attested();
    const later = keeper({ witnesses });
    for (let turn = 0; turn < 2; turn++) await expect(later.logWhatWaits()).rejects.toThrow('no witness has answered');
    expect(await sizes()).toEqual([3, 3]);
    // After a failure, a witness is usually not asked for a while, but until its first answer it is asked every time.
    answer = knowsNothing;
    await logged(later);
    expect(await sizes()).toEqual([4, 4]);
  });

  test('signs no head if the witness shows a larger head than the store has', async () => {
    for (let each = 0; each < 3; each++) await attested();
    await keeper().logWhatWaits();
    const { checkpoint } = await headNow();
    await testStore[Symbol.asyncDispose]();
    testStore = await TestStore.open();
    rmSync(join(dataDir, 'log-mark'));
    await attested();
    await keeper().logWhatWaits();
    await attested();
    const older = keeper({ witnesses });
    await expect(older.logWhatWaits()).rejects.toThrow('no witness has answered');
    answer = ({ method }, response) =>
      method === 'GET' ? response.end(noteText(checkpoint.note)) : response.writeHead(409).end('4\n');
    await vi.waitFor(() => expect(older.logWhatWaits()).rejects.toThrow('the store is older than the log'), patience);
    expect(await sizes()).toEqual([2, 2]);
  });
});

test('the keeper of a log says why it logs nothing, until it logs again', { tags: ['Bodies-10c'] }, async () => {
  await keeper().logWhatWaits();
  await attested();
  const [file, elsewhere] = [join(dataDir, 'attestation-keys/log-key.pem'), join(dataDir, 'log-key.pem')];
  renameSync(file, elsewhere);
  let changes = 0;
  const nudges = createNudges();
  const changed = Promise.withResolvers<void>();
  await using kept = keeper({
    nudges,
    onProblemChange() {
      if (++changes === 1) changed.resolve();
    },
  });
  kept.start();
  await changed.promise;
  expect(kept.problem?.message).toMatch(/^the key of the log is gone/);
  renameSync(elsewhere, file);
  nudges.send('log');
  await expect.poll(() => kept.problem, { timeout: 20_000 }).toBeNull();
  expect([changes, (await headNow()).checkpoint.size]).toEqual([2, 2]);
});

test('a statement after the keeper’s pause gets a head at once, and all statements during a pause share one head', async () => {
  const nudges = createNudges();
  const rests: (() => void)[] = [];
  const rest = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      rests.push(resolve);
      signal.addEventListener('abort', () => resolve());
    });
  const headOf = (size: number) =>
    expect.poll(async () => (await testStore.store.logState())?.head?.size, { timeout: 20_000 }).toBe(size);
  const signed = async () => {
    await attested();
    nudges.send('log');
  };
  await using kept = keeper({ nudges, rest });
  kept.start();
  await expect.poll(() => rests).toHaveLength(1);
  await signed();
  await signed();
  rests[0]?.();
  await headOf(3);
  await expect.poll(() => rests).toHaveLength(2);
  rests[1]?.();
  await signed();
  await headOf(4);
  // No pause preceded the head of the last statement, so the pause after this head is only the third.
  await expect.poll(() => rests).toHaveLength(3);
});
