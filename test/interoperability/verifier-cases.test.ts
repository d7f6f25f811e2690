/** Every vector of a verifier's run, before the command itself, as anyone would start it: only its exit code counts. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

test('there are at least the 94 cases that a naive verifier was seen to fail', () => {
  expect(cases.length).toBeGreaterThanOrEqual(94);
});

describe('service-verify, started as a process', () => {
  const ended = new Map<string, { exitCode: number | null; stdout: string; stderr: string }>();

  // As many at once as there are cores. What Node compiled for the first is there for the others.
  beforeAll(async () => {
    const waiting = [...cases];
    const environment = { NODE_COMPILE_CACHE: join(scratch.path, 'compiled') };
    const worker = async () => {
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
        ended.set(row.id, await run(process.execPath, [command, ...wordsOf(row)], environment));
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
  }, 300_000);

  test.each(cases.map((row) => [row.id, row.exit, row.why] as const))('vector %s ends with %i: %s', (id, exit) => {
    const { exitCode, stdout, stderr } = ended.get(id) ?? {};
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: exit });
    expect(stderr === '').toBe(exit === 0);
  });
});
