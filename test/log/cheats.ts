/**
 * The cheats that an operator with all keys may try, and the tool that catches each cheat. The list also has the cheats
 * that no log catches. `docs/LOG.md` says the same about each cheat.
 */
import { readFileSync } from 'node:fs';
import { signingKey } from '../../packages/verifier/test/attested-job.ts';
import { TestLog } from '../rig/test-log.ts';
import { at, type Operator, type Said } from './operator.ts';

export interface Cheat {
  /** Completes "An operator who". */
  readonly what: string;
  /** The tool that catches this cheat; null if no tool does. */
  readonly tool: string | null;
  /** The tool's exit code and words when it reports the cheat. */
  readonly told?: readonly [code: number, words: RegExp];
  /** Cheats, then runs the tool. */
  readonly tried?: (operator: Operator) => Promise<Said>;
  /** Words from docs/LOG.md about this cheat. */
  readonly document: string;
}

/** The time by which the log has promised to answer, in seconds. */
const BY = at(10);

export const CHEATS: readonly Cheat[] = [
  {
    what: 'drops the result of a job that was promised',
    tool: 'service-verify promise',
    told: [6, /BROKEN/],
    async tried(operator) {
      const promise = operator.promise(operator.result(), BY, 1);
      operator.grow(5);
      return await operator.verify('promise', [promise], [...operator.pinned, '--head', operator.witnessed(BY + 60)]);
    },
    document: 'drops a job after its promise',
  },
  {
    what: 'drops a promised job, so that only its number is left',
    tool: 'service-verify tenant',
    told: [5, /MISSING: 2/],
    async tried(operator) {
      const [first, dropped, third] = [operator.result(), operator.result(), operator.result()];
      const promise = operator.promise(dropped, BY, 2);
      return await operator.verify(
        'tenant',
        [operator.directory(first), operator.directory(third)],
        ['--promise', promise],
      );
    },
    document: 'leaves a job of a tenant out',
  },
  {
    what: 'answers a promise late',
    tool: 'service-verify promise',
    told: [6, /LATE/],
    async tried(operator) {
      const job = operator.result();
      const promise = operator.promise(job, BY, 1);
      operator.grow(3);
      const head = operator.witnessed(BY + 60);
      const place = operator.logged(job);
      const files = ['--envelope', operator.file(job.attestation.envelope)];
      const proof = ['--log-proof', operator.file(operator.log.proof(place)), '--head', head];
      return await operator.verify('promise', [promise], [...operator.pinned, ...files, ...proof]);
    },
    document: 'answers late',
  },
  {
    what: 'shows two people two logs',
    tool: 'service-verify head',
    told: [6, /FORKED/],
    async tried(operator) {
      const other = operator.log.fork();
      operator.grow(4);
      operator.grow(4, other, 'another');
      const heads = [operator.log, other].map((log) => operator.file(log.checkpoint()));
      return await operator.verify('head', heads, operator.pinned.slice(0, 2));
    },
    document: 'shows two people two logs',
  },
  {
    what: 'takes the log back, or changes its leaves',
    tool: 'service-verify --log-state',
    told: [6, /log_consistency/],
    async tried(operator) {
      const older = operator.log.fork();
      const job = operator.result();
      const place = operator.logged(job);
      operator.grow(9);
      const state = operator.file(operator.log.checkpoint());
      operator.grow(2, older, 'another');
      const again = operator.logged(job, older);
      if (again === place) throw new Error('the log was not changed');
      const proof = ['--log-proof', operator.file(older.proof(again))];
      const files = [operator.directory(job)];
      return await operator.verify('directory', files, [...operator.pinned, ...proof, '--log-state', state]);
    },
    document: 'takes the log back with an old backup',
  },
  {
    what: 'opens the log again, so that its leaves are no longer provable',
    tool: 'service-verify --log-state',
    told: [6, /REOPENED: 6 leaves up to the head of log\.example\/log\/1 are no longer provable/],
    async tried(operator) {
      operator.grow(5);
      const state = operator.file(operator.log.checkpoint());
      const next = operator.log.reopened();
      const job = operator.result();
      const proof = ['--log-proof', operator.file(next.proof(operator.logged(job, next)))];
      const files = [operator.directory(job)];
      const key = ['--log-key', operator.file(next.key.text)];
      return await operator.verify('directory', files, [...key, ...proof, '--log-state', state]);
    },
    document: 'REOPENED',
  },
  {
    what: 'reopens the log, and drops an open promise of the old log',
    tool: 'service-verify promise',
    told: [6, /BROKEN/],
    async tried(operator) {
      const promise = operator.promise(operator.result(), BY, 1);
      const next = operator.log.reopened();
      operator.grow(4, next);
      const head = operator.witnessed(BY + 60, next);
      return await operator.verify(
        'promise',
        [promise],
        [
          ...['--log-key', operator.file(next.key.text), '--witness', operator.file(operator.witness.text)],
          ...['--head', head],
        ],
      );
    },
    document: 'an open promise',
  },
  {
    what: 'says that a job ended long before it was logged',
    tool: 'service-verify --after-head',
    told: [6, /BACKDATED OR LATE/],
    async tried(operator) {
      operator.grow(6);
      const head = operator.witnessed(at(20));
      const job = operator.result({ finished_at: '2026-01-01T03:00:00.000Z' });
      const proof = ['--log-proof', operator.file(operator.log.proof(operator.logged(job)))];
      const files = [operator.directory(job)];
      return await operator.verify('directory', files, [...operator.pinned, ...proof, '--after-head', head]);
    },
    document: 'says that a job ended long before its result was logged',
  },
  {
    what: 'gives a job two results',
    tool: 'service-verify same',
    told: [6, /TWO RESULTS/],
    async tried(operator) {
      const [one, other] = [
        operator.result({ tenant_number: 1 }),
        operator.result({ tenant_number: 1, status: 'failed' }),
      ];
      for (const job of [one, other]) operator.logged(job);
      return await operator.verify('same', [operator.directory(one), operator.directory(other)]);
    },
    document: 'gives a job two results',
  },
  {
    what: 'gives one number of a tenant to two jobs',
    tool: 'service-verify tenant',
    told: [6, /REPEATED/],
    async tried(operator) {
      const one = operator.result({ tenant_number: 1 });
      const other = operator.result({ tenant_number: 1, job_id: 'job_0197c0de-0000-7000-8000-0000000000ff' });
      return await operator.verify('tenant', [operator.directory(one), operator.directory(other)], ['--jobs', '1']);
    },
    document: 'or a number to two jobs',
  },
  {
    what: 'lost only the key that signs results, so that the thief logs nothing',
    tool: 'service-verify --require logged',
    told: [5, /NOT LOGGED/],
    async tried(operator) {
      const forged = operator.result({ status: 'failed' });
      return await operator.verify(
        'directory',
        [operator.directory(forged)],
        [...operator.pinned, '--require', 'logged'],
      );
    },
    document: 'with a stolen signing key',
  },
  {
    what: 'lost both keys to a thief, whose own log has no witness',
    tool: "service-verify --require 'witnesses>=1'",
    told: [5, /UNWITNESSED/],
    async tried(operator) {
      const forged = operator.result({ status: 'failed' });
      const proof = ['--log-proof', operator.file(operator.log.proof(operator.logged(forged)))];
      const demanded = ['--require', 'witnesses>=1'];
      return await operator.verify(
        'directory',
        [operator.directory(forged)],
        [...operator.pinned, ...proof, ...demanded],
      );
    },
    document: 'UNWITNESSED',
  },
  {
    what: 'signs with a key that nobody pinned',
    tool: 'service-verify',
    told: [2, /signature/],
    async tried(operator) {
      const job = operator.result({ key: signingKey() });
      return await operator.verify('directory', [operator.directory(job)]);
    },
    document: 'signs with a key that you did not pin',
  },
  {
    what: 'shows the log of another host under the name of this log',
    tool: 'service-verify --log-key',
    told: [6, /log_head/],
    async tried(operator) {
      const other = new TestLog();
      const job = operator.result();
      const proof = ['--log-proof', operator.file(other.proof(operator.logged(job, other)))];
      return await operator.verify('directory', [operator.directory(job)], [...operator.pinned, ...proof]);
    },
    document: 'Give people the key of the log in another way',
  },
  { what: 'lies about what ran', tool: null, document: 'a service that lies about what ran' },
  { what: 'drops a job before its promise', tool: null, document: 'An answer of 201 is not signed.' },
  { what: 'agrees with the tenant on what an auditor sees', tool: null, document: 'An operator and a tenant together' },
  { what: 'has every witness on its side', tool: null, document: 'An operator with all of the witnesses' },
  { what: 'refuses to show anything', tool: null, document: 'A refusal to show anything' },
  { what: 'cheats one person who says nothing', tool: null, document: 'Cheating one person who says nothing' },
];

/** The text of docs/LOG.md on one line. */
export function documentText(): string {
  return readFileSync(new URL('../../docs/LOG.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
}
