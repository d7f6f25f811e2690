/** The adapter for callers of Piston. */
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { NO_LIST, NO_STATUS, type Place, withoutOpening } from '../place.ts';
import { type AdapterAnswer, endWithoutResult, NOT_IN_THEIR_INTERFACE, withAdapter } from './adapter.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';
import { cancelByClient } from './typescript-client.ts';

const NAMES: Readonly<Record<string, string>> = { node: 'javascript', cpp: 'c++' };

function bodyOf({ scenario: { program } }: Crossing) {
  const { language, code, stdin, args, limits = {} } = program;
  const { wall_seconds: wall, cpu_seconds: cpu, mem_mb: memory } = limits;
  return {
    language: NAMES[language] ?? language,
    version: '*',
    files: [{ content: code }],
    ...(stdin !== undefined && { stdin }),
    ...(args && { args }),
    ...(wall && { run_timeout: wall * 1000 }),
    ...(cpu && { run_cpu_time: cpu * 1000 }),
    ...(memory && { run_memory_limit: memory * 2 ** 20 }),
  };
}

/** Instead of our status, Piston has a two-letter code and a message. */
function seenOf({ status, json }: AdapterAnswer): Seen {
  if (status >= 500) return { status: endWithoutResult(json.message) };
  if (status !== 200) throw new Error(`HTTP ${status}: ${JSON.stringify(json).slice(0, 300)}`);
  // Piston reports a compiler's failure in both stages, always with the code 1.
  if (json.compile && json.compile.status !== null) return { status: 'failed', stdout: json.compile.stdout };
  const { stdout, stderr, code, signal, message, status: letters } = json.run;
  const truncated = /output is cut/.test(message ?? '');
  const shown = { stdout, stderr, truncated };
  if (letters === 'TO') return { ...shown, status: 'timed_out' };
  if (letters === 'SG' && /memory/.test(message ?? '')) return { ...shown, status: 'oom_killed' };
  return { ...shown, status: letters === null ? 'succeeded' : 'failed', exit_code: code, signal };
}

const caller: Caller = {
  // Piston's interface has no way to cancel. The job is cancelled at the service, and the adapter must report that.
  cancel: cancelByClient,
  run: async (crossing) =>
    await withAdapter('piston', crossing, async (ask) => seenOf(await ask('/api/v2/execute', bodyOf(crossing)))),
};

const PISTON = 'Piston';

export const piston: Place = {
  title: 'Piston',
  group: 'callers',
  service: 'usual',
  shows: ['status'],
  except: {
    upload: NOT_IN_THEIR_INTERFACE.upload(PISTON),
    from_job: NOT_IN_THEIR_INTERFACE.from_job(PISTON),
    glob: 'An answer of Piston has no files.',
    foreign_names: 'An answer of Piston has no files.',
    env: NOT_IN_THEIR_INTERFACE.env(PISTON),
    session: NOT_IN_THEIR_INTERFACE.session(PISTON),
    tools: NOT_IN_THEIR_INTERFACE.tools(PISTON),
    labels: NOT_IN_THEIR_INTERFACE.labels(PISTON),
    libraries: NOT_IN_THEIR_INTERFACE.libraries(PISTON),
    links: NOT_IN_THEIR_INTERFACE.links(PISTON),
    reproducible: NOT_IN_THEIR_INTERFACE.reproducible(PISTON),
    promised: NOT_IN_THEIR_INTERFACE.promised(PISTON),
    max_pids: 'A request of Piston has no limit of processes.',
    max_file_mb: 'A request of Piston has no limit of the size of a file.',
    graded: 'A request of Piston has no expected output.',
    repeated: NOT_IN_THEIR_INTERFACE.repeated(PISTON),
    by_digest: NOT_IN_THEIR_INTERFACE.by_digest(PISTON),
    pair: NOT_IN_THEIR_INTERFACE.pair(PISTON),
    named_stdin: NOT_IN_THEIR_INTERFACE.named_stdin(PISTON),
    built: NOT_IN_THEIR_INTERFACE.built(PISTON),
    interactive: NOT_IN_THEIR_INTERFACE.interactive(PISTON),
    packaged: READ_BY_THE_COMMAND,
  },
  unseen: { listed: NO_LIST, counted: NO_STATUS },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
