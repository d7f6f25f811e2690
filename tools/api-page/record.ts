/** Starts a service, makes every request in docs/API.md with curl, as a reader would, and records the answers. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type OperationId, operationOf } from '@vouchbox/protocol';
import { type EmbeddedService, openEmbeddedService } from 'vouchbox/embedded-service';
import { type Example, REFUSED, SECTIONS } from './examples.ts';
import type { Exchange, ExchangeName, Exchanges } from './exchange.ts';
import { onlyShown, shownJson } from './shown-json.ts';
import { Stable } from './stable.ts';

const run = promisify(execFile);
const METRICS_TOKEN = 'a-token-for-the-examples-alone';
/** How many lines of metrics are shown. */
const METRIC_LINES = 6;
/** Waits until the log has the job. This takes about a second. */
const LOGGED =
  'until curl -sf -o /dev/null -H "Authorization: Bearer $key" "$url/v1/jobs/$job/log-proof"; do sleep 0.2; done';
/** The headers that are shown with an answer. Every answer has more. */
const SHOWN_HEADERS = [
  'Content-Type',
  'Location',
  'Idempotency-Replayed',
  'X-Content-Sha256',
  'ETag',
  'WWW-Authenticate',
];

/** Records every exchange on the page. Needs curl. */
export async function recordExchanges(): Promise<Exchanges> {
  process.env['SERVICE_METRICS_TOKEN'] = METRICS_TOKEN;
  process.env['SERVICE_LOG_HOST'] = 'log.example';
  process.env['SERVICE_LOG_PROMISES'] = 'all';
  process.env['SERVICE_CANARIES'] = 'on';
  process.env['SERVICE_LINKS'] = 'on';
  await using service = await openEmbeddedService({ signing: 'on' });
  await using recorder = await Recorder.open(service);
  for (const { operations } of SECTIONS) {
    for (const [id, example] of Object.entries(operations)) await recorder.record(id as OperationId, example);
  }
  await recorder.record('refusal', { title: '', command: REFUSED });
  return recorder.exchanges;
}

class Recorder implements AsyncDisposable {
  readonly #service: EmbeddedService;
  readonly #directory: string;
  readonly #environment: Record<string, string>;
  readonly #stable = new Stable();
  readonly exchanges: Partial<Record<ExchangeName, Exchange>> = {};
  #ended = '';

  private constructor(service: EmbeddedService, directory: string) {
    const { url, key } = service;
    this.#service = service;
    this.#directory = directory;
    this.#environment = { PATH: process.env['PATH'] ?? '', url, key, metrics_token: METRICS_TOKEN };
  }

  static async open(service: EmbeddedService): Promise<Recorder> {
    return new Recorder(service, await mkdtemp(join(tmpdir(), 'svc-api-page-')));
  }

  async record(name: ExchangeName, example: Example): Promise<void> {
    if (example.job === 'ended') this.#environment['job'] = this.#ended;
    if (name === 'getLogProof') await this.#printed(LOGGED);
    if (name === 'listSessions') await this.#begunSession();
    if (name === 'getCanary') this.#environment['job'] = await this.#jobWithCanary();
    if (example.job === 'calling') this.#environment['job'] = await this.#callingJob();
    if (example.job === 'running') this.#environment['job'] = await this.#startedJob();
    const isStream = name !== 'refusal' && 101 in operationOf(name).answers;
    const answer = isStream ? await this.#printed(example.command) : await this.#answered(example);
    this.exchanges[name] = { command: example.command, answer };
  }

  /** The output of a command other than curl. */
  async #printed(command: string): Promise<string> {
    const { stdout } = await run('bash', ['-c', command], { env: this.#environment });
    return stdout.trimEnd();
  }

  /** The answer that curl got, including the head. */
  async #answered({ command, shown }: Example): Promise<string> {
    const head = join(this.#directory, 'head');
    const printed = await this.#printed(command.replace(/^curl -s/m, `curl -s -D ${head}`));
    const [status = '', ...lines] = (await readFile(head, 'utf8')).trimEnd().split('\r\n');
    const headers = SHOWN_HEADERS.flatMap((name) => {
      const line = lines.find((candidate) => candidate.toLowerCase().startsWith(`${name.toLowerCase()}: `));
      return line === undefined ? [] : `${name}${this.#stable.header(line.slice(name.length))}`;
    });
    return [status, ...headers, '', await this.#shownBody(printed, shown)].join('\n');
  }

  async #shownBody(printed: string, shown: readonly string[] | undefined): Promise<string> {
    const lines = printed.split('\n');
    if (!printed.startsWith('{'))
      return lines.length > METRIC_LINES ? [...lines.slice(0, METRIC_LINES), '…'].join('\n') : printed;
    const body = JSON.parse(printed) as Record<string, unknown>;
    const stable = this.#stable.body(body) as Parameters<typeof shownJson>[0];
    await this.#learn(body);
    return shownJson(shown === undefined ? stable : onlyShown(stable, shown));
  }

  /** Remembers the job, the ticket and other values in an answer, because later commands name them. */
  async #learn(body: Record<string, unknown>): Promise<void> {
    const { job_id, link_id, result, ticket, stream_url, already_terminal, grading_id, calls } = body;
    if (typeof link_id === 'string') this.#environment['link'] = link_id;
    if (Array.isArray(calls)) this.#environment['seq'] = String((calls as { seq: number }[])[0]?.seq);
    if (typeof grading_id === 'string') this.#environment['grading'] = grading_id;
    if (ticket !== undefined) this.#environment['stream_url'] = String(stream_url);
    if (result !== undefined) await this.#keepEnded(String(job_id));
    if (already_terminal !== undefined && typeof job_id === 'string')
      await this.#service.client.result(job_id, { waitSeconds: 60 });
  }

  /** Remembers the job that most examples are about. Waits until it is signed, which happens shortly after its end. */
  async #keepEnded(job_id: string): Promise<void> {
    this.#ended = job_id;
    this.#environment['job'] = job_id;
    while (!(await this.#service.client.detail(job_id)).attestation.available) await setTimeout(20);
  }

  /** Runs jobs until one names a canary. The first jobs name none, because they end before the first canary does. */
  async #jobWithCanary(): Promise<string> {
    const { client } = this.#service;
    for (;;) {
      const { job_id } = await client.run({ language: 'bash', code: 'true' });
      while (!(await client.detail(job_id)).attestation.available) await setTimeout(20);
      const names = await client.canary(job_id).then(
        () => true,
        () => false,
      );
      if (names) return job_id;
    }
  }

  async #callingJob(): Promise<string> {
    const call = JSON.stringify({ call: 1, tool: 'search', arguments: { query: 'owls' } });
    const code = `echo '${call}' >&31; read -r answer <&30; echo "$answer"`;
    const tools = [{ name: 'search', arguments: { type: 'object', required: ['query'] } }];
    return (await this.#service.client.submit({ language: 'bash', code, tools })).job_id;
  }

  async #begunSession(): Promise<void> {
    this.#environment['session'] = 'analysis';
    const session = await this.#service.client.session('analysis');
    await session.run('total = 42');
  }

  async #startedJob(): Promise<string> {
    const { client } = this.#service;
    const { job_id } = await client.submit({ language: 'bash', code: 'sleep 60' });
    for await (const { kind } of client.follow(job_id)) if (kind === 'started') break;
    return job_id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
