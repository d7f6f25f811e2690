/**
 * A launcher that stops answering is killed and replaced. No request waits for the launcher, and no job is lost. The
 * tests stop a launcher with SIGSTOP.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Language } from '@vouchbox/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import { isLongForm } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

/** The unit of timeouts. On a busy machine, a launcher may be killed only after several times its deadline. */
const MINUTES = 60_000;
const rig = useRig({ concurrency: '6', 'tenant-concurrency': '6' });
const stopped = new Set<number>();

afterEach(() => {
  for (const pid of stopped) signal(pid, 'SIGCONT');
  stopped.clear();
});

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** The launchers of this process's service: all of them, or those for one language. */
function launchers(language: Language | '' = ''): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => new RegExp(`^\\d+ \\(.*\\) \\w ${process.pid} `, 's').test(readText(`/proc/${pid}/stat`)))
    .filter((pid) => readText(`/proc/${pid}/cmdline`).includes(`svc-launcher\0${language}`))
    .map(Number);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended.
  }
}

function stop(pids: readonly number[]): void {
  for (const pid of pids) {
    signal(pid, 'SIGSTOP');
    stopped.add(pid);
  }
}

const SLEEPING: Readonly<Record<string, string>> = {
  python: 'import time; print("up", flush=True); time.sleep(600)',
  node: 'console.log("up"); setTimeout(() => {}, 600_000)',
};
const LANGUAGES = ['python', 'node'] as const satisfies readonly Language[];

function submit(language: Language, code: string, seconds: number) {
  const body = { language, code, limits: { wall_seconds: 300 } };
  return rig().request(`/v1/jobs?wait_seconds=${seconds}`, { method: 'POST', body });
}

async function whenUp(language: Language): Promise<string> {
  const { json } = await submit(language, SLEEPING[language] as string, 0);
  const history = async () => (await rig().request(json.history_url)).text;
  await expect.poll(history, { timeout: 2 * MINUTES }).toContain('"up"');
  return json.job_id as string;
}

/** Submits a job that prints 2, and waits for its result for at most a second. */
async function submitShort(language: Language) {
  const began = performance.now();
  const answer = await submit(language, language === 'python' ? 'print(2)' : 'console.log(2)', 1);
  return { ...answer, milliseconds: performance.now() - began };
}

describe('a launcher that hangs', () => {
  test('delays a submission by at most a few seconds, and the job still runs', {
    timeout: 5 * MINUTES,
    tags: ['Submit-8a'],
  }, async () => {
    await Promise.all(LANGUAGES.map((language) => rig().run({ language, code: '1' })));
    const before = launchers();
    stop(before);
    for (const { status, json, milliseconds } of await Promise.all(LANGUAGES.map(submitShort))) {
      expect([status, json.status]).toEqual([201, 'queued']);
      // This includes two seconds of waiting for the parked cell and one second of waiting for the result.
      expect(milliseconds).toBeLessThan(8000);
      const { result } = await rig().ended(json.job_id);
      expect(result).toMatchObject({ status: 'succeeded', stdout: '2\n' });
    }
    // A launcher that gets no request may stay hung.
    const after = launchers();
    expect(before.filter((pid) => !after.includes(pid)).length).toBeGreaterThanOrEqual(LANGUAGES.length);
  });

  test('makes its running jobs end as errors, or as cancelled if they are cancelled', {
    timeout: 5 * MINUTES,
  }, async () => {
    const [ended, cancelled] = [
      await Promise.all(LANGUAGES.map(whenUp)),
      await Promise.all(LANGUAGES.map(whenUp)),
    ] as const;
    stop(launchers());
    await Promise.all(cancelled.map((job_id) => rig().alpha.client.cancel(job_id)));
    for (const job_id of ended) {
      const { detail, result } = await rig().ended(job_id);
      expect(detail).toMatchObject({ status: 'error', terminal_reason: 'runtime_failed' });
      expect(result.stdout).toBe('up\n');
    }
    for (const job_id of cancelled) {
      expect((await rig().ended(job_id)).detail).toMatchObject({ status: 'cancelled', terminal_reason: 'cancelled' });
    }
  });

  // This test takes long, because two launchers must each be half a minute late at their start.
  test.runIf(isLongForm)(
    'is reported by /readyz while it hangs at each start, until a start succeeds',
    {
      timeout: 10 * MINUTES,
      tags: ['Endpoints-4'],
    },
    async () => {
      stop(launchers('python'));
      const each = setInterval(() => stop(launchers('python')), 10);
      try {
        await submit('python', 'print(2)', 0);
        const provider = async () => (await rig().request('/readyz')).json.checks.provider;
        await expect.poll(provider, { timeout: 4 * MINUTES, interval: 200 }).toBe(false);
        expect((await submit('node', 'console.log(3)', 60)).json.result.stdout).toBe('3\n');
        clearInterval(each);
        await expect.poll(provider, { timeout: 4 * MINUTES, interval: 200 }).toBe(true);
      } finally {
        clearInterval(each);
      }
    },
  );
});
