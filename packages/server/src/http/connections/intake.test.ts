import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Intake, unansweredMax, waitingBytesMax } from './intake.ts';
import { Turns } from './turns.ts';

const HEAD = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** An answer under way, to a request that has arrived whole. */
function answer(writableLength = 0): ServerResponse {
  return { req: { complete: true }, writableLength } as ServerResponse;
}

function request(headers: IncomingMessage['headers']): IncomingMessage {
  return { headers } as IncomingMessage;
}

interface Given {
  readonly turns?: Turns;
  readonly answers?: ServerResponse[];
  readonly isClosing?: boolean;
  readonly onSlice?: (intake: Intake) => void;
}

/** An intake, a record of the bytes that it passes to the parser, and functions to drive it. */
function opened({ turns = new Turns(), answers = [], isClosing = false, onSlice }: Given = {}) {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }) as Socket;
  const slices: string[] = [];
  const heads: IncomingMessage['headers'][] = [];
  socket.on('data', (bytes: Buffer) => {
    slices.push(bytes.toString('latin1'));
    const headers = heads.shift();
    if (headers !== undefined) intake.requestBegan(request(headers));
    onSlice?.(intake);
  });
  const intake = new Intake(socket, { turns, answers, isClosing: () => isClosing });
  const arrive = (text: string) => socket.emit('data', Buffer.from(text, 'latin1'));
  return { socket, slices, heads, intake, answers, arrive };
}

describe('the intake of a connection', () => {
  test('separates the heads of two requests, wherever in the first head the first read ends', () => {
    for (let cut = 1; cut <= HEAD.length; cut += 1) {
      const { slices, arrive } = opened();
      const both = HEAD + HEAD;
      arrive(both.slice(0, cut));
      arrive(both.slice(cut));
      const first = cut === HEAD.length ? [HEAD] : [HEAD.slice(0, cut), HEAD.slice(cut)];
      expect(slices).toEqual([...first, HEAD]);
    }
  });

  test('passes on a head that arrives in three reads, one of which has a single byte of the head’s end', () => {
    const { slices, arrive } = opened();
    const end = HEAD.length - 3;
    const reads = [HEAD.slice(0, end), HEAD.slice(end, end + 1), HEAD.slice(end + 1) + HEAD];
    for (const read of reads) arrive(read);
    expect(slices).toEqual([...reads.slice(0, 2), HEAD.slice(end + 1), HEAD]);
  });

  test('does not split a body with a declared length, even if the body looks like heads', () => {
    const { slices, heads, arrive } = opened();
    const body = HEAD.repeat(2);
    heads.push({ 'content-length': String(body.length) });
    arrive(HEAD + body + HEAD);
    expect(slices).toEqual([HEAD, body, HEAD]);
  });

  test('passes on a body with a declared length that arrives in two reads, and the next head after it', () => {
    const { slices, heads, arrive } = opened();
    heads.push({ 'content-length': '10' });
    arrive(`${HEAD}\r\n\r\n`);
    arrive(`\r\n\r\n56${HEAD}`);
    expect(slices).toEqual([HEAD, '\r\n\r\n', '\r\n\r\n56', HEAD]);
  });

  test('passes on a chunked body whole, and ignores its Content-Length', () => {
    const { slices, heads, arrive } = opened();
    heads.push({ 'transfer-encoding': 'chunked', 'content-length': '1000' });
    arrive(`${HEAD}0\r\n\r\n${HEAD}`);
    expect(slices).toEqual([HEAD, '0\r\n\r\n', HEAD]);
  });

  test('discards what arrives on a closing connection', () => {
    const { socket, slices, arrive } = opened({ isClosing: true });
    arrive(HEAD);
    expect([slices, socket.isPaused()]).toEqual([[], false]);
  });

  test('returns the bytes that follow the request that changed the protocol', () => {
    const rests: string[] = [];
    const connection = opened({ onSlice: (intake) => rests.push(intake.release().toString('latin1')) });
    connection.arrive(`${HEAD}frame`);
    connection.arrive('more');
    expect([connection.slices, rests]).toEqual([[HEAD], ['frame']]);
  });
});

describe('a request that arrives before the earlier one is answered', () => {
  test('waits for its turn, and is then passed on', async () => {
    const { socket, slices, arrive } = opened({ answers: [answer()] });
    arrive(HEAD);
    expect([slices, socket.isPaused()]).toEqual([[], true]);
    await once(socket, 'resume');
    await setImmediate();
    expect(slices).toEqual([HEAD]);
  });

  test('is passed on at once while the earlier request’s body is arriving', () => {
    const { slices, arrive } = opened({ answers: [{ req: { complete: false } } as ServerResponse] });
    arrive('body');
    expect(slices).toEqual(['body']);
  });

  test.each([
    [unansweredMax - 1, 0, true],
    [unansweredMax, 0, false],
    [1, waitingBytesMax, true],
    [1, waitingBytesMax + 1, false],
  ])('with %i unanswered requests before it and %i unread bytes is passed on: %s', async (count, bytes, hasTurn) => {
    const answers = Array.from({ length: count }, () => answer(bytes));
    const { socket, slices, intake, arrive } = opened({ answers });
    arrive(HEAD);
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect([slices.length, socket.isPaused()]).toEqual(hasTurn ? [1, false] : [0, true]);
    answers.length = 0;
    intake.answerEnded();
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(slices).toEqual([HEAD]);
  });

  test('gets one turn at a time, so that other connections have turns in between', async () => {
    const turns = new Turns();
    const passed: string[] = [];
    const waiting = (name: string) => {
      return opened({
        turns,
        answers: [answer()],
        onSlice: (intake) => {
          passed.push(name);
          intake.requestBegan(request({}));
        },
      });
    };
    const [first, second] = [waiting('first'), waiting('second')];
    first.arrive(HEAD + HEAD);
    first.intake.answerEnded();
    second.arrive(HEAD);
    // A connection was taken, so the next turn of the event loop passes on only one request. Later turns pass on all others.
    turns.connectionTaken();
    await expect.poll(() => passed).toHaveLength(3);
    expect(passed).toEqual(['first', 'second', 'first']);
  });
});
