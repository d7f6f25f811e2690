/** Random requests, generated from the OpenAPI document: the contract lists every answer, and nothing fails. */

import { LIMIT_CEILINGS, LIMIT_DEFAULTS, LIMIT_NAMES, type LimitName } from '@vouchbox/protocol';
import fc from 'fast-check';
import { beforeAll, expect, inject } from 'vitest';
import { Contract, type ContractOperation, type JsonSchema, type Parameter } from '../rig/contract.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, useRig } from '../rig/rig.ts';
import { loadSize, loadTimeout } from './load-size.ts';

const rig = useRig({ concurrency: '1', 'queue-max': '100000', 'tenant-queue-max': '100000', 'drain-seconds': '0' });

const seed = inject('propertySeed');
/** The number of requests to `submitJob`, and the number of requests to any other operation. */
const runs = {
  any: loadSize({ small: 150, full: 500 }),
  submitJob: loadSize({ small: 1500, full: 10_000 }),
};
/** The longest wait of a request whose job does not end. A request for an ended or unknown job is answered at once. */
const heldSecondsMax = 0.02;

let contract: Contract;
/** Ids that a request may name: queued and ended jobs, another tenant's, and one running job that is never cancelled. */
let job_ids: readonly string[];
beforeAll(async () => {
  contract = new Contract((await rig().request('/openapi.json', { key: null })).text);
  const { alpha, beta } = rig();
  const submission = { language: 'bash', code: 'true' };
  const ended = (await rig().run({ language: 'bash', code: 'echo out; echo err >&2; exit 3' })).job_id;
  const foreign = (await rig().run(submission, beta)).job_id;
  // The blocker takes the only slot, so no job that is submitted later runs.
  const blocker = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } };
  const { job_id } = await beta.client.submit(blocker);
  for await (const { kind } of beta.client.follow(job_id)) if (kind === 'stdout') break;
  const queued = (await alpha.client.submit(submission)).job_id;
  const cancelled = (await alpha.client.submit(submission)).job_id;
  await alpha.client.cancel(cancelled);
  job_ids = [ended, queued, cancelled, foreign, job_id];
});

/** Values that fit a schema of the document. */
function fitting(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, enum: values, anyOf, pattern, ...bounds } = contract.resolved(schema);
  if (values !== undefined) return fc.constantFrom(...values);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(fitting));
  if (type === undefined) return fc.jsonValue();
  switch (type) {
    case 'object':
      return fittingObject(contract.resolved(schema));
    case 'array': {
      const { minItems = 0, maxItems = 4 } = bounds;
      return fc.array(fitting(bounds.items ?? {}), { minLength: minItems, maxLength: Math.min(maxItems, 4) });
    }
    case 'string': {
      const { minLength = 0, maxLength = Number.MAX_SAFE_INTEGER } = bounds;
      return pattern === undefined
        ? fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 40) })
        : fc.stringMatching(new RegExp(pattern)).filter((text) => text.length <= maxLength);
    }
    case 'integer':
      return fc.integer({ min: bounds.minimum ?? 0, max: bounds.maximum ?? 100_000 });
    case 'number': {
      const { minimum, exclusiveMinimum, maximum = Number.MAX_VALUE } = bounds;
      const min = minimum ?? exclusiveMinimum ?? -Number.MAX_VALUE;
      return fc.double({ min, minExcluded: minimum === undefined, max: maximum, noNaN: true });
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue();
  }
}

function fittingObject({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fitting(schema)]));
  return fc.record(members, { requiredKeys: [...required] });
}

/**
 * Submissions. Some are accepted, some fit the schema but make no sense, some do not fit, and some have no members.
 */
function bodies(schema: JsonSchema): fc.Arbitrary<unknown> {
  const smallest = { language: 'bash', code: 'true' };
  const plain = fc.constantFrom(smallest, { ...smallest, runtime: 'unheard-of' });
  const some = fittingObject(contract.resolved(schema));
  const { properties = {} } = contract.resolved(schema);
  const names = Object.keys(properties);
  if (names.length === 0) return fc.oneof(fc.constant(undefined), some, fc.jsonValue());
  const one = fc
    .constantFrom(...names)
    .chain((name) => fitting(properties[name] ?? {}).map((value) => ({ [name]: value })));
  const base = fc.oneof(
    plain,
    some,
    fc.tuple(plain, one).map(([those, more]) => ({ ...those, ...more })),
    fc.tuple(some, plain).map(([more, those]) => ({ ...more, ...those })),
  );
  const strange = fc.tuple(base, fc.constantFrom(...names, '__proto__', 'constructor', 'surplus'), fc.jsonValue());
  return fc.oneof(
    { weight: 4, arbitrary: base },
    {
      weight: 4,
      arbitrary: strange.map(([value, name, member]) => Object.fromEntries([...Object.entries(value), [name, member]])),
    },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
}

/** The text of one parameter, and whether the contract allows it. */
interface Given {
  readonly name: string;
  readonly text: string;
  readonly isAllowed: boolean;
}

function parameters({ name, schema }: Parameter): fc.Arbitrary<Given | null> {
  const values =
    schema.type === 'number' ? fc.oneof(fitting(schema), fc.double({ min: 0, max: heldSecondsMax })) : fitting(schema);
  const allowed = values
    .chain((value) => fc.constantFrom(...textsOf(value)))
    // The schema does not say whether a cursor is valid.
    .map((text) => ({ name, text, isAllowed: name !== 'cursor' }));
  const wrong = fc.constantFrom(...wrongTexts(schema)).map((text) => ({ name, text, isAllowed: false }));
  const right = fc.oneof(fc.constant(null), allowed);
  return fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: wrong });
}

