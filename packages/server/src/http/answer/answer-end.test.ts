import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { interruptionOf } from './answer-end.ts';

const newResponse = () => new ServerResponse(new IncomingMessage(new Socket()));

describe('the abort signal of an answer', () => {
  test('aborts when the answer is closed', () => {
    const response = newResponse();
    using interruption = interruptionOf(response, new AbortController().signal);
    expect(interruption.signal.aborted).toBe(false);
    response.emit('close');
    expect(interruption.signal.aborted).toBe(true);
  });

  test('aborts when the service stops', () => {
    const stopping = new AbortController();
    using interruption = interruptionOf(newResponse(), stopping.signal);
    expect(interruption.signal.aborted).toBe(false);
    stopping.abort();
    expect(interruption.signal.aborted).toBe(true);
  });

  test('is already aborted if the service is stopping', () => {
    using interruption = interruptionOf(newResponse(), AbortSignal.abort());
    expect(interruption.signal.aborted).toBe(true);
  });

  test('is already aborted if the answer was destroyed', () => {
    const response = newResponse();
    response.destroy();
    using interruption = interruptionOf(response, new AbortController().signal);
    expect(interruption.signal.aborted).toBe(true);
  });

  test('no longer aborts once it is disposed', () => {
    const response = newResponse();
    const stopping = new AbortController();
    const interruption = interruptionOf(response, stopping.signal);
    interruption[Symbol.dispose]();
    response.emit('close');
    stopping.abort();
    expect(interruption.signal.aborted).toBe(false);
    expect(response.listenerCount('close')).toBe(0);
  });
});
