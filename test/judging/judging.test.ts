/** One program of each kind with known verdicts. `npm run judging` tries many on a busy host, and every claim about judging. */
import { expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';
import { KINDS } from './known-programs.ts';
import { judgeKnown } from './known-verdicts.ts';

const rig = useRig({ concurrency: '2' });

test('programs of every kind get the right verdict', { tags: ['Gradings-2d'] }, async () => {
  const { client } = rig().alpha;
  const { url } = rig().service;
  const { problems } = await judgeKnown(client, { programs: KINDS.length, tests: 5, seed: 1, url });
  expect(problems).toEqual([]);
});
