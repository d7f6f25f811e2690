/**
 * Runs the service with only some of root's capabilities, as the unit does, and reports what then fails. Real jobs run in both
 * isolation classes: one that reads and writes files, one that must be killed, and one that takes too much memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import type { JobSubmission } from '@vouchbox/protocol';
import { Command, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';

/** The providers whose cells are isolated. */
export const CLASSES = ['namespace', 'gvisor'] as const;
export type IsolatedClass = (typeof CLASSES)[number];

/** The words that start a command with only these capabilities, such as `CAP_KILL`. setpriv(1). */
function withOnly(capabilities: readonly string[]): string[] {
  const set = ['-all', ...capabilities.map((name) => `+${name.replace('CAP_', '').toLowerCase()}`)].join(',');
  return ['setpriv', `--bounding-set=${set}`, '--inh-caps=-all'];
}

/** The ids of the checks in `vouchbox doctor` that do not pass. */
export async function doctorProblems(capabilities: readonly string[]): Promise<readonly string[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-capabilities-'));
  const { stdout } = await vouchbox(['doctor', '--json', '--data-dir', scratch], { within: withOnly(capabilities) });
  rmSync(scratch, { recursive: true });
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly { id: string; result: string }[] };
  return checks.filter(({ result }) => result === 'fail' || result === 'warn').map(({ id }) => id);
}

interface JobTrial {
  readonly name: string;
  readonly submission: JobSubmission;
  readonly wanted: string;
}

/** Enough time that, even on an emulated host, memory runs out first. */
const limits = { wall_seconds: 300, cpu_seconds: 120, mem_mb: 96 };
const JOBS: readonly JobTrial[] = [
  {
    name: 'files',
    submission: {
      language: 'python',
      code: 'import os; os.makedirs("output/deep", 0o700); open("output/deep/x", "w").write(open("input/a").read()); os.chmod("output/deep/x", 0o600); print("done")',
      files: [{ path: 'input/a', content_base64: 'YQ==' }],
      outputs: ['output/**'],
      limits,
    },
    wanted: 'succeeded done output/deep/x=a',
  },
  {
    name: 'killed',
    submission: {
      language: 'bash',
      code: 'sleep 100 & sleep 100',
      limits: { ...limits, wall_seconds: 1 },
    },
    wanted: 'timed_out',
  },
  {
    name: 'memory',
    submission: { language: 'python', code: 'x = bytearray(400 << 20); print(len(x))', limits },
    wanted: 'oom_killed',
  },
  {
    name: 'node',
    submission: { language: 'node', code: 'console.log("node")', limits: { ...limits, mem_mb: 256 } },
    wanted: 'succeeded node',
  },
];

/**
 * The faults of a service that has these capabilities and runs jobs of one class; empty if there are none.
 * @param within a command that runs the service
 */
export async function serviceProblems(
  isolated: IsolatedClass,
  capabilities: readonly string[],
  within: readonly string[] = [],
): Promise<readonly string[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-capabilities-'));
  const env = {
    SERVICE_PORT: '0',
    SERVICE_DATA_DIR: dataDir,
    SERVICE_PROVIDER: isolated,
    SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha',
    SERVICE_FREE_SPACE_RESERVE_MB: '0',
    SERVICE_LOG_LEVEL: 'warn',
  };
  try {
    await using command = new Command(['serve'], { env, within: [...withOnly(capabilities), ...within] });
    const [, url] = (await command.shows(/^listening on (\S+)$/m).catch(() => null)) ?? [];
    if (url === undefined) return [`start: ${lastLine(command.stderr)}`];
    const client = createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' });
    const problems = await jobProblems(client);
    command.kill('SIGTERM');
    const { code } = await command.ended();
    const leftovers = leftoversOf(dataDir);
    return [...problems, ...warningsOf(command.stderr), ...(code === 0 ? [] : [`exit: ${code}`]), ...leftovers];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The faults in one job of each kind; empty if there are none. */
export async function jobProblems(client: ServiceClient): Promise<readonly string[]> {
  return (await Promise.all(JOBS.map((trial) => jobProblem(client, trial)))).filter((one) => one !== null);
}

async function jobProblem(client: ServiceClient, { name, submission, wanted }: JobTrial): Promise<string | null> {
  try {
    const { job_id } = await client.submit(submission);
    const { status, stdout, artifacts } = await client.waitForResult(job_id);
    const files = artifacts.map(
      ({ path, content_base64 }) => `${path}=${Buffer.from(content_base64, 'base64').toString()}`,
    );
    const happened = [status, stdout.trim(), ...files].filter((part) => part !== '').join(' ');
    return happened === wanted ? null : `${name}: ${happened}`;
  } catch (error) {
    return `${name}: ${(error as Error).message}`;
  }
}

function warningsOf(log: string): readonly string[] {
  const lines = log.split('\n').filter((line) => /^\{"level":"(warn|error|fatal)"/.test(line));
  return [...new Set(lines.map((line) => `log: ${(JSON.parse(line) as { readonly msg: string }).msg}`))];
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 400) ?? '';
}
