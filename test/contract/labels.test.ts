/** Labels of jobs: which are valid, and where they are shown. By default, no signed or compared data contain them. */
import { expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'subprocess', 'attestation-mode': 'on' });
const bash = (labels?: readonly string[]) => ({ language: 'bash', code: 'echo labelled', ...(labels && { labels }) });

async function labelled(...labels: string[]): Promise<string> {
  return (await rig().alpha.client.submit(bash(labels) as never)).job_id;
}

async function listed(query: { label: string; status?: 'succeeded'[]; language?: 'python' | 'bash'; limit?: number }) {
  return (await Array.fromAsync(rig().alpha.client.listAll(query))).map(({ job_id }) => job_id);
}

test('a list of jobs has their labels, can select jobs by any label, and has the newest job first', {
  tags: ['List-8', 'Submission-50'],
}, async () => {
  const first = await labelled('course 7', 'attempt');
  const second = await labelled('course 7', 'ünïcode, with a comma ✓');
  await labelled('course 77');
  expect(await listed({ label: 'course 7' })).toEqual([second, first]);
  expect(await listed({ label: 'course 7', limit: 1 })).toEqual([second, first]);
  expect(await listed({ label: 'ünïcode, with a comma ✓' })).toEqual([second]);
  expect(await listed({ label: 'course 7', language: 'python' })).toEqual([]);
  await rig().alpha.client.waitForResult(first);
  await rig().alpha.client.waitForResult(second);
  expect(await listed({ label: 'course 7', status: ['succeeded'] })).toEqual([second, first]);
  const { items } = await rig().alpha.client.list({ label: 'attempt' });
  expect(items.map(({ labels }) => labels)).toEqual([['course 7', 'attempt']]);
  expect((await rig().alpha.client.detail(first)).requested_spec.labels).toEqual(['course 7', 'attempt']);
});

test('each item of the list has the first meaningful line of its program', { tags: ['Bodies-3a'] }, async () => {
  const submission = { language: 'bash', code: '#!/bin/bash\n\n# marks \u001b[31m\ntrue', labels: ['lined'] };
  const { job_id } = await rig().alpha.client.submit(submission as never);
  const shown = async () =>
    (await rig().alpha.client.list({ label: 'lined' })).items.map(({ first_line }) => first_line);
  expect(await shown()).toEqual(['# marks \\u{1b}[31m']);
  await rig().alpha.client.waitForResult(job_id);
  expect(await shown()).toEqual(['# marks \\u{1b}[31m']);
});

test('a list by label leaves out the jobs of another tenant that uses the same label', async () => {
  await labelled('mine alone');
  expect(await Array.fromAsync(rig().beta.client.listAll({ label: 'mine alone' }))).toEqual([]);
});

test('a repeated idempotency key with other labels returns the first job, and that job keeps its labels', {
  tags: ['Submission-51'],
}, async () => {
  const headers = { 'idempotency-key': 'labelled-once' };
  const first = await rig().post(bash(['first']), { headers });
  const again = await rig().post(bash(['second']), { headers });
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.json.job_id).toBe(first.json.job_id);
  expect(await listed({ label: 'second' })).toEqual([]);
});

test('by default, the signed receipt and events leave out the labels', async () => {
  const job = await labelled('only for finding it');
  await rig().alpha.client.waitForResult(job);
  const { receipt } = await rig().alpha.client.detail(job);
  const events = await Array.fromAsync(rig().alpha.client.events(job));
  expect(JSON.stringify([receipt, events])).not.toContain('only for finding it');
});

test('sign_labels puts the labels into the receipt, and into the specification that the idempotency key covers', {
  tags: ['Submission-51'],
}, async () => {
  const headers = { 'idempotency-key': 'signed-labels' };
  const signed = (label: string) => rig().post({ ...bash([label]), sign_labels: true }, { headers });
  const { job_id } = (await signed('attempt 3')).json;
  await rig().alpha.client.waitForResult(job_id);
  expect((await rig().alpha.client.detail(job_id)).receipt).toMatchObject({ labels: ['attempt 3'] });
  const other = await signed('attempt 4');
  expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_key_reused']);
});

test('sign_labels without a label is refused', { tags: ['Submission-51'] }, async () => {
  const { status, json } = await rig().post({ ...bash(), sign_labels: true });
  expect([status, json.error.message]).toEqual([400, expect.stringContaining('/sign_labels')]);
});

test.each([
  ['more than 16 labels', Array.from({ length: 17 }, (_, at) => `${at}`), '/labels'],
  ['an empty label', ['a', ''], '/labels/1'],
  ['a label of 65 characters', ['x'.repeat(65)], '/labels/0'],
  ['a terminal sequence', ['\u001b[31mred'], '/labels/0'],
  ['a line break', ['two\nlines'], '/labels/0'],
  ['a mark that turns the direction', ['\u202eevil'], '/labels/0'],
])('a list of labels with %s is refused', async (_, labels, pointer) => {
  const { status, json } = await rig().post(bash(labels));
  expect([status, json.error.code, json.error.message]).toEqual([
    400,
    'invalid_request',
    expect.stringContaining(pointer),
  ]);
});

test('a label that is given twice is stored once', async () => {
  const job = await labelled('twice', 'twice');
  expect(await listed({ label: 'twice' })).toEqual([job]);
});
