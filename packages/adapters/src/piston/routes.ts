/**
 * Piston's interface, version 2: `/api/v2/runtimes` and `/api/v2/execute`, also under the prefix of Piston's public service.
 * Callers cannot select a version: the installed version runs, whatever is requested, and the answer names it.
 */
import type { Capabilities } from '@vouchbox/protocol';
import type { Language } from '@vouchbox/protocol/vocabulary';
import type { FastifyInstance } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { AdapterError } from '../adapter-error.ts';
import type { OfferedLanguage } from '../languages.ts';
import type { NamedFile, Program } from '../program.ts';
import { type Body, listOf, objectOf, optionalNumber, optionalText, requiredText } from '../request-body.ts';
import { type Ended, messageOf, outputInOrder, type Ran, runProgram, stagesOf } from '../run-program.ts';
import { languageNamed, pistonPackage, pistonRuntime } from './languages.ts';

const PREFIXES = ['/api/v2', '/api/v2/piston'];

export const piston: Adapter = {
  routes: (app, parts) => {
    for (const prefix of PREFIXES) addRoutes(app, prefix, parts);
  },
  statusOf: ({ status }) => status,
  errorBody: ({ message }) => ({ message }),
};

function addRoutes(app: FastifyInstance, prefix: string, parts: AdapterParts): void {
  const { languages } = parts;
  app.get(`${prefix}/runtimes`, async () => (await languages.offered()).map(pistonRuntime));
  app.get(`${prefix}/packages`, async () => (await languages.offered()).map(pistonPackage));
  app.post(`${prefix}/execute`, async (request) => {
    const body = objectOf(request.body);
    const [name, version] = [requiredText(body, 'language'), requiredText(body, 'version')];
    const offered = languageNamed(name, await languages.offered());
    if (offered === undefined) throw new AdapterError(400, `${name}-${version} runtime is unknown`);
    const { ceilings } = (await languages.capabilities()).limits;
    const program = programOf(body, { language: offered.language, ceilings });
    return answerOf(await runProgram(parts, program, { history: true }), offered);
  });
}

type Ceilings = Capabilities['limits']['ceilings'];

function programOf(body: Body, { language, ceilings }: { language: Language; ceilings: Ceilings }): Program {
  const [main, ...besides] = listOf(body, 'files').map(fileOf);
  if (main === undefined) throw new AdapterError(400, 'files is required as an array, with a file', 'files');
  return {
    language,
    code: Buffer.from(main.content_base64, 'base64').toString(),
    name: main.path,
    besides,
    wanted: [],
    stdin: optionalText(body, 'stdin'),
    args: listOf(body, 'args').map(argument),
    limits: limitsOf('run', body, ceilings),
    compiler: { options: [], limits: limitsOf('compile', body, ceilings) },
  };
}

function argument(word: unknown): string {
  if (typeof word === 'string') return word;
  throw new AdapterError(400, 'args must be an array of strings', 'args');
}

/** A file in a request. Files without a name are numbered, as in Piston. */
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

/** The limits of a stage: Piston's name, our name, and how many of Piston's units (milliseconds or bytes) make one of ours. */
const LIMITS = [
  ['timeout', 'wall_seconds', 1000],
  ['cpu_time', 'cpu_seconds', 1000],
  ['memory_limit', 'mem_mb', 2 ** 20],
] as const;

/** Limits of a stage. The service's default applies if a limit is absent or 0, or if a memory limit is -1 (none in Piston). */
function limitsOf(stage: 'compile' | 'run', body: Body, ceilings: Ceilings): Program['limits'] {
  const limits: Program['limits'] = {};
  for (const [name, limit, unit] of LIMITS) {
    const member = `${stage}_${name}`;
    const value = optionalNumber(body, member);
    if (value === undefined || value === 0 || (limit === 'mem_mb' && value === -1)) continue;
    if (value < 0) throw new AdapterError(400, `${member} must be non-negative`, member);
    if (value > ceilings[limit] * unit) {
      const most = ceilings[limit] * unit;
      throw new AdapterError(400, `${member} cannot exceed the configured limit of ${most}`, member);
    }
    limits[limit] = value / unit;
  }
  return limits;
}

function answerOf(ran: Ran, offered: OfferedLanguage) {
  const { language, version } = pistonRuntime(offered);
  const ended = stagesOf(ran);
  const compile = ended.compile === null ? {} : { compile: stageOf(ended.compile) };
  // Piston, too, reports a compiler's failure as the outcome of both stages.
  const run = ended.run === null ? compile.compile : stageOf(ended.run);
  return { language, version, ...compile, run };
}

function stageOf(ended: Ended) {
  const killed = ended.kind === 'time_limit' || ended.kind === 'memory_limit';
  return {
    stdout: ended.stdout,
    stderr: ended.stderr,
    output: outputInOrder(ended),
    code: killed ? null : ended.exitCode,
    signal: killed ? 'SIGKILL' : ended.signal,
    message: messageOf(ended) || null,
    status: statusOf(ended),
    cpu_time: ended.cpuMilliseconds,
    wall_time: ended.wallMilliseconds,
    memory: ended.memoryBytes,
  };
}

function statusOf({ kind, exitCode }: Ended): 'RE' | 'SG' | 'TO' | null {
  if (kind === 'time_limit') return 'TO';
  if (kind === 'memory_limit' || kind === 'signaled') return 'SG';
  return exitCode === 0 ? null : 'RE';
}
