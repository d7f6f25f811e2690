/**
 * `vouchbox demo`, and `npm run quickstart` in a checkout: shows a newcomer the service. It starts a service that keeps its store
 * in a temporary directory, and submits a real program with an input and an output file, in the strongest class of this host. It
 * shows the output as it comes, then the result with the observed posture, and checks the signed export as another person would.
 * With `--once`, or if CI is set, the demo ends there; otherwise it keeps serving until Ctrl-C.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import {
  type FoldedResult,
  type JobDetail,
  type JobSubmission,
  LIMIT_NAMES,
  type OutputRecord,
} from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import { writeJobExport } from './export.ts';
import { EXIT } from './failures/exit-code.ts';
import { type EmbeddedService, openEmbeddedService } from './service/embedded-service.ts';
import { ownVariable } from './service/environment.ts';
import { enterOwnUsers } from './service/service-or-own.ts';
import { takeInterrupts } from './terminal/interrupts.ts';

const PROGRAM = `import csv, statistics, time

with open('input/temperatures.csv') as file:
    rows = [(city, float(degrees)) for city, degrees in csv.reader(file)]

for city, degrees in rows:
    print(f'{city:<12}{degrees:6.1f} °C')
    time.sleep(0.2)

mean = statistics.mean(degrees for _, degrees in rows)
with open('output/summary.txt', 'w') as file:
    file.write(f'{len(rows)} cities, {mean:.2f} °C on average\\n')
`;

const TEMPERATURES = 'Oslo,-3.5\nCairo,21.0\nQuito,14.5\nPerth,24.0\n';

const submission: JobSubmission = {
  language: 'python',
  code: PROGRAM,
  files: [{ path: 'input/temperatures.csv', content_base64: Buffer.from(TEMPERATURES).toString('base64') }],
  outputs: ['output/summary.txt'],
  // Long enough for the first program on a slow or emulated machine.
  limits: { wall_seconds: 60, cpu_seconds: 60 },
};

function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

function title(text: string): void {
  say(`\n${styleText('bold', text)}`);
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '    ');
}

/** Runs the program and shows its output as it comes. */
async function runProgram({ client }: EmbeddedService): Promise<{ detail: JobDetail; result: FoldedResult }> {
  const { job_id } = await client.submit(submission);
  title(`Its output, as it runs (${job_id})`);
  for await (const { kind, data } of client.follow(job_id)) {
    if (kind === 'stdout' || kind === 'stderr') say(`    ${(data as OutputRecord).text}`);
  }
  return { detail: await client.detail(job_id), result: await client.result(job_id) };
}

function showResult({ detail, result }: { detail: JobDetail; result: FoldedResult }): void {
  title('The result');
  say(`    status       ${result.status}, exit code ${result.exit_code}, ${result.duration_ms} ms`);
  for (const { path, size_bytes, sha256, content_base64 } of result.artifacts) {
    say(`    ${path}, ${size_bytes} bytes, SHA-256 ${sha256}:`);
    say(indented(indented(Buffer.from(content_base64, 'base64').toString())).trimEnd());
  }
  for (const { type, message } of result.violations) say(`    violation    ${type}: ${message}`);
  showPosture(detail);
}

/** Shows what was observed while the program ran, not what was configured. */
function showPosture(detail: JobDetail): void {
  const { receipt } = detail;
  const limits = detail.effective_spec?.limits;
  title('What held it, as observed');
  say(`    isolation    ${detail.effective_spec?.isolation_class ?? 'none observed'} (${runtimeOf(detail)})`);
  say(`    network      ${detail.networking ?? 'not observed'}`);
  say(`    seccomp      ${detail.seccomp ?? 'not observed'}, capabilities ${receipt?.capabilities ?? 'not observed'}`);
  say(`    private root ${detail.private_rootfs ?? 'not observed'}`);
  for (const name of LIMIT_NAMES) say(`    ${name.padEnd(12)} ${limits?.[name] ?? 'not held'}`);
  say(`    receipt      ${detail.receipt_sha256 ?? 'none'}`);
}

function runtimeOf({ backend, receipt }: JobDetail): string {
  const identity = receipt?.runtime_identity;
  return identity === undefined ? String(backend) : `${backend}: ${identity.name} ${identity.version ?? ''}`.trim();
}

/** Exports the job, and checks the export with only the key, as a receiver would. Returns whether all checks passed. */
async function showVerification(
  { client, url, key }: EmbeddedService,
  { job_id, tenant }: JobDetail,
): Promise<boolean> {
  title('Checked offline, against the pinned key alone');
  const directory = await mkdtemp(join(tmpdir(), 'svc-demo-'));
  try {
    const [pinned, output] = [join(directory, 'pinned.pem'), join(directory, job_id)];
    await writeFile(pinned, (await client.publicKey()).public_key_pem);
    say(`    npx --no vouchbox export ${job_id}`);
    await writeJobExport(job_id, { url, key, output }, new AbortController().signal);
    say(`    npx --no service-verify directory ${job_id} --public-key pinned.pem --tenant ${tenant}`);
    const words = ['directory', output, '--job', job_id, '--public-key', pinned, '--tenant', tenant];
    const { exitCode, stdout, stderr } = await serviceVerify(words);
    say(indented(indented(stdout)).trimEnd());
    process.stderr.write(stderr);
    return exitCode === 0;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Three commands to copy. Each works by itself, even when this service no longer runs. */
function showNext(): void {
  title('Try next');
  say("    echo 'print(6 * 7)' > answer.py && npx --no vouchbox run answer.py");
  say('    SERVICE_LEGACY_KEYS=me=change-this-key npx --no vouchbox serve');
  say('    npx --no vouchbox doctor');
}

/** Returns the exit code: 0 if the program succeeded and its export was verified. */
export async function demo({ once }: { readonly once?: true }): Promise<number> {
  await enterOwnUsers();
  using interrupts = takeInterrupts();
  const interrupted = new Promise<null>((resolve) => interrupts.asked.addEventListener('abort', () => resolve(null)));
  say('Starting the service: every language is first tried in a cell on this host.');
  await using service = await openEmbeddedService({ signing: 'on' });
  const isGood = await Promise.race([show(service), interrupted]);
  if (isGood === null) return EXIT.cancelled;
  if (!once && ['', 'false'].includes(ownVariable('CI') ?? '')) {
    say(`\nServing on ${service.url} with the key ${service.key} until Ctrl-C.`);
    await interrupted;
  }
  return isGood ? EXIT.ok : EXIT.failed;
}

/** Runs the program and shows everything about it. Returns whether the program and the verification succeeded. */
async function show(service: EmbeddedService): Promise<boolean> {
  const { isolation_class, languages } = await service.client.capabilities();
  say(`Listening on ${service.url}. Isolation: ${isolation_class}. Languages: ${languages.join(', ')}.`);
  title('The program (Python)');
  say(indented(PROGRAM).trimEnd());
  const outcome = await runProgram(service);
  showResult(outcome);
  const isVerified = await showVerification(service, outcome.detail);
  showNext();
  return isVerified && outcome.result.status === 'succeeded';
}
