/** The lists and numbers in docs/SPEC.md equal those in the code, so that neither changes without the other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type COMPONENT_SCHEMAS,
  ERROR_CODES,
  ERRORS,
  EVENT_DATA,
  JOB_STATUSES,
  LIMIT_CEILINGS,
  LIMIT_DEFAULTS,
  OPERATIONS,
  type Operation,
  openApiDocument,
  PAGES,
  REFUSED_VARIABLES,
  SCOPES,
  STREAM_CLOSE_CODES,
  TERMINAL_REASONS,
  VIOLATION_TYPES,
} from '@vouchbox/protocol';
import { SETTINGS } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';
import { statementsOf } from '../../tools/statements.ts';

const root = join(import.meta.dirname, '../..');
const contract = readFileSync(join(root, 'docs/SPEC.md'), 'utf8');
const statements = new Map(statementsOf(contract).map(({ id, text }) => [id, text]));

/** The words in backticks in some statements, in order. */
function spelled(...ids: string[]): string[] {
  return ids.flatMap((id) => [...(statements.get(id) ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
}

/** The number after each limit in a statement. */
function numbered(id: string): Record<string, number> {
  const pairs = [...(statements.get(id) ?? '').matchAll(/`(\w+)` (\d+)/g)];
  return Object.fromEntries(pairs.map(([, name = '', value]) => [name, Number(value)]));
}

/** The words in the table under Endpoints for who may call an operation. */
function accessWords(operation: Operation): string {
  const { queryAccess = {} } = operation;
  const more = Object.entries(queryAccess).map(([name, scope]) => `; with \`${name}\` also \`${scope}\``);
  return [plainAccessWords(operation), ...more].join('');
}

function plainAccessWords({ access, alsoAccess, path }: Operation): string {
  if (alsoAccess !== undefined) return `\`${access}\` and \`${alsoAccess}\``;
  if (path.endsWith('/stream')) return `\`${access}\`, or a ticket`;
  if (access === 'credential') return 'any credential';
  if (access === 'metrics_token') return 'the metrics token';
  return (SCOPES as readonly string[]).includes(access) ? `\`${access}\`` : access;
}

test('the table of routes in docs/SPEC.md equals the table of operations, with their scopes', {
  tags: ['Endpoints-1', 'Stream-6', 'Versioning-2'],
}, () => {
  const rows = [...contract.matchAll(/^\| ([A-Z]+) \| `([^`]+)` \|[^|]*\| (.*?) \|$/gm)].map(([, ...cells]) => cells);
  const operations: readonly Operation[] = Object.values(OPERATIONS);
  const stated = operations.map((operation) => `${operation.method} ${operation.path} ${accessWords(operation)}`);
  const pages = Object.values(PAGES).map(
    ({ path, kind }) => `GET ${path} ${kind === 'link' ? "the link's secret" : 'public'}`,
  );
  expect(rows.map((cells) => cells.join(' ')).toSorted()).toEqual([...stated, ...pages].toSorted());
  const { paths } = openApiDocument() as { paths: Record<string, object> };
  const listed = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).flatMap((key) => (key === 'parameters' ? [] : [`${key.toUpperCase()} ${path}`])),
  );
  expect(listed.toSorted()).toEqual(rows.map(([method, path]) => `${method} ${path}`).toSorted());
});

test('docs/SPEC.md lists the kinds of events and the types of violations', { tags: ['Events-2'] }, () => {
  expect(spelled('Events-2')).toEqual(Object.keys(EVENT_DATA));
  const types = spelled('Events-4e').filter((word) => /^[a-z_]+$/.test(word) && word !== 'violation');
  expect(new Set(types)).toEqual(new Set(VIOLATION_TYPES));
});

test('docs/SPEC.md states the defaults and ceilings of the limits', {
  tags: ['Submission-22', 'Submission-23'],
}, () => {
  expect(numbered('Submission-22')).toEqual(LIMIT_DEFAULTS);
  expect(numbered('Submission-23')).toEqual(LIMIT_CEILINGS);
});

const LIMIT_STATEMENTS = ['Submission-14', 'Submission-15', 'Submission-16', 'Submission-17', 'Submission-18'];
const PROGRAM_STATEMENTS = ['1', '2', '4', '5', '6', '7', '8', '9', '43', '44', '47', '48'].map(
  (number) => `Submission-${number}`,
);
/** For each body, the statements that name its members. */
const BODIES: Readonly<Record<keyof typeof COMPONENT_SCHEMAS, readonly string[]>> = {
  JobSubmission: [
    ...PROGRAM_STATEMENTS,
    'Interaction-4',
    'Submission-49',
    'Submission-50',
    'Submission-51',
    'Promise-1',
    'Sessions-1',
    'Libraries-1',
    'Submission-49a',
    'Tools-1',
  ],
  Interactor: [...PROGRAM_STATEMENTS, 'Submission-49'],
  Interaction: ['Interaction-1'],
  InputFile: ['Submission-5'],
  UploadedFile: ['Submission-5'],
  OutputFile: ['Submission-5'],
  OutputName: ['Submission-5'],
  ResolvedOutput: ['Submission-5'],
  HeldFile: ['Gradings-14'],
  LimitsInput: [...LIMIT_STATEMENTS, 'Submission-20'],
  StoredBlob: ['Blobs-1'],
  Tool: ['Tools-1'],
  ToolCalls: ['Tools-5'],
  ToolAnswer: ['Tools-6'],
  ToolAnswerTaken: ['Tools-6'],
  StreamedToolAnswer: ['Tools-9'],
  LinkRequest: ['Links-1'],
  Link: ['Links-2'],
  NewLink: ['Links-2'],
  LinkList: ['Links-2'],
  LinkRevocation: ['Links-3'],
  LinkedJob: ['Links-4'],
  Session: ['Sessions-10'],
  SessionList: ['Sessions-10'],
  SessionRemoval: ['Sessions-10'],
  SessionStep: ['Sessions-1'],
  Libraries: ['Libraries-1'],
  AnswerRefused: ['Tools-9'],
  ToolLimits: ['Tools-3'],
  GradingSubmission: [
    'Submission-5',
    'Gradings-2',
    'Gradings-2a',
    'Gradings-2d',
    'Gradings-2e',
    ...LIMIT_STATEMENTS,
    'Submission-20',
    'Submission-8',
    'Submission-7',
  ],
  GradingProgram: ['Submission-5', 'Gradings-2', 'Gradings-2a'],
  GradingTest: ['Submission-5', 'Gradings-2', 'Gradings-2b', 'Gradings-2d'],
  GradingAnswer: ['Gradings-3'],
  GradingItem: ['Gradings-9'],
  GradingList: ['Gradings-10'],
  GradingDetail: ['Gradings-9'],
  GradingCancellation: ['Gradings-9', 'Gradings-12'],
  ProgramState: ['Gradings-9a'],
  ProgramVerdict: ['Gradings-9a'],
  GradingEvent: ['Gradings-11', 'Gradings-9a'],
  GradingEvents: ['Gradings-11'],
  SubmissionAnswer: ['Bodies-12', 'Submit-8', 'Submit-9', 'Interaction-1'],
  JobDetail: ['Detail-1', 'Detail-2', 'Large-2'],
  CancellationAnswer: ['Detail-1', 'Detail-2', 'Cancel-1', 'Large-2'],
  JobListItem: ['Bodies-3', 'Bodies-3a'],
  JobList: ['Bodies-2'],
  StoredSpec: [
    'Sessions-2',
    'Interaction-1',
    'Builds-1',
    'Builds-2',
    'Detail-14',
    'Inputs-8',
    'Submission-8',
    'Submission-47',
    'Submission-49',
    'Submission-50',
    'Submission-51',
    'Promise-1',
    'Tools-4',
    ...LIMIT_STATEMENTS,
  ],
  RequestedLimits: LIMIT_STATEMENTS,
  EffectiveSpec: ['Detail-6'],
  EffectiveLimits: LIMIT_STATEMENTS,
  LimitEnforcement: LIMIT_STATEMENTS,
  AttestationMember: Array.from({ length: 10 }, (_, index) => `Attestation-${index + 1}`),
  Receipt: [
    'Receipt-26',
    'Receipt-26a',
    'Receipt-26b',
    'Receipt-30',
    'Submission-49',
    'Submission-51',
    'Tools-3',
    'Interaction-8',
    'Large-2',
    'Builds-1',
    'Builds-2',
  ],
  EventChain: ['Receipt-20'],
  OutputEvidence: ['Receipt-29'],
  ExecutorOutput: ['Receipt-16a'],
  StreamTelemetry: ['Receipt-16'],
  FoldedResult: ['Result-1', 'Large-2'],
  Artifact: ['Result-8'],
  Violation: ['Events-4e'],
  JobEvent: ['Event-1'],
  ReplayPage: ['Bodies-1'],
  EndingPage: ['Bodies-1', 'Replay-8'],
  StreamTicket: ['Ticket-2'],
  EndFrame: ['Stream-3f'],
  DsseEnvelope: ['Artifact-11'],
  PendingStatement: ['Promise-5'],
  PendingStatements: ['Promise-5'],
  ResultArtifact: ['Artifact-10'],
  PublicKey: ['Bodies-4'],
  Capabilities: ['Bodies-8a', 'Libraries-7'],
  RuntimePack: ['Bodies-8a', 'Bodies-7a'],
  PackLibrary: ['Bodies-7a'],
  Whoami: ['Bodies-9'],
  ServiceStatus: ['Bodies-10'],
  Health: ['Bodies-15'],
  Readiness: ['Bodies-15'],
  ErrorEnvelope: ['Errors-1'],
};

/** For each body: the statements that name members of nested objects, if these objects occur in no other body. */
const INSIDE: Partial<Readonly<Record<keyof typeof COMPONENT_SCHEMAS, readonly string[]>>> = {
  JobSubmission: ['Large-1', 'Builds-1', 'Builds-2', 'Tools-3'],
  Interactor: ['Large-1', 'Builds-2'],
  StoredSpec: ['Large-1', 'Builds-2'],
  Receipt: ['Builds-1', 'Builds-2', 'Receipt-7', 'Receipt-27', 'Receipt-29', 'Receipt-30', 'Interaction-8'],
  ServiceStatus: ['Bodies-10a', 'Bodies-10b', 'Bodies-10c', 'Bodies-10e', 'Bodies-13', 'Bodies-14'],
};

/** The names of a schema's own members, and of the members nested in them, but not those inside named schemas. */
function membersIn(schema: unknown): { readonly own: string[]; readonly inside: string[] } {
  const found = Array.isArray(schema) ? schema.map(membersIn) : [];
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema) && !('$ref' in schema)) {
    const { properties = {}, items, anyOf, allOf } = schema as Record<string, object | undefined>;
    const members = Object.values(properties).map(membersIn);
    found.push({ own: Object.keys(properties), inside: members.flatMap(({ own, inside }) => [...own, ...inside]) });
    found.push(membersIn(items), membersIn(anyOf), membersIn(allOf));
  }
  return { own: found.flatMap(({ own }) => own), inside: found.flatMap(({ inside }) => inside) };
}

/** The words in backticks in some statements. A list such as `{ a, b? }` gives one word for each member. */
function named(...ids: string[]): Set<string> {
  return new Set(spelled(...ids).flatMap((words) => words.match(/\w+/g) ?? []));
}

describe('docs/SPEC.md names the members of a body:', {
  tags: [
    ...[
      'Bodies-8a',
      'Bodies-10',
      'Bodies-10a',
      'Bodies-10b',
      'Bodies-10c',
      'Bodies-10e',
      'Bodies-15',
      'Detail-14',
      'Artifact-10',
      'Artifact-11',
    ],
    ...['Receipt-16a', 'Receipt-26', 'Receipt-26a', 'Receipt-26b', 'Receipt-27', 'Receipt-28', 'Receipt-29'],
  ],
}, () => {
  const { components } = openApiDocument() as { components: { schemas: Record<string, unknown> } };

  test.each(Object.entries(BODIES))('%s', (name, ids) => {
    const { own, inside } = membersIn(components.schemas[name]);
    const [ofBody, ofAll] = [named(...ids), named(...ids, ...(INSIDE[name as keyof typeof INSIDE] ?? []))];
    expect(own.filter((member) => !ofBody.has(member))).toEqual([]);
    expect(inside.filter((member) => !ofAll.has(member))).toEqual([]);
  });

  test('docs/SPEC.md names only members that exist', () => {
    const text = JSON.stringify([openApiDocument(), EVENT_DATA, TERMINAL_REASONS]);
    // This statement uses the words of RFC 9068.
    const ids = [...statements.keys()].filter((id) => id !== 'Authentication-2d');
    const words = spelled(...ids).flatMap((code) =>
      /^[a-z]+(_[a-z0-9]+)+$/.test(code) ? [code] : code.startsWith('{ ') ? (code.match(/\w+/g) ?? []) : [],
    );
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(text))).toEqual([]);
  });
});

test('docs/SPEC.md lists the headers and media types of answers', {
  tags: ['Headers-1', 'Headers-2', 'Headers-3', 'Headers-4'],
}, () => {
  const text = JSON.stringify(openApiDocument());
  const headers = [...text.matchAll(/"#\/components\/headers\/(?:Known-|Front-|Page-|File-|Log-|Link-)?([^"]+)"/g)].map(
    ([, name]) => name,
  );
  expect(new Set(spelled('Headers-1', 'Headers-2', 'Headers-3'))).toEqual(new Set(headers));
  const types = [...text.matchAll(/"((?:application|text|image)\/[^"]+)":\{"schema"/g)].map(([, type]) => type);
  expect(new Set(spelled('Headers-4'))).toEqual(new Set(types));
});

test('docs/SPEC.md lists the variables that a job may not set', { tags: ['Submission-44a'] }, () => {
  const named = spelled('Submission-44a').filter((word) => word !== '*' && word !== 'invalid_request');
  expect(named).toEqual(REFUSED_VARIABLES);
});

test('the reference client has the name and version that docs/SPEC.md states', { tags: ['Versioning-5c'] }, () => {
  const { name, version } = JSON.parse(readFileSync(join(root, 'packages/client/package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
  };
  expect(spelled('Versioning-5c')).toEqual([name]);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  expect([version, major > 0 || minor >= 8]).toEqual([version, true]);
});

test("no identifier in the HTTP interface and no setting's name contains the product's name", {
  tags: ['What-9'],
}, () => {
  const { paths, components } = openApiDocument();
  expect(JSON.stringify([paths, components])).not.toMatch(/vouchbox/i);
  expect(SETTINGS.map(({ name }) => name).filter((name) => !/^SERVICE_/.test(name))).toEqual([]);
});

test('docs/SPEC.md lists the close codes of the stream', {
  tags: ['Stream-3a', 'Stream-3c', 'Stream-3d', 'Stream-3e'],
}, () => {
  const codesOf = (id: string) =>
    [...(statements.get(id) ?? '').matchAll(/\b[14]\d{3}\b/g)].map(([code]) => Number(code));
  const { finished, credentialEnded } = STREAM_CLOSE_CODES;
  expect(new Set(['Stream-3a', 'Stream-3c', 'Stream-3d'].flatMap(codesOf))).toEqual(
    new Set(Object.values(STREAM_CLOSE_CODES)),
  );
  expect(codesOf('Stream-3e')).toEqual([finished, credentialEnded]);
  expect(Object.keys(OPERATIONS.streamEvents.closeCodes).map(Number)).toEqual(Object.values(STREAM_CLOSE_CODES));
});

test('docs/SPEC.md states every error code, always with its HTTP status', { tags: ['Errors-23'] }, () => {
  const pairs = [...statements.values()].flatMap((text) => [...text.matchAll(/\b(\d{3}) `(\w+)`/g)]);
  const stated = new Set(pairs.map(([, status, code]) => `${status} ${code}`));
  expect([...stated].toSorted()).toEqual(ERROR_CODES.map((code) => `${ERRORS[code].status} ${code}`).toSorted());
});

test('docs/SPEC.md lists the statuses of a job and the reasons why a job ended', { tags: ['States-1g'] }, () => {
  expect(new Set(spelled('States-1a', 'States-1b'))).toEqual(new Set(JOB_STATUSES));
  expect(new Set(spelled('States-1g').slice(1))).toEqual(new Set(TERMINAL_REASONS));
});
