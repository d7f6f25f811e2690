/** The lists and numbers of docs/SPEC.md are those of the code, so that neither changes without the other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ERROR_CODES,
  ERRORS,
  EVENT_DATA,
  JOB_STATUSES,
  LIMIT_CEILINGS,
  LIMIT_DEFAULTS,
  OPERATIONS,
  type Operation,
  SCOPES,
  STREAM_CLOSE_CODES,
  TERMINAL_REASONS,
  VIOLATION_TYPES,
} from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { statementsOf } from '../../tools/statements.ts';

const contract = readFileSync(join(import.meta.dirname, '../../docs/SPEC.md'), 'utf8');
const statements = new Map(statementsOf(contract).map(({ id, text }) => [id, text]));

/** The words in code spelling of some statements, in their order. */
function spelled(...ids: string[]): string[] {
  return ids.flatMap((id) => [...(statements.get(id) ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
}

/** What follows each limit in a statement. */
function numbered(id: string): Record<string, number> {
  const pairs = [...(statements.get(id) ?? '').matchAll(/`(\w+)` (\d+)/g)];
  return Object.fromEntries(pairs.map(([, name = '', value]) => [name, Number(value)]));
}

/** How the table under Endpoints names who may call an operation. */
function accessWords({ queryAccess = {}, ...operation }: Operation): string {
  const more = Object.entries(queryAccess).map(([name, scope]) => `; with \`${name}\` also \`${scope}\``);
  return [plainAccessWords(operation), ...more].join('');
}

function plainAccessWords({ access, path }: Pick<Operation, 'access' | 'path'>): string {
  if (path.endsWith('/stream')) return `\`${access}\`, or a ticket`;
  if (access === 'credential') return 'any credential';
  if (access === 'metrics_token') return 'the metrics token';
  return (SCOPES as readonly string[]).includes(access) ? `\`${access}\`` : access;
}

test('the table of routes is that of the operations, with their scopes', {
  tags: ['Endpoints-1', 'Stream-6', 'Versioning-2'],
}, () => {
  const rows = [...contract.matchAll(/^\| ([A-Z]+) \| `([^`]+)` \|[^|]*\| (.*?) \|$/gm)].map(([, ...cells]) => cells);
  const operations: readonly Operation[] = Object.values(OPERATIONS);
  expect(rows.map((cells) => cells.join(' ')).toSorted()).toEqual(
    operations.map((operation) => `${operation.method} ${operation.path} ${accessWords(operation)}`).toSorted(),
  );
});

test('the kinds of events and the types of violations are listed', { tags: ['Events-2'] }, () => {
  expect(spelled('Events-2')).toEqual(Object.keys(EVENT_DATA));
  const types = spelled('Events-4e').filter((word) => /^[a-z_]+$/.test(word) && word !== 'violation');
  expect(new Set(types)).toEqual(new Set(VIOLATION_TYPES));
});

test('defaults and ceilings of the limits are stated', { tags: ['Submission-22', 'Submission-23'] }, () => {
  expect(numbered('Submission-22')).toEqual(LIMIT_DEFAULTS);
  expect(numbered('Submission-23')).toEqual(LIMIT_CEILINGS);
});

test('the close codes of the stream are listed', { tags: ['Stream-3a', 'Stream-3c', 'Stream-3d', 'Stream-3e'] }, () => {
  const codesOf = (id: string) =>
    [...(statements.get(id) ?? '').matchAll(/\b[14]\d{3}\b/g)].map(([code]) => Number(code));
  const { finished, credentialEnded } = STREAM_CLOSE_CODES;
  expect(new Set(['Stream-3a', 'Stream-3c', 'Stream-3d'].flatMap(codesOf))).toEqual(
    new Set(Object.values(STREAM_CLOSE_CODES)),
  );
  expect(codesOf('Stream-3e')).toEqual([finished, credentialEnded]);
  expect(Object.keys(OPERATIONS.streamEvents.closeCodes).map(Number)).toEqual(Object.values(STREAM_CLOSE_CODES));
});

test('every refusal is stated, and always with its status', { tags: ['Errors-23'] }, () => {
  const pairs = [...statements.values()].flatMap((text) => [...text.matchAll(/\b(\d{3}) `(\w+)`/g)]);
  const stated = new Set(pairs.map(([, status, code]) => `${status} ${code}`));
  expect([...stated].toSorted()).toEqual(ERROR_CODES.map((code) => `${ERRORS[code].status} ${code}`).toSorted());
});

test('statuses and reasons are listed', { tags: ['States-1g'] }, () => {
  expect(new Set(spelled('States-1a', 'States-1b'))).toEqual(new Set(JOB_STATUSES));
  expect(new Set(spelled('States-1g').slice(1))).toEqual(new Set(TERMINAL_REASONS));
});
