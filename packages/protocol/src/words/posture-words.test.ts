import { expect, test } from 'vitest';
import { ISOLATION_CLASSES } from '../isolation.ts';
import { NETWORKING, SECCOMP_MODES } from '../posture.ts';
import { heldWords, type Observed, observedOf, postureWords } from './posture-words.ts';

const HELD: Observed = {
  backend: 'gvisor',
  isolation_class: 'gvisor-application-kernel',
  networking: 'disabled',
  private_rootfs: true,
  dedicated_bootstrap: true,
  seccomp: 'filter',
  no_new_privileges: true,
  capabilities: '0',
  limit_enforcement: { wall_seconds: true, cpu_seconds: true, mem_mb: true, max_pids: true, max_file_mb: false },
};

function lineOf(name: string, value: unknown) {
  const line = postureWords({ [name]: value }).find(({ member }) => member?.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no line about ${name}`);
  return line;
}

test.each([
  ...ISOLATION_CLASSES.map((value) => ['isolation_class', value, value === 'none' ? 'bad' : 'good']),
  ...NETWORKING.map((value) => ['networking', value, value === 'host' ? 'bad' : 'good']),
  ...SECCOMP_MODES.map((value) => ['seccomp', value, value === 'disabled' ? 'bad' : 'good']),
  ...['private_rootfs', 'dedicated_bootstrap', 'no_new_privileges'].flatMap((name) => [
    [name, true, 'good'],
    [name, false, 'bad'],
  ]),
  ['capabilities', '0', 'good'],
  ['capabilities', '1ffffffffff', 'bad'],
] as [string, unknown, string][])('%s %j has a sentence, and is %s', (name, value, tone) => {
  const line = lineOf(name, value);
  expect(line).toMatchObject({ tone, member: `${name} ${JSON.stringify(value)}` });
  expect(line.sentence).not.toContain('not known');
});

/** Values that look like good values, or that are hard to write as text. */
const HOSTILE = [
  'true',
  'constructor',
  '00',
  1,
  [],
  ['0'],
  { toString: 1, valueOf: 1 },
  '\u202Egood',
  `${'x'.repeat(9999)}`,
];

test.each(Object.keys(HELD).filter((name) => !['backend', 'limit_enforcement'].includes(name)))(
  'a value of %s that the contract does not know is quoted, escaped and cut, and never called good',
  (name) => {
    for (const value of HOSTILE) {
      const { tone, sentence, member } = lineOf(name, value);
      expect(tone).not.toBe('good');
      expect(sentence).not.toContain('\u202E');
      expect(`${sentence}${member}`.length).toBeLessThan(250);
    }
    expect(lineOf(name, null)).toMatchObject({ tone: 'quiet', sentence: 'This was not observed.' });
  },
);

test('an absent member is called not observed, and has no value to show', () => {
  expect(postureWords({}).map(({ tone, member }) => [tone, member])).toEqual(
    Array.from({ length: 7 }, () => ['quiet', null]),
  );
});

test('the sentence about the isolation names the runtime and the pack, and escapes hostile names', () => {
  const made = { runtime_identity: { name: 'runsc', version: '1.2', platform: null }, runtime_pack: null };
  expect(postureWords({ ...HELD, ...made })[0]?.sentence).toMatch(/directly\. Made with runsc 1\.2\.$/);
  const hostile = { runtime_identity: 'runsc', runtime_pack: { name: { toString: 1 }, version: 'a\nb' } };
  expect(postureWords({ ...HELD, ...hostile })[0]?.sentence).toMatch(/ Made with a\\u\{a\}b\.$/);
});

test('the protections of a program are stated in two short lines, with the number of weaknesses', () => {
  expect(heldWords(HELD)).toEqual({
    sentence: 'gVisor, a kernel of its own',
    more: 'no network · 4 of 5 limits enforced',
    isWeak: false,
  });
  expect(heldWords({ ...HELD, seccomp: 'disabled' })).toMatchObject({
    more: expect.stringMatching(/ 1 weakness$/),
    isWeak: true,
  });
  const sentenceOf = (isolation_class: unknown) => heldWords({ ...HELD, isolation_class }).sentence;
  expect(sentenceOf('constructor')).toBe('its isolation is not known here');
  expect(sentenceOf(null)).toBe('its isolation was not observed');
  expect(heldWords({ backend: null })).toMatchObject({ sentence: 'nothing ran' });
});

test('the posture of a job comes from the job itself until it has ended, and then from its receipt', () => {
  const running = { effective_spec: { isolation_class: 'hardware-vm' }, seccomp: 'filter' };
  expect(observedOf(running)).toMatchObject({ isolation_class: 'hardware-vm', seccomp: 'filter' });
  const receipt = { isolation_class: 'none', capabilities: '0' };
  expect(observedOf({ ...running, receipt })).toMatchObject({ ...receipt, seccomp: 'filter' });
  expect(observedOf({ effective_spec: null })).toMatchObject({ isolation_class: null });
});
