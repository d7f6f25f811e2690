/** The adapter for callers of SandboxFusion. */
import { constants } from 'node:os';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { type Seen, textOf } from '../facts.ts';
import { NO_LIST, NO_STATUS, type Place, withoutOpening } from '../place.ts';
import { type AdapterAnswer, endWithoutResult, NOT_IN_THEIR_INTERFACE, withAdapter } from './adapter.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';
import { cancelByClient } from './typescript-client.ts';

const NAMES: Readonly<Record<string, string>> = { node: 'nodejs' };

/**
 * In SandboxFusion, input and output files are in the working directory. A request names each file that it sends or fetches.
 */
function bodyOf({ scenario: { program, sees } }: Crossing) {
  const { language, code, stdin, limits = {} } = program;
  const { wall_seconds, mem_mb } = limits;
  return {
    language: NAMES[language] ?? language,
    code,
    ...(stdin !== undefined && { stdin }),
    ...(wall_seconds && { run_timeout: wall_seconds }),
    ...(mem_mb && { memory_limit_MB: mem_mb }),
    ...(program.outputs && { fetch_files: Object.keys(sees.files ?? {}) }),
  };
}

function seenOf({ status, json }: AdapterAnswer): Seen {
  if (status !== 200) throw new Error(`HTTP ${status}: ${JSON.stringify(json).slice(0, 300)}`);
  if (json.status === 'SandboxError') return { status: endWithoutResult(json.message) };
  if (json.run_result === null) return { status: 'failed', stdout: json.compile_result.stdout };
  const { stdout, stderr, return_code, status: ended } = json.run_result;
  const truncated = /output is cut/.test(json.message);
  const files = Object.entries(json.files as Record<string, string>);
  const contents = files.map(([name, content]) => [name, textOf(Buffer.from(content, 'base64'))]);
  const shown = { stdout, stderr, truncated, files: Object.fromEntries(contents) };
  if (ended === 'TimeLimitExceeded') return { ...shown, status: 'timed_out' };
  if (/memory/.test(json.message)) return { ...shown, status: 'oom_killed' };
  if (return_code >= 0) return { ...shown, status: return_code === 0 ? 'succeeded' : 'failed', exit_code: return_code };
  const [signal] = Object.entries(constants.signals).find(([, number]) => number === -return_code) ?? [];
  return { ...shown, status: 'failed', signal: signal ?? null };
}

const caller: Caller = {
  // SandboxFusion's interface has no request that cancels. The job is cancelled at the service, and the adapter must
  // report that.
  cancel: cancelByClient,
  run: async (crossing) =>
    await withAdapter('sandbox-fusion', crossing, async (ask) => seenOf(await ask('/run_code', bodyOf(crossing)))),
};

const FUSION = 'SandboxFusion';
const NAMES_EACH =
  'A request of SandboxFusion has no patterns: it names each file that it fetches, and no other is looked at.';

export const sandboxFusion: Place = {
  title: 'SandboxFusion',
  group: 'callers',
  service: 'usual',
  shows: ['status'],
  except: {
    upload: NOT_IN_THEIR_INTERFACE.upload(FUSION),
    from_job: NOT_IN_THEIR_INTERFACE.from_job(FUSION),
    args: 'A request of SandboxFusion has no arguments.',
    env: NOT_IN_THEIR_INTERFACE.env(FUSION),
    session: NOT_IN_THEIR_INTERFACE.session(FUSION),
    tools: NOT_IN_THEIR_INTERFACE.tools(FUSION),
    labels: NOT_IN_THEIR_INTERFACE.labels(FUSION),
    libraries: NOT_IN_THEIR_INTERFACE.libraries(FUSION),
    links: NOT_IN_THEIR_INTERFACE.links(FUSION),
    reproducible: NOT_IN_THEIR_INTERFACE.reproducible(FUSION),
    promised: NOT_IN_THEIR_INTERFACE.promised(FUSION),
    cpu_seconds: 'A request of SandboxFusion has no limit of processor time.',
    max_pids: 'A request of SandboxFusion has no limit of processes.',
    max_file_mb: 'A request of SandboxFusion has no limit of the size of a file.',
    graded: 'A request of SandboxFusion has no expected output.',
    repeated: NOT_IN_THEIR_INTERFACE.repeated(FUSION),
    by_digest: NOT_IN_THEIR_INTERFACE.by_digest(FUSION),
    pair: NOT_IN_THEIR_INTERFACE.pair(FUSION),
    named_stdin: NOT_IN_THEIR_INTERFACE.named_stdin(FUSION),
    built: NOT_IN_THEIR_INTERFACE.built(FUSION),
    interactive: NOT_IN_THEIR_INTERFACE.interactive(FUSION),
    packaged: READ_BY_THE_COMMAND,
  },
  unseen: {
    listed: NO_LIST,
    counted: NO_STATUS,
    glob: { facts: [], why: NAMES_EACH },
    foreign_names: { facts: ['violations'], why: NAMES_EACH },
  },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
