/** SandboxFusion's `POST /run_code`, which is called by programs that train models. */
import { constants } from 'node:os';
import { LANGUAGES, type Language } from '@vouchbox/protocol/vocabulary';
import type { FastifyInstance } from 'fastify';
import type { Adapter, AdapterParts } from '../adapter.ts';
import { unsupported } from '../adapter-error.ts';
import type { NamedFile, Program } from '../program.ts';
import { type Body, listOf, objectOf, optionalNumber, optionalText, requiredText } from '../request-body.ts';
import { type Ended, messageOf, type Ran, runProgram, stagesOf } from '../run-program.ts';

/** SandboxFusion's names for our languages. SandboxFusion has no C. */
const NAMES: Readonly<Record<Language, readonly string[]>> = {
  python: ['python'],
  node: ['nodejs', 'js', 'javascript'],
  typescript: ['typescript', 'ts'],
  bash: ['bash'],
  ruby: ['ruby'],
  php: ['php'],
  lua: ['lua'],
  r: ['R'],
  java: ['java'],
  c: [],
  cpp: ['cpp'],
};

/** SandboxFusion's name for the file with the code. The name matters only if there are other files. */
const MAIN_FILES: Readonly<Partial<Record<Language, string>>> = {
  python: 'main.py',
  node: 'main.js',
  typescript: 'main.ts',
  bash: 'main.sh',
};

export const sandboxFusion: Adapter = {
  routes: (app: FastifyInstance, parts: AdapterParts) => {
    app.post('/run_code', async (request) => {
      return answerOf(await runProgram(parts, programOf(objectOf(request.body))));
    });
  },
  statusOf: ({ status }) => (status === 400 ? 422 : status >= 500 ? 200 : status),
  // SandboxFusion reports an error in the sandbox as an outcome, not as a failed request.
  errorBody: ({ status, message, member }) =>
    status >= 500
      ? { ...NOTHING, status: 'SandboxError', message }
      : { detail: [{ loc: ['body', ...(member === null ? [] : [member])], msg: message, type: 'value_error' }] },
};

const NOTHING = { compile_result: null, run_result: null, executor_pod_name: null, files: {} };

function programOf(body: Body): Program {
  const named = requiredText(body, 'language');
  const language = LANGUAGES.find((one) => NAMES[one].includes(named));
  if (language === undefined) throw unsupported('language', `${named} is not offered here`);
  const memory = optionalNumber(body, 'memory_limit_MB');
  const [compile, wall] = [optionalNumber(body, 'compile_timeout'), optionalNumber(body, 'run_timeout')];
  return {
    language,
    code: requiredText(body, 'code'),
    name: MAIN_FILES[language] ?? 'main',
    stdin: optionalText(body, 'stdin'),
    args: [],
    besides: Object.entries(objectOf(body['files'] ?? {}, 'files')).flatMap(fileOf),
    wanted: listOf(body, 'fetch_files').map(String),
    limits: {
      ...(wall !== undefined && { wall_seconds: wall }),
      ...(memory !== undefined && memory > 0 && { mem_mb: memory }),
    },
    compiler: { options: [], limits: compile === undefined ? {} : { wall_seconds: compile } },
  };
}

/** A file with its content. A file without content is skipped, as in SandboxFusion. */
function fileOf([path, content]: [string, unknown]): NamedFile[] {
  if (content === null) return [];
  if (typeof content !== 'string') throw unsupported('files', `files.${path} must be base64 text`);
  return [{ path, content_base64: content }];
}

function answerOf(ran: Ran) {
  const { compile, run } = stagesOf(ran);
  const isGood = run?.kind === 'exited' && run.exitCode === 0;
  return {
    status: isGood ? 'Success' : 'Failed',
    message: [compile, run].flatMap((ended) => (ended === null ? [] : messageOf(ended) || [])).join('; '),
    compile_result: compile === null ? null : stageOf(compile),
    run_result: run === null ? null : stageOf(run),
    executor_pod_name: null,
    files: Object.fromEntries(
      [...(ran.run?.files ?? [])].map(([path, bytes]) => [
        path.slice('output/'.length),
        Buffer.from(bytes).toString('base64'),
      ]),
    ),
  };
}

function stageOf(ended: Ended) {
  const isTimeout = ended.kind === 'time_limit';
  return {
    status: isTimeout ? 'TimeLimitExceeded' : 'Finished',
    execution_time: ended.wallMilliseconds === null ? null : ended.wallMilliseconds / 1000,
    return_code: isTimeout ? null : (ended.exitCode ?? -signalNumber(ended.signal)),
    stdout: ended.stdout,
    stderr: ended.stderr,
  };
}

/** A signal's number; Python's `returncode` is its negative. A program that exceeded its memory was killed with SIGKILL. */
function signalNumber(signal: string | null): number {
  return constants.signals[(signal ?? 'SIGKILL') as NodeJS.Signals] ?? constants.signals.SIGKILL;
}