/** The ways to write a value into a query. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return [value.join(',')];
  if (typeof value !== 'number' || Number.isInteger(value)) return [String(value)];
  return [String(value), value.toExponential(), value.toFixed(20)];
}

function wrongTexts({ type, pattern, ...bounds }: JsonSchema): string[] {
  const numbers = ['', ' ', 'x', '1x', '0x1', 'NaN', '-1', '1,2', '9'.repeat(40)];
  if (type === 'integer') {
    return [...numbers, '1.5', ...(bounds.maximum === undefined ? [] : [String(bounds.maximum + 1)])];
  }
  if (type === 'number') return [...numbers, 'Infinity', String((bounds.maximum ?? 1e9) + 1)];
  if (pattern !== undefined) return ['a b', 'a\tb', 'x'.repeat(129)];
  return type === 'string' ? [''] : ['', 'none', 'Queued', 'queued,,failed', '__proto__'];
}

interface Made {
  readonly operation: ContractOperation;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  /** Whether the contract says that the service must refuse this request. */
  readonly isWrong: boolean;
}

function requests(operation: ContractOperation): fc.Arbitrary<Made> {
  const ids = fc.oneof(
    fc.constantFrom(...job_ids),
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !/^\.{1,2}$/.test(text))
      .map(encodeURIComponent),
  );
  const given = fc.tuple(...operation.parameters.map(parameters));
  const surplus = fc.option(fc.constantFrom('surplus=1', 'limit=1&limit=2', '__proto__=1'), { nil: '', freq: 8 });
  const body = operation.body === null ? fc.constant(undefined) : bodies(operation.body);
  return fc.tuple(ids, given, surplus, body).map(([id, all, more, value]) => {
    const found = all.filter((each) => each !== null);
    const isInQuery = ({ name }: Given) =>
      operation.parameters.some((each) => each.name === name && each.in === 'query');
    const query = found.filter(isInQuery).map(({ name, text }) => `${name}=${encodeURIComponent(text)}`);
    if (more !== '') query.push(more);
    const inHeaders = found.filter((each) => !isInQuery(each));
    const fits = operation.body === null || value === undefined || contract.fits(operation.body, value);
    return {
      operation,
      path: `${operation.path.replace('{id}', id).replace('{seq}', '3')}${query.length > 0 ? `?${query.join('&')}` : ''}`,
      headers: Object.fromEntries(inHeaders.map(({ name, text }) => [name, text])),
      body: value === undefined ? undefined : JSON.stringify(value),
      isWrong: !fits || found.some(({ isAllowed }) => !isAllowed),
    };
  });
}

/**
 * False for a request that cancels the running job, because then the queued jobs would start. Also false for a request
 * that waits long for a running or queued job, because the wait would take minutes.
 */
function isSafe({ operation, path }: Made): boolean {
  const [, queued = '', , , running = ''] = job_ids;
  if (operation.method === 'DELETE') return !path.includes(running);
  const seconds = Number(new URLSearchParams(path.split('?')[1]).get('wait_seconds') ?? 0);
  const mayWait = operation.id === 'submitJob' || path.includes(queued) || path.includes(running);
  return !mayWait || !(seconds > heldSecondsMax);
}

/** Requests with a known outcome, because a service might refuse all random requests. */
const KNOWN: Readonly<
  Record<string, readonly { readonly query?: string; readonly job_id?: string; readonly body?: object }[]>
> = {
  submitJob: [
    { body: { language: 'bash', code: 'true' } },
    { body: { language: 'bash' } },
    { body: { language: 'bash', code: 'true', runtime: 'unheard-of' } },
  ],
  replayEvents: [{}, { query: '?after=-1' }, { job_id: 'unknown' }],
};

