/** Programs that call tools, and ways for a caller of the service to get and answer the calls. */
import { once } from 'node:events';
import type { AnswerRefused, JobEvent, JobSubmission, OpenToolCall } from '@vouchbox/protocol';
import { WebSocket } from 'ws';
import type { Rig } from './rig.ts';

/** A short client for the two file descriptors that carry tool calls. */
const TOOLS = `
import json, os
answers, calls, number = os.fdopen(30, "rb"), os.fdopen(31, "wb"), 0
def write(line):
    calls.write(line)
    calls.flush()
def begin(tool, **arguments):
    global number
    number += 1
    write(json.dumps({"call": number, "tool": tool, "arguments": arguments}).encode() + b"\\n")
    return number
def told():
    return json.loads(answers.readline())
def call(tool, **arguments):
    begin(tool, **arguments)
    return told()
`;

export function callingPython(code: string, more: Partial<JobSubmission> = {}): JobSubmission {
  const limits = { wall_seconds: 60 };
  return { language: 'python', code: TOOLS + code, tools: [{ name: 'search' }], limits, ...more };
}

/** A tool that answers no call before this many calls are open. */
export function onceOpen<Result>(
  count: number,
  answer: (given: { readonly n: number }) => Result,
): (given: { readonly n: number }) => Promise<Result> {
  const all = Promise.withResolvers<void>();
  let open = 0;
  return async (given) => {
    if (++open === count) all.resolve();
    await all.promise;
    return answer(given);
  };
}

/** Waits until there is an open call, and returns the open calls. */
export async function openCalls(to: Rig, job_id: string, after = 0): Promise<OpenToolCall[]> {
  return (await to.alpha.client.toolCalls(job_id, { after, waitSeconds: 60 })).calls;
}

/** A stream opened with a key or a ticket, and what the stream sent. */
export class AnsweringStream {
  readonly frames: (JobEvent | AnswerRefused)[] = [];
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  #came = Promise.withResolvers<void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString()) as JobEvent);
      this.#came.resolve();
      this.#came = Promise.withResolvers();
    });
    this.closed = new Promise((resolve) => socket.on('close', resolve));
    void this.closed.then(() => this.#came.resolve());
  }

  /** Opens a job's stream with the key, or with a ticket if there is no key. */
  static async open(
    to: Rig,
    job_id: string,
    { key = to.alpha.key, after = 0 }: { key?: string | null; after?: number } = {},
  ) {
    const path =
      key === null
        ? `${(await to.alpha.client.streamTicket(job_id)).stream_url}&after=${after}`
        : `/v1/jobs/${job_id}/stream?after=${after}`;
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const socket = new WebSocket(to.service.url.replace('http', 'ws') + path, { headers });
    const stream = new AnsweringStream(socket);
    await once(socket, 'open');
    return stream;
  }

  send(message: object | string | Uint8Array): void {
    const isPlain = typeof message === 'string' || message instanceof Uint8Array;
    this.#socket.send(isPlain ? message : JSON.stringify(message));
  }

  /** The first frame for which the condition holds. Rejects if the stream closes without such a frame. */
  async find<Found>(found: (frame: JobEvent & AnswerRefused) => Found | undefined | false): Promise<Found> {
    for (let at = 0; ; at++) {
      while (at >= this.frames.length) {
        if (this.#socket.readyState === WebSocket.CLOSED) throw new Error('the stream closed');
        await this.#came.promise;
      }
      const value = found(this.frames[at] as JobEvent & AnswerRefused);
      if (value !== undefined && value !== false) return value;
    }
  }

  event(kind: string, count = 1): Promise<JobEvent> {
    let seen = 0;
    return this.find((frame) => frame.kind === kind && ++seen === count && frame);
  }

  refusal(): Promise<AnswerRefused['answer_refused']> {
    return this.find(({ answer_refused }) => answer_refused);
  }

  close(): void {
    this.#socket.terminate();
  }
}
