/**
 * Piston's interface, version 2: `/api/v2/runtimes` and `/api/v2/execute`, also under the prefix that its public
 * service had. A version is not selected: whatever is asked for, the one that is installed runs, and the answer names it.
 */
import type { Capabilities } from '@vouchbox/protocol';
import type { FastifyInstance } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { AdapterError, unsupported } from '../adapter-error.ts';
import type { NamedFile, Program } from '../program.ts';
import { type Body, listOf, objectOf, optionalNumber, optionalText, requiredText } from '../request-body.ts';
import { type Ended, messageOf, outputInOrder, runProgram } from '../run-program.ts';
import { languageNamed, pistonRuntime } from './languages.ts';

const PREFIXES = ['/api/v2', '/api/v2/piston'];

export const piston: Adapter = {
  routes: (app, parts) => {
    for (const prefix of PREFIXES) addRoutes(app, prefix, parts);
  },
  invalidStatus: 400,
  errorBody: ({ message }) => ({ message }),
};

function addRoutes(app: FastifyInstance, prefix: string, parts: AdapterParts): void {
  const { languages } = parts;
  app.get(`${prefix}/runtimes`, async () => (await languages.offered()).map(pistonRuntime));
  app.post(`${prefix}/execute`, async (request) => {
    const body = objectOf(request.body);
    const name = requiredText(body, 'language');
    const offered = languageNamed(name, await languages.offered());
    if (offered === undefined) {
      throw new AdapterError(400, `${name}-${optionalText(body, 'version') ?? '*'} runtime is unknown`);
    }
    const { ceilings } = (await languages.capabilities()).limits;
    const program = programOf(body, { language: offered.language, ceilings });
    const ended = await runProgram(parts, program);
    return answerOf(ended, await outputInOrder(parts.client, ended), pistonRuntime(offered));
  });
}

type Ceilings = Capabilities['limits']['ceilings'];

function programOf(body: Body, { language, ceilings }: { language: string; ceilings: Ceilings }): Program {
  const [main, ...besides] = listOf(body, 'files').map(fileOf);
  if (main === undefined) throw new AdapterError(400, 'files is required as a non-empty array', 'files');
  return {
    language,
    code: Buffer.from(main.content_base64, 'base64').toString(),
    name: main.path,
    besides,
    wanted: [],
    stdin: optionalText(body, 'stdin'),
    args: listOf(body, 'args').map(argument),
    limits: limitsOf(body, ceilings),
  };
}

function argument(word: unknown): string {
  if (typeof word === 'string') return word;
  throw new AdapterError(400, 'args must be an array of strings', 'args');
}

/** Files without a name are numbered, as Piston does. */
function fileOf(value: unknown, index: number): NamedFile {
  const file = objectOf(value, `files[${index}]`);
  const content = requiredText(file, 'content');
  const encoding = optionalText(file, 'encoding') ?? 'utf8';
  if (!['utf8', 'base64', 'hex'].includes(encoding)) {
    throw new AdapterError(400, `files[${index}].encoding must be utf8, base64 or hex`, 'files');
  }
  const bytes = Buffer.from(content, encoding as BufferEncoding);
  return { path: optionalText(file, 'name') ?? `file${index}.code`, content_base64: bytes.toString('base64') };
}

/** Piston counts milliseconds and bytes; -1 sets no limit, so that the service's default holds. */
function limitsOf(body: Body, ceilings: Ceilings): Program['limits'] {
  const [wall, memory] = [optionalNumber(body, 'run_timeout'), optionalNumber(body, 'run_memory_limit')];
  const cpu = optionalNumber(body, 'run_cpu_time');
  return {
    ...bounded('run_timeout', 'wall_seconds', wall === undefined ? wall : wall / 1000, ceilings),
    ...bounded('run_cpu_time', 'cpu_seconds', cpu === undefined ? cpu : cpu / 1000, ceilings),
    ...bounded(
      'run_memory_limit',
      'mem_mb',
      memory === undefined || memory < 0 ? undefined : memory / 2 ** 20,
      ceilings,
    ),
  };
}

function bounded(member: string, limit: keyof Ceilings, value: number | undefined, ceilings: Ceilings) {
  if (value === undefined) return {};
  if (value <= 0) throw unsupported(member, `${member} must be greater than 0`);
  if (value > ceilings[limit]) {
    throw new AdapterError(
      400,
      `${member} cannot exceed the configured limit of ${ceilings[limit]} (${limit})`,
      member,
    );
  }
  return { [limit]: value };
}

interface Stage {
  readonly stdout: string;
  readonly stderr: string;
  readonly output: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly message: string | null;
  readonly status: 'RE' | 'SG' | 'TO' | null;
  readonly cpu_time: number | null;
  readonly wall_time: number | null;
  readonly memory: number | null;
}

function answerOf(ended: Ended, output: string, { language, version }: { language: string; version: string }) {
  const stage = stageOf(ended, output);
  // As with Piston, a program that does not compile has no run.
  return ended.kind === 'compile_failed' ? { language, version, compile: stage } : { language, version, run: stage };
}

function stageOf(ended: Ended, output: string): Stage {
  const killed = ended.kind === 'time_limit' || ended.kind === 'memory_limit';
  return {
    stdout: ended.stdout,
    stderr: ended.stderr,
    output,
    code: killed ? null : ended.exitCode,
    signal: killed ? 'SIGKILL' : ended.signal,
    message: messageOf(ended) || null,
    status: statusOf(ended),
    cpu_time: ended.cpuMilliseconds,
    wall_time: ended.wallMilliseconds,
    memory: ended.memoryBytes,
  };
}

function statusOf({ kind, exitCode }: Ended): Stage['status'] {
  if (kind === 'time_limit') return 'TO';
  if (kind === 'memory_limit' || kind === 'signaled') return 'SG';
  return exitCode === 0 ? null : 'RE';
}
