/** The adapter for callers of Judge0. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Language } from '@vouchbox/protocol';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import type { Seen } from '../facts.ts';
import { NO_LIST, NO_STATUS, type Place, withoutOpening } from '../place.ts';
import { type AdapterAnswer, type Ask, endWithoutResult, NOT_IN_THEIR_INTERFACE, withAdapter } from './adapter.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';
import { cancelByClient } from './typescript-client.ts';

const NUMBERS: Readonly<Partial<Record<Language, number>>> = {
  python: 71,
  node: 63,
  typescript: 74,
  bash: 46,
  cpp: 54,
};
const betweenMilliseconds = 200;

/** Our status for each of Judge0's statuses. 1 and 2 mean that the job has not ended. */
const STATUSES: Readonly<Record<number, Seen['status']>> = {
  3: 'succeeded',
  4: 'succeeded',
  5: 'timed_out',
  6: 'failed',
  7: 'failed',
  8: 'failed',
  9: 'failed',
  10: 'failed',
  11: 'failed',
  12: 'failed',
  13: 'error',
};

function bodyOf({ scenario: { program } }: Crossing) {
  const { language, code, stdin, args, limits = {} } = program;
  const { wall_seconds, cpu_seconds, mem_mb, max_pids, max_file_mb } = limits;
  return {
    language_id: NUMBERS[language],
    source_code: code,
    ...(stdin !== undefined && { stdin }),
    ...(args && { command_line_arguments: args.map((word) => `'${word}'`).join(' ') }),
    ...(wall_seconds && { wall_time_limit: wall_seconds }),
    ...(cpu_seconds && { cpu_time_limit: cpu_seconds }),
    ...(mem_mb && { memory_limit: mem_mb * 1024 }),
    ...(max_pids && { max_processes_and_or_threads: max_pids }),
    ...(max_file_mb && { max_file_size: max_file_mb * 1024 }),
  };
}

function seenOf({ status, json }: AdapterAnswer): Seen {
  if (status >= 400) throw new Error(`HTTP ${status}: ${JSON.stringify(json).slice(0, 300)}`);
  const { stdout, stderr, message, status_id, exit_code, exit_signal } = json;
  const truncated = /output is cut/.test(message ?? '');
  const isMemory = status_id === 12 && /memory/.test(message ?? '');
  const ended = STATUSES[status_id];
  if (ended === undefined) throw new Error(`the status is ${status_id}`);
  const shown = { stdout: stdout ?? '', stderr: stderr ?? '', truncated };
  if (ended === 'error') return { status: endWithoutResult(message) };
  if (isMemory) return { ...shown, status: 'oom_killed' };
  // For a program that does not compile, Judge0 reports neither an exit code nor a signal.
  if (status_id === 6) return { ...shown, status: ended };
  return { ...shown, status: ended, ...(ended !== 'timed_out' && { exit_code, signal: exit_signal }) };
}

/** Submits a program, and reads the submission by its token until the program has ended. */
async function judged(ask: Ask, body: Record<string, unknown>): Promise<AdapterAnswer> {
  const { status, json } = await ask('/submissions', body);
  if (status !== 201) throw new Error(`HTTP ${status}: ${JSON.stringify(json).slice(0, 300)}`);
  return await read(ask, json.token);
}

async function read(ask: Ask, token: string): Promise<AdapterAnswer> {
  for (;;) {
    const answer = await ask(`/submissions/${token}?fields=*`);
    if (answer.status >= 400 || answer.json.status_id > 2) return answer;
    await pause(betweenMilliseconds);
  }
}

const caller: Caller = {
  // Judge0's interface has no way to cancel. The job is cancelled at the service, and the adapter must report that.
  cancel: cancelByClient,
  run: async (crossing) =>
    await withAdapter('judge0', crossing, async (ask) => seenOf(await judged(ask, bodyOf(crossing)))),
  read: async (crossing, job_id) =>
    await withAdapter('judge0', crossing, async (ask) => {
      const { language } = crossing.scenario.program;
      return seenOf(await read(ask, `${job_id}.${NUMBERS[language]}.none`));
    }),
  grade: async (crossing) =>
    await withAdapter('judge0', crossing, async (ask) => {
      const verdicts = [];
      for (const { stdin, expected } of crossing.scenario.tests ?? []) {
        const { json } = await judged(ask, { ...bodyOf(crossing), stdin, expected_output: expected });
        verdicts.push(
          json.status_id === 3 ? 'accepted' : json.status_id === 4 ? 'wrong_answer' : String(json.status_id),
        );
      }
      return { verdicts };
    }),
};

const JUDGE0 = 'Judge0';

export const judge0: Place = {
  title: 'Judge0',
  group: 'callers',
  service: 'usual',
  shows: ['status'],
  except: {
    from_job: NOT_IN_THEIR_INTERFACE.from_job(JUDGE0),
    upload: 'A submission of Judge0 has no files but `additional_files`, which is refused by its name.',
    glob: 'An answer of Judge0 has no files.',
    foreign_names: 'An answer of Judge0 has no files.',
    env: NOT_IN_THEIR_INTERFACE.env(JUDGE0),
    session: NOT_IN_THEIR_INTERFACE.session(JUDGE0),
    tools: NOT_IN_THEIR_INTERFACE.tools(JUDGE0),
    labels: NOT_IN_THEIR_INTERFACE.labels(JUDGE0),
    libraries: NOT_IN_THEIR_INTERFACE.libraries(JUDGE0),
    links: NOT_IN_THEIR_INTERFACE.links(JUDGE0),
    reproducible: NOT_IN_THEIR_INTERFACE.reproducible(JUDGE0),
    promised: NOT_IN_THEIR_INTERFACE.promised(JUDGE0),
    repeated: NOT_IN_THEIR_INTERFACE.repeated(JUDGE0),
    by_digest: NOT_IN_THEIR_INTERFACE.by_digest(JUDGE0),
    pair: NOT_IN_THEIR_INTERFACE.pair(JUDGE0),
    named_stdin: NOT_IN_THEIR_INTERFACE.named_stdin(JUDGE0),
    built: NOT_IN_THEIR_INTERFACE.built(JUDGE0),
    interactive: NOT_IN_THEIR_INTERFACE.interactive(JUDGE0),
    packaged: READ_BY_THE_COMMAND,
  },
  unseen: { listed: NO_LIST, counted: NO_STATUS },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
