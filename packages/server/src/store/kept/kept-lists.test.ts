import type { JobListItem } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { Spelled } from '../../ground/json-text.ts';
import type { ListPage } from '../records/answers.ts';
import type { ListInput } from '../records/inputs.ts';
import { KeptLists } from './kept-lists.ts';

const pageOf = (items: string): ListPage => ({ items: new Spelled<JobListItem[]>(items).text, next: null });
const asked = (tenant: string, limit = 50): ListInput => ({
  tenant,
  limit,
  before: null,
  statuses: null,
  language: null,
});

/** A list whose pages say how often the store has been asked. */
function countedLists(charsMax?: number) {
  const lists = new KeptLists(charsMax);
  let asks = 0;
  const read = async (input: ListInput) => (await lists.read(input, async () => pageOf(`page ${++asks}`))).items;
  return { lists, read };
}

describe('a list page that is kept in memory', () => {
  test('is returned again while no job of its tenant changes', async () => {
    const { lists, read } = countedLists();
    expect(await read(asked('acme'))).toBe('page 1');
    await lists.change('other', async () => {});
    expect(await read(asked('acme'))).toBe('page 1');
  });

  test.each(['acme', null])('is read again after a change (tenant: %s)', async (tenant) => {
    const { lists, read } = countedLists();
    await read(asked('acme'));
    await lists.change(tenant, async () => {});
    expect(await read(asked('acme'))).toBe('page 2');
  });

  test('is read again after a change, even if the change failed', async () => {
    const { lists, read } = countedLists();
    await read(asked('acme'));
    await expect(lists.change('acme', () => Promise.reject(new Error('full')))).rejects.toThrow('full');
    expect(await read(asked('acme'))).toBe('page 2');
    expect(await read(asked('acme'))).toBe('page 2');
  });

  test.each(['acme', null])('is not kept if it was read during a change (tenant: %s)', async (tenant) => {
    const { lists, read } = countedLists();
    const change = Promise.withResolvers<void>();
    const changed = lists.change(tenant, () => change.promise);
    expect(await read(asked('acme'))).toBe('page 1');
    expect(await read(asked('acme'))).toBe('page 2');
    change.resolve();
    await changed;
    expect(await read(asked('acme'))).toBe('page 3');
    expect(await read(asked('acme'))).toBe('page 3');
  });

  test.each(['acme', null])('is not kept if it was requested before a change began (tenant: %s)', async (tenant) => {
    const { lists, read } = countedLists();
    const answer = Promise.withResolvers<ListPage>();
    const older = lists.read(asked('acme'), () => answer.promise);
    await lists.change(tenant, async () => {});
    answer.resolve(pageOf('older'));
    expect((await older).items).toBe('older');
    expect(await read(asked('acme'))).toBe('page 1');
  });

  test('is never returned for another request', async () => {
    const { read } = countedLists();
    const before = { created_at: '2026-01-01T00:00:00.000Z', job_id: 'job_1' };
    const inputs: ListInput[] = [
      asked('acme'),
      asked('other'),
      asked('acme', 51),
      { ...asked('acme'), before },
      { ...asked('acme'), before: { ...before, job_id: 'job_2' } },
      { ...asked('acme'), statuses: ['queued'] },
      { ...asked('acme'), statuses: ['queued', 'running'] },
      { ...asked('acme'), language: 'python' },
      { ...asked('acme'), label: 'python' },
      { ...asked('acme'), label: 'queued' },
    ];
    const pages: string[] = [];
    for (const input of inputs) pages.push(await read(input));
    expect(new Set(pages).size).toBe(inputs.length);
  });

  test('is dropped if all kept pages together exceed the bound', async () => {
    const { read } = countedLists(50);
    for (let limit = 1; limit < 20; limit++) await read(asked('acme', limit));
    expect(await read(asked('acme', 1))).not.toBe('page 1');
  });
});
