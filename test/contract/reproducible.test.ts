/** A submission that asks for fixed hash seeds: what this changes, and where a reader sees it. */
import { policyText, sha256Hex } from '@vouchbox/evidence';
import { expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
const program = { language: 'python', code: 'print({"a", "b", "c", "d"}, hash("a"))' };

test('a reproducible program sees a set in the same order in every run', { tags: ['Submission-49'] }, async () => {
  const [one, other] = [
    await rig().run({ ...program, reproducible: true }),
    await rig().run({ ...program, reproducible: true }),
  ];
  expect(one.job_id).not.toBe(other.job_id);
  expect(one.result.stdout).toBe(other.result.stdout);
  expect((await rig().run(program)).result.stdout).not.toBe(one.result.stdout);
});

test('only a reproducible job has the member reproducible in its specification, policy and receipt', async () => {
  const { detail } = await rig().run({ ...program, reproducible: true });
  const { requested_spec, receipt } = detail;
  expect(requested_spec.reproducible).toBe(true);
  expect(receipt).toMatchObject({ reproducible: true, policy_sha256: sha256Hex(policyText(requested_spec)) });
  expect(JSON.parse(policyText(requested_spec))).toMatchObject({ reproducible: true });
  for (const more of [{}, { reproducible: false }]) {
    const { detail: other } = await rig().run({ ...program, ...more });
    expect(other.requested_spec).not.toHaveProperty('reproducible');
    expect(other.receipt).not.toHaveProperty('reproducible');
    expect(other.receipt?.policy_sha256).not.toBe(receipt?.policy_sha256);
  }
});

test('an idempotency key is refused with another value of reproducible; false counts the same as no value', async () => {
  const send = (body: object, key: string) => rig().post(body, { headers: { 'idempotency-key': key } });
  await send({ ...program, reproducible: true }, 'seeded');
  expect((await send({ ...program, reproducible: true }, 'seeded')).headers.get('idempotency-replayed')).toBe('true');
  expect((await send(program, 'seeded')).json.error.code).toBe('idempotency_key_reused');
  await send(program, 'drawn');
  expect((await send({ ...program, reproducible: false }, 'drawn')).headers.get('idempotency-replayed')).toBe('true');
});

test.each([1, 'true', null, {}])('%j is refused as a value of reproducible', async (reproducible) => {
  const { status, json } = await rig().post({ ...program, reproducible });
  expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'invalid_request' });
  expect(json.error.message).toContain('reproducible');
});
