import { sha256Hex } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { acme, JobRig } from '../../test/job-rig.ts';
import type { FleetListener } from '../store/fleet.ts';
import { movedBytesMin } from '../store/objects/content-places.ts';
import { finishOf } from '../store/store.fixture.ts';
import type { Store } from '../store/store.ts';
import { createHistory } from './history.ts';
import { createNudges, type Topic } from './nudges.ts';
import type { EndReader } from './view/end-parts.ts';
import { replay } from './view/replay.ts';

const never = new AbortController().signal;

const eventOf = (text: string) => JSON.parse(text) as JobEvent;

/** Collects the seq of every event that a follower gets, until the follower ends. */
async function followed(rig: JobRig, job_id: string, from: { after: number; signal: AbortSignal }): Promise<number[]> {
  const seen: number[] = [];
  for await (const page of rig.jobs.tail(acme, job_id, from)) seen.push(...page.map((text) => eventOf(text).seq));
  return seen;
}

describe('following the history of a job', () => {
  test('gives the stored events, then every new event once and in order, and ends after the terminal event', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const followers = Array.from({ length: 20 }, () => followed(rig, key.job_id, { after: 0, signal: never }));
    for (let batch = 0; batch < 30; batch++) {
      cell.write('stdout', { text: `line ${batch}` });
      await new Promise(setImmediate);
      if (batch % 10 === 0) followers.push(followed(rig, key.job_id, { after: 0, signal: never }));
    }
    cell.end({ kind: 'exited', exit_code: 0 });
    await rig.ended(key);
    followers.push(followed(rig, key.job_id, { after: 0, signal: never }));
    const whole = Array.from({ length: 33 }, (_, index) => index + 1);
    for (const seen of await Promise.all(followers)) expect(seen).toEqual(whole);
  });

  test('starts after its cursor, and ends at once after the terminal event', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    (await rig.provider.running(0)).end({ kind: 'exited', exit_code: 0 });
    await rig.ended(key);
    expect(await followed(rig, key.job_id, { after: 2, signal: never })).toEqual([3]);
    expect(await followed(rig, key.job_id, { after: 3, signal: never })).toEqual([]);
    expect(await followed(rig, key.job_id, { after: 99, signal: never })).toEqual([]);
  });

  test('ends when its signal aborts, and the job goes on', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    await rig.provider.running(0);
    const controller = new AbortController();
    const seen: number[] = [];
    for await (const page of rig.jobs.tail(acme, key.job_id, { after: 0, signal: controller.signal })) {
      seen.push(...page.map((text) => eventOf(text).seq));
      if (seen.includes(2)) controller.abort();
    }
    expect(seen).toEqual([1, 2]);
  });

  test('ends when the service stops', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    await rig.provider.running(0);
    const following = followed(rig, key.job_id, { after: 2, signal: never });
    rig.shutdown.abort();
    expect(await following).toEqual([]);
  });

  test('the follower of a queued job ends when that job is cancelled', async () => {
    await using rig = await JobRig.open({ concurrency: 1 });
    await rig.submit();
    await rig.provider.running(0);
    const { job_id } = await rig.submit();
    const following = followed(rig, job_id, { after: 0, signal: never });
    const waiting = rig.result(job_id, { waitSeconds: 3600, signal: never });
    await rig.readsAnswered();
    await rig.cancel(job_id);
    expect(await following).toEqual([1, 2, 3]);
    expect(await waiting).toMatchObject({ status: 'cancelled' });
  });

  test('an unknown job is refused', async () => {
    await using rig = await JobRig.open();
    await expect(followed(rig, 'job_none', { after: 0, signal: never })).rejects.toMatchObject({
      code: 'job_not_found',
    });
  });
});

