/**
 * Two implementations that share no code compute the same digests: the service's, and an auditor in plain Python. If one
 * finds an error, the other finds it at the same place.
 */
import { join } from 'node:path';
import { canonicalJson, EXPORT_FILES } from '@vouchbox/evidence';
import type { EventBody, JobEvent } from '@vouchbox/protocol';
import { serviceVerify } from '@vouchbox/verifier/command';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { hasPublishedVectors, publishedBytes, publishedFiles } from '../../packages/evidence/test/vectors.ts';
import {
  type AttestedJob,
  attestedJob,
  eventLines,
  exportOf,
  line,
  Scratch,
  signingKey,
} from '../../packages/verifier/test/attested-job.ts';
import { MUTATIONS } from '../../packages/verifier/test/spoiled-history.ts';
import { run } from './run.ts';

const auditor = join(import.meta.dirname, 'auditor.py');
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let made = 0;

/** The auditor's verdict on each directory, without the directory's name. */
async function audit(directories: readonly string[], ...options: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await run('python3', [auditor, ...options, ...directories]);
  expect(stderr).toBe('');
  return stdout
    .trimEnd()
    .split('\n')
    .map((verdict, index) => verdict.slice(`${directories[index]} `.length));
}

function unsigned({ receipt }: Pick<AttestedJob, 'receipt'>, events: readonly JobEvent[]): string {
  const files: [string, string][] = [
    [EXPORT_FILES.receipt, canonicalJson(receipt)],
    [EXPORT_FILES.events, eventLines(events)],
  ];
  return scratch.writeAll(`job-${++made}`, new Map(files));
}

const timestamp = '2026-01-01T00:00:00.000Z';
const text = fc.string({ unit: 'binary', maxLength: 60 });
const body: fc.Arbitrary<EventBody> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('stdout', 'stderr'),
    timestamp: fc.constant(timestamp),
    data: fc.record({ text }),
  }),
  text.map((piece): EventBody => ({ kind: 'stdout', timestamp, data: { text: piece, partial: true } })),
  fc
    .record({ message: text, limit: fc.double({ noNaN: true, noDefaultInfinity: true }), path: text })
    .map((data): EventBody => ({ kind: 'violation', timestamp, data: { type: 'pids', ...data } })),
);

describe('an auditor in plain Python', () => {
  test('recomputes the chains and receipts of 1,000 jobs with random texts and numbers (CHAIN-01)', {
    tags: ['Events-7b', 'Events-8', 'CHAIN-01'],
  }, async () => {
    const histories = fc.sample(fc.array(body, { maxLength: 12 }), { numRuns: 1000, seed: 20260101 });
    const jobs = histories.map((bodies, index) => attestedJob({ bodies, job_id: `job_${index}` }));
    const verdicts = await audit(jobs.map((job) => unsigned(job, job.events)));
    expect(verdicts).toEqual(jobs.map(({ events }) => `good ${events.length}`));
  });

  test('names the same first bad event as service-verify after every kind of change (CHAIN-02)', {
    tags: ['CHAIN-02'],
  }, async () => {
    const job = attestedJob({ bodies: Array.from({ length: 6 }, (_, number) => line('stdout', `line ${number}`)) });
    const spoiled = Object.values(MUTATIONS).flatMap((mutate) =>
      job.events.map((_, at) => {
        const events = [...job.events];
        return { seq: mutate(events, at), directory: unsigned(job, events) };
      }),
    );
    const verdicts = await audit(spoiled.map(({ directory }) => directory));
    expect(verdicts).toEqual(spoiled.map(({ seq }) => `bad event ${seq}`));
    for (const { seq, directory } of spoiled) {
      const [events, receipt] = [EXPORT_FILES.events, EXPORT_FILES.receipt].map((name) => join(directory, name));
      const { stdout } = await serviceVerify(['chain', events as string, '--receipt', receipt as string, '--json']);
      expect(JSON.parse(stdout)).toMatchObject({ exit_code: 6, facts: { first_bad_seq: seq } });
    }
  });

  test('accepts whole exports together with their statements and signatures', async () => {
    const key = signingKey();
    const path = scratch.write('key.pem', key.publicKeyPem);
    const histories = fc.sample(fc.array(body, { maxLength: 12 }), { numRuns: 20, seed: 20260102 });
    const jobs = histories.map((bodies) => attestedJob({ bodies, key, tenant: 'tenant é' }));
    const directories = jobs.map((job) => scratch.writeAll(`job-${++made}`, exportOf(job)));
    const verdicts = await audit(directories, '--public-key', path, '--tenant', 'tenant é');
    expect(verdicts).toEqual(jobs.map(({ events }) => `good ${events.length}`));
  });

  test('refuses each forged export that service-verify refuses', async () => {
    const job = attestedJob();
    const other = attestedJob({ bodies: [line('stdout', 'other')] });
    const path = scratch.write('own.pem', job.key.publicKeyPem);
    const strangers = attestedJob({ key: signingKey() });
    const forgeries: [files: Map<string, Uint8Array>, what: string][] = [
      [exportOf(strangers), 'signature'],
      [exportOf({ ...job, files: new Map([...job.files, swapped(other, EXPORT_FILES.envelope)]) }), 'statement'],
      [exportOf({ ...job, files: new Map([...job.files, swapped(other, EXPORT_FILES.result)]) }), 'statement'],
      [exportOf(attestedJob({ tenant: 'other' })), 'statement'],
      [exportOf({ ...job, files: new Map([...job.files, swapped(other, EXPORT_FILES.receipt)]) }), 'event 5'],
    ];
    const directories = forgeries.map(([files]) => scratch.writeAll(`job-${++made}`, files));
    const verdicts = await audit(directories, '--public-key', path, '--tenant', 'acme');
    expect(verdicts).toEqual(forgeries.map(([, what]) => `bad ${what}`));
    for (const directory of directories) {
      const { exitCode } = await serviceVerify(['directory', directory, '--public-key', path, '--tenant', 'acme']);
      expect(exitCode).toBeGreaterThan(1);
    }
  });

  test.runIf(hasPublishedVectors('jcs'))(
    'writes the canonical JSON in the published test vectors for RFC 8785',
    async () => {
      const script =
        'import sys, auditor\nfor n in sys.argv[1:]: print(auditor.canonical(auditor.parse(open(n, "rb").read())).hex())';
      const names = publishedFiles('jcs/input');
      const paths = names.map((name) => scratch.write(name, publishedBytes(`jcs/input/${name}`)));
      const { stdout } = await run('python3', [
        '-c',
        `import sys; sys.path.insert(0, ${JSON.stringify(import.meta.dirname)})\n${script}`,
        ...paths,
      ]);
      const expected = names.map((name) =>
        Buffer.from(publishedBytes(`jcs/output/${name}`))
          .toString()
          .trimEnd(),
      );
      expect(
        stdout
          .trimEnd()
          .split('\n')
          .map((hex) => Buffer.from(hex, 'hex').toString()),
      ).toEqual(expected);
    },
  );
});

function swapped(job: AttestedJob, path: string): [string, Uint8Array] {
  return [path, job.files.get(path) as Uint8Array];
}