function known(operation: ContractOperation): Made[] {
  return (KNOWN[operation.id] ?? []).map(({ query = '', job_id = job_ids[0] ?? '', body }) => ({
    operation,
    path: operation.path.replace('{id}', job_id).replace('{seq}', '3') + query,
    headers: {},
    body: body === undefined ? undefined : JSON.stringify(body),
    isWrong: query !== '' || (operation.body !== null && !contract.fits(operation.body, body)),
  }));
}

slowTest(
  'every answer is one that the contract lists, and invalid requests are refused (BODY-12)',
  {
    ...loadTimeout,
    tags: ['Versioning-1', 'BODY-12'],
  },
  async () => {
    const seen = new Map<string, Set<number>>();
    for (const operation of contract.operations) {
      const statuses = new Set<number>();
      seen.set(operation.id, statuses);
      const property = fc.asyncProperty(requests(operation).filter(isSafe), async (made) => {
        const { path, headers, body, isWrong } = made;
        const answer = await rig().request(path, { method: operation.method, headers, body });
        statuses.add(answer.status);
        expect(contract.problemWith(operation, answer)).toBeNull();
        const mustBeRefused = isWrong && isOfCaller(operation);
        expect(refusalOf(answer)).toMatch(mustBeRefused ? /^4/ : /./);
      });
      const numRuns = operation.id === 'submitJob' ? runs.submitJob : runs.any;
      await fc.assert(property, { numRuns, seed, examples: known(operation).map((made) => [made]) });
    }
    expect([...(seen.get('submitJob') ?? [])]).toEqual(expect.arrayContaining([201, 400, 422]));
    expect([...(seen.get('replayEvents') ?? [])]).toEqual(expect.arrayContaining([200, 400, 404]));
  },
);

/** Public routes ignore unknown parameters. */
function isOfCaller({ path }: ContractOperation): boolean {
  return path.startsWith('/v1/');
}

function refusalOf({ status, text }: Answer): string {
  return status < 400 ? `accepted: ${text.slice(0, 200)}` : String(status);
}

/** Numbers as JSON spells them: exact doubles, numbers that are rounded to a double, and numbers out of range. */
const jsonNumbers: fc.Arbitrary<string> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 1100n }).map(String),
  fc.integer({ min: 2 ** 53 - 3, max: Number.MAX_SAFE_INTEGER }).map((value) => String(BigInt(value) + 4n)),
  fc
    .tuple(fc.double({ min: 0, max: 2000, noNaN: true }), fc.integer({ min: -400, max: 400 }))
    .map(([digits, exponent]) => `${digits.toFixed(3)}e${exponent}`),
);

/** The value that the contract gives a limit requested as `text`; null if the contract refuses the request. */
function limitOf(name: LimitName, text: string): number | null {
  const value = Number(text);
  if (!(value > 0)) return null;
  const counted = name === 'wall_seconds' || name === 'cpu_seconds' ? value : Math.max(1, Math.floor(value));
  return Math.min(counted, LIMIT_CEILINGS[name]);
}

test('every positive number is accepted as a limit, and clamped to its ceiling', loadTimeout, async () => {
  const asked = fc.record({ name: fc.constantFrom(...LIMIT_NAMES), text: jsonNumbers });
  await fc.assert(
    fc.asyncProperty(asked, async ({ name, text }) => {
      const answer = await rig().post(`{"language":"bash","code":"true","limits":{"${name}":${text}}}`);
      const wanted = limitOf(name, text);
      expect([answer.status, wanted === null]).toEqual(wanted === null ? [400, true] : [201, false]);
      if (wanted === null) return;
      const { requested_spec } = (await rig().request(`/v1/jobs/${answer.json.job_id}`)).json;
      expect(requested_spec.limits).toEqual({ ...LIMIT_DEFAULTS, [name]: wanted });
    }),
    { numRuns: runs.any * 2, seed },
  );
});

test('bodies that are not JSON, or have another type, are refused as the contract says (BODY-12)', {
  ...loadTimeout,
  tags: ['BODY-12'],
}, async () => {
  const submit = contract.operations.find(({ id }) => id === 'submitJob') as ContractOperation;
  const wild = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string().map((text) => Buffer.from(text)),
  );
  const kinds = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'multipart/form-data',
  );
  await fc.assert(
    fc.asyncProperty(wild, kinds, async (body, kind) => {
      const answer = await rig().post(new Uint8Array(body), { headers: { 'content-type': kind } });
      expect(contract.problemWith(submit, answer)).toBeNull();
      expect(refusalOf(answer)).toMatch(/^4/);
    }),
    { numRuns: 500, seed },
  );
});