test('a follower of a job that runs on another node reads the store once for each change', async () => {
  let [stored, reads] = [1, 0];
  const store = {
    fleet: { listen() {}, follow: () => ({ [Symbol.dispose]: () => {} }) },
    isUnderWay: () => false,
    async events({ after }: { after: number }) {
      reads++;
      return { events: after < stored ? [{ seq: stored }] : [], complete: stored === 3 };
    },
  };
  const nudges = createNudges();
  const seen: number[] = [];
  const key = { tenant: 'acme', job_id: 'job' };
  for await (const texts of createHistory(store as unknown as Store, nudges).tail(key, { after: 0, signal: never })) {
    seen.push(...texts.map((text) => eventOf(text).seq));
    setTimeout(() => {
      stored++;
      nudges.send('events job');
    }, 20);
  }
  expect(seen).toEqual([1, 2, 3]);
  expect(reads).toBe(3);
});

describe('answers to a program’s tool calls, some of which another node may take', () => {
  const key = { tenant: 'acme', job_id: 'job' };
  const answerOf = (answer_seq: number) => ({
    ...{ answer_seq, after: answer_seq - 2, call: answer_seq },
    outcome: { result: 1 },
  });

  /** Gives the answers that are stored or reported, until there are `want`. Returns the answers and the cursors of all reads. */
  async function given(want: number, act: (stored: number[], hear: (...seqs: number[]) => void) => void) {
    const nudges = createNudges();
    const [stored, reads, answered]: [number[], number[], number[]] = [[], [], []];
    let listener: FleetListener = {};
    const store = {
      fleet: {
        listen(added: FleetListener) {
          listener = added;
        },
        follow: () => ({ [Symbol.dispose]: () => {} }),
      },
      async toolAnswers({ after }: { after: number }) {
        reads.push(after);
        return stored.filter((seq) => seq > after).map(answerOf);
      },
    };
    const hear = (...seqs: number[]) => {
      const added = seqs.map((seq) => ({ ...key, events: [], answer: answerOf(seq) }));
      listener.heard?.(['answers job'], added);
      nudges.send('answers job');
    };
    const ends = new AbortController();
    setImmediate(() => act(stored, hear));
    for await (const answers of createHistory(store as unknown as Store, nudges).toolAnswers(key, ends.signal)) {
      answered.push(...answers.map(({ answer_seq }) => answer_seq));
      if (answered.length === want) ends.abort();
    }
    return { answered, reads };
  }

  test('are given without a read if other nodes reported them to this node', async () => {
    expect(await given(2, (_stored, hear) => hear(2, 4))).toEqual({ answered: [2, 4], reads: [0] });
  });

  test.each([
    ['heard of in another order', (hear: (...seqs: number[]) => void) => [hear(4), hear(2), hear(6)]],
    ['one of which it did not hear', (hear: (...seqs: number[]) => void) => [hear(2), hear(6)]],
    ['one that the message does not carry', (hear: (...seqs: number[]) => void) => [hear(2), hear()]],
    ['heard of twice, with one missing', (hear: (...seqs: number[]) => void) => [hear(2), hear(2), hear(6)]],
  ])('are read at once, and each is given once: %s', async (_what, hearAll) => {
    const asked = await given(3, (stored, hear) => {
      stored.push(2, 4, 6);
      hearAll(hear);
    });
    expect(asked).toEqual({ answered: [2, 4, 6], reads: [0, 0] });
  });
});

test('a follower on the node that runs a job learns about an answer that another node took', async () => {
  const nudges = createNudges();
  let listener: FleetListener = {};
  const fleet = {
    listen(added: FleetListener) {
      listener = added;
    },
    follow: () => ({ [Symbol.dispose]: () => {} }),
  };
  const store = { fleet, toolAnswers: async () => [] } as unknown as Store;
  const ends = new AbortController();
  const answers = createHistory(store, nudges).toolAnswers({ tenant: 'acme', job_id: 'job' }, ends.signal);
  const ended = answers.next();
  using nudge = nudges.next('events job', ends.signal);
  setImmediate(() => listener.heard?.(['answers job'], []));
  await nudge.arrived;
  ends.abort();
  expect(await ended).toMatchObject({ done: true });
});

