/**
 * For each vector about a run of a verifier, the command exits with the code that the vector states. Some vectors for each
 * exit code also run as a separate process.
 */
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, expect, test } from 'vitest';
import { ownVectors } from '../../packages/evidence/test/vectors.ts';
import { Scratch } from '../../packages/verifier/test/attested-job.ts';
import { run } from './run.ts';

interface Case {
  id: string;
  exit: number;
  why: string;
  envelope_b64: string;
  subject_b64: string;
  public_key_pem: string;
  tenant: string;
  subject_name: string;
  media_type: string;
}
const { cases } = ownVectors<{ cases: Case[] }>('dsse/verifier-cases.json');
const command = join(import.meta.dirname, '../../packages/verifier/bin/service-verify.mjs');
const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

function wordsOf(row: Case): string[] {
  const options = {
    envelope: scratch.write(`${row.id}.envelope`, Buffer.from(row.envelope_b64, 'base64')),
    subject: scratch.write(`${row.id}.subject`, Buffer.from(row.subject_b64, 'base64')),
    'public-key': scratch.write(`${row.id}.pem`, row.public_key_pem),
    tenant: row.tenant,
    'subject-name': row.subject_name,
    'media-type': row.media_type,
  };
  return ['verify', ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])];
}

test('there are at least 94 cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(94);
});

test.each(cases.map((row) => [row.id, row.exit, row.why] as const))(
  'service-verify exits for case %s with %i: %s',
  async (id, exit) => {
    const row = cases.find((candidate) => candidate.id === id);
    const { exitCode, stdout, stderr } = await serviceVerify(row === undefined ? [] : wordsOf(row));
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: exit });
    expect(stderr === '').toBe(exit === 0);
  },
);

/** Some vectors for every exit code. They show that a process behaves like the command. */
const started = Map.groupBy(cases, ({ exit }) => exit)
  .values()
  .flatMap((rows) => rows.slice(0, 3))
  .toArray();

test.each(started.map((row) => [row.id, row.exit] as const))(
  'service-verify as a separate process exits for case %s with %i',
  async (id) => {
    const words = wordsOf(started.find((row) => row.id === id) as Case);
    expect(await run(process.execPath, [command, ...words])).toEqual(await serviceVerify(words));
  },
);
