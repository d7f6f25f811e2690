/**
 * Clients that only submit jobs and wait for the results, each over one kept-alive connection. They use no client library,
 * because the cost of a library is not the service's.
 */
import { Agent, request } from 'node:http';
import type { AwaitedSubmission, FoldedResult, JobSubmission } from '@vouchbox/protocol';

export interface JobClient extends Disposable {
  /** The milliseconds from the first byte of the submission to the last byte of the terminal result. */
  timed(submission: JobSubmission): Promise<{ readonly milliseconds: number; readonly result: FoldedResult }>;
  /** Resolves with the address of the result. */
  submit(submission: JobSubmission): Promise<string>;
  /** Waits for the terminal result. */
  result(url: string): Promise<FoldedResult>;
  call<Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer>;
}

export function openJobClient({ port, key }: { readonly port: number; readonly key: string }): JobClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = <Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? null : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${key}`,
        ...(text !== null && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      };
      const sent = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.once('error', reject);
        response.once('end', () => {
          const answer = Buffer.concat(pieces).toString();
          if ((response.statusCode ?? 500) < 300) resolve(JSON.parse(answer) as Answer);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer.slice(0, 300)}`));
        });
      });
      sent.once('error', reject);
      sent.end(text ?? undefined);
    });
  const submit = async (submission: JobSubmission) =>
    (await call<AwaitedSubmission>('POST', '/v1/jobs', submission)).result_url;
  const result = (url: string) => call<FoldedResult>('GET', `${url}?wait_seconds=60`);
  return {
    call,
    submit,
    result,
    async timed(submission) {
      const started = performance.now();
      const { result: folded } = await call<AwaitedSubmission>('POST', '/v1/jobs?wait_seconds=60', submission);
      const milliseconds = performance.now() - started;
      if (!folded) throw new Error('a job had not ended after 60 seconds');
      return { milliseconds, result: folded };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