test('a wait for the next page of a job that runs on another node follows that node’s reports', async () => {
  const nudges = createNudges();
  let until = 0;
  const store = {
    fleet: {
      // The other node reports an event only to nodes that follow the job.
      follow(topic: Topic) {
        until = 1;
        setImmediate(() => nudges.send(topic));
        return { [Symbol.dispose]: () => {} };
      },
    },
    isUnderWay: () => false,
    textExtent: async () => ({ bytes: 0, text: '', from: 0, until, complete: false }),
  };
  const wait = { waitSeconds: 20, signal: AbortSignal.timeout(500) };
  const options = { store: store as unknown as Store, nudges, shutdown: never, ended: {} as EndReader };
  const answer = await replay({ tenant: 'acme', job_id: 'job' }, { after: 0, limit: 1, wait }, options);
  expect(answer.isEmpty).toBe(false);
});

test('followers of a running job at once see a request to cancel it, and waits for the result continue', async () => {
  await using rig = await JobRig.open();
  const key = await rig.submit();
  const cell = await rig.provider.running(0);
  const afterTheWait = rig.history.ended(key, never).then(() => rig.row(key));
  const following = rig.history.tail(key, { after: 2, signal: never });
  const live = following.next();
  await rig.readsAnswered();
  await rig.history.requestCancel({ ...key, principal: acme.principal, at: new Date().toISOString() });
  expect((await live).value.map(eventOf)).toMatchObject([{ kind: 'cancel_requested' }]);
  await following.return(undefined);
  cell.end({ kind: 'exited', exit_code: 0 });
  expect((await afterTheWait).finished_at).not.toBeNull();
});

test('the loop that moves artifacts is woken only when a job with a large enough artifact ends', async () => {
  for (const [bytes, expected] of [
    [movedBytesMin, true],
    [movedBytesMin - 1, false],
  ] as const) {
    const nudges = createNudges();
    const { finish } = createHistory({ finish: async () => true } as unknown as Store, nudges);
    using contents = nudges.next('contents');
    let isTold = false;
    void contents.arrived.then(() => {
      isTold = true;
    });
    const content = new Uint8Array(bytes);
    const artifacts = [{ path: 'output/a', size_bytes: bytes, sha256: sha256Hex(content), content }];
    await finish(finishOf({ tenant: 'acme', job_id: 'job_a' }, { artifacts }));
    await new Promise(setImmediate);
    expect(isTold).toBe(expected);
  }
});

test('an end that the store refuses wakes no waiter', async () => {
  const nudges = createNudges();
  const { finish } = createHistory({ finish: async () => false } as unknown as Store, nudges);
  using end = nudges.next('end job_a');
  let isTold = false;
  void end.arrived.then(() => {
    isTold = true;
  });
  expect(await finish(finishOf({ tenant: 'acme', job_id: 'job_a' }))).toBe(false);
  await new Promise(setImmediate);
  expect(isTold).toBe(false);
});

describe('a page of the history', () => {
  test('begins after its cursor, and its next cursor is null after the terminal event', async () => {
    await using rig = await JobRig.open();
    const key = await rig.submit();
    const cell = await rig.provider.running(0);
    const replay = (after: number, limit: number) => rig.replay(key.job_id, { after, limit });
    expect(await replay(2, 10)).toEqual({ events: [], next_cursor: 2 });
    cell.write('stdout', { text: 'a' }, { text: 'b' });
    cell.end({ kind: 'exited', exit_code: 0 });
    await rig.ended(key);
    const first = await replay(0, 2);
    expect(first).toMatchObject({ events: [{ seq: 1 }, { seq: 2 }], next_cursor: 2 });
    expect(await replay(2, 2)).toMatchObject({ events: [{ seq: 3 }, { seq: 4 }], next_cursor: 4 });
    expect(await replay(4, 2)).toMatchObject({ events: [{ seq: 5, kind: 'finished' }], next_cursor: null });
    expect(await replay(5, 2)).toEqual({ events: [], next_cursor: null });
    // No event will follow, so the replay does not wait.
    const wait = { waitSeconds: 20, signal: new AbortController().signal };
    expect(await rig.jobs.replay(acme, key.job_id, { after: 5, limit: 2, wait })).toMatchObject({ isEmpty: false });
  });
});
