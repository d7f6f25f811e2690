/**
 * `npm run agree -- [NAME]`: prints which programs end in the same way at the services of two operators, according to
 * `service-verify agree`. Each program runs at both services at once, first unchanged and then with `reproducible: true`. NAME
 * is the beginning of the programs' names, such as `cpython/`. The command fails only if a program cannot be tried.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { JobSubmission } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { writeExport } from '../../packages/cli/src/files/export-origin.ts';
import { writeDirectory } from '../../packages/cli/src/files/new-directory.ts';
import { readFromService } from '../../packages/cli/src/service-export.ts';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { removeDirectories, Service } from '../crossings/service.ts';
import { installTestsuite } from '../programs/cpython.ts';
import { agreePrograms, type TriedAgain } from './programs.ts';

const TENANT = 'alpha';
const REQUIRED = ['--require', 'operators>=2', '--json'];

interface Told {
  /** How the job ended at the first service. */
  readonly status: string;
  readonly agreement: string;
  readonly members: readonly string[];
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function exportOf(
  service: Service,
  submission: JobSubmission,
  target: string,
): Promise<{ readonly target: string; readonly status: string }> {
  const client = service.client(TENANT);
  const { job_id } = await client.submit(submission);
  const { status } = await client.waitForResult(job_id, { timeoutSeconds: 600 });
  const origin = await readFromService(job_id, client, { publicKeys: [] });
  await writeDirectory(target, (directory) => writeExport(directory, origin, { program: 'kept' }));
  return { target, status };
}

async function toldOf(services: readonly Service[], submission: JobSubmission, scratch: string): Promise<Told> {
  const exports = await Promise.all(
    services.map((service, at) => exportOf(service, submission, join(scratch, String(at)))),
  );
  const keys = services.flatMap((_, at) => ['--public-key', join(scratch, `${at}.pem`)]);
  const directories = exports.map(({ target }) => target);
  const { stdout } = await serviceVerify(['agree', ...directories, ...keys, ...REQUIRED]);
  for (const directory of directories) rmSync(directory, { recursive: true });
  return { ...(JSON.parse(stdout) as Told), status: exports[0]?.status ?? '' };
}

/** What `service-verify agree` says about a program: once unchanged, and once with a fixed hash seed. */
async function tried(
  services: readonly Service[],
  { submission }: TriedAgain,
  scratch: string,
): Promise<readonly Told[]> {
  return [
    await toldOf(services, submission, scratch),
    await toldOf(services, { ...submission, reproducible: true }, scratch),
  ];
}

const textOf = ({ status, agreement, members }: Told) => `${status}: ${[agreement, ...members].join(' ')}`;

const { positionals } = parseArgs({ allowPositionals: true });
installTestsuite(say);
const chosen = agreePrograms().filter(({ name }) => positionals.every((start) => name.startsWith(start)));
const { packs } = await shippedPacks(['c']);
const scratch = mkdtempSync(join(tmpdir(), 'vouchbox-agree-'));
const counts = new Map<string, [number, number, number]>();
{
  const settings = { provider: 'namespace', 'runtime-packs-dir': packs };
  await using one = await Service.start([TENANT], settings);
  await using other = await Service.start([TENANT], settings);
  const services = [one, other];
  for (const [at, { publicKeys }] of services.entries()) writeFileSync(join(scratch, `${at}.pem`), publicKeys[0] ?? '');
  for (const program of chosen) {
    const told = await tried(services, program, scratch);
    say(`${program.name.padEnd(44)} ${told.map(textOf).join('; reproducible: ')}`);
    const [all, plain, fixed] = counts.get(program.group) ?? [0, 0, 0];
    const [isPlain, isFixed] = told.map(({ agreement }) => Number(agreement === 'agree'));
    counts.set(program.group, [all + 1, plain + (isPlain ?? 0), fixed + (isFixed ?? 0)]);
  }
}
rmSync(scratch, { recursive: true });
removeDirectories();
for (const [group, [all, plain, fixed]] of counts)
  say(`${group}: of ${all} programs ${plain} agree as they are, and ${fixed} with reproducible`);
