/**
 * Changes of the sources, each of which makes statements of docs/SPEC.md false. For every statement that it names, a
 * test with that id must fail: `npm run mutate`.
 */
export interface Mutation {
  /** What the project then does. */
  readonly name: string;
  readonly falsifies: readonly [string, ...string[]];
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

const SERVER = 'packages/server/src';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'truncated output is reported at the end of the job, and not when it happens',
    falsifies: ['Events-6a', 'Result-6'],
    file: `${SERVER}/job/execute/recorder.ts`,
    from: 'events.push(truncated);',
    to: '',
  },
  {
    name: 'the event of a truncation does not count what was seen',
    falsifies: ['Events-6'],
    file: `${SERVER}/job/execute/recorder.ts`,
    from: 'bytes_seen: cut?.bytes_seen ?? bytes,',
    to: 'bytes_seen: 0,',
  },
  {
    name: 'no receipt says that output was truncated',
    falsifies: ['Receipt-14'],
    file: `${SERVER}/store/outcomes.ts`,
    from: 'truncated: Number(counts?.truncations ?? 0) > 0,',
    to: 'truncated: false,',
  },
  {
    name: 'no result artifact says that output was truncated',
    falsifies: ['Artifact-4a'],
    file: 'packages/evidence/src/result-artifact.ts',
    from: 'truncated: job.truncated,',
    to: 'truncated: false,',
  },
  {
    name: 'the body of a submission is still read after its credential ended',
    falsifies: ['Authentication-8'],
    file: `${SERVER}/http/body.ts`,
    from: 'authority.watch(caller, () => stop(() => reject(unknownCredential())));',
    to: 'authority.watch(caller, () => undefined);',
  },
  {
    name: 'a submission is stored though its credential ended while it was checked',
    falsifies: ['Authentication-8a'],
    file: `${SERVER}/http/routes/jobs.ts`,
    from: 'if (!(await access.stands(caller))) throw unknownCredential();',
    to: 'await access.stands(caller);',
  },
  {
    name: 'an idle connection stays open when its credential ended',
    falsifies: ['Authentication-8'],
    file: `${SERVER}/http/authority.ts`,
    from: 'if (isItsOwn && this.#options.isIdle(connection)) connection.destroy();',
    to: '',
  },
  {
    name: 'a faulty subprotocol is left to the WebSocket library to refuse',
    falsifies: ['Errors-3', 'Stream-2a'],
    file: `${SERVER}/http/handshake.ts`,
    from: 'if (protocols !== undefined && !isListOfNames(protocols)) {',
    to: 'if (protocols === null) {',
  },
  {
    name: 'an unknown path under /v1 requires no credential',
    falsifies: ['Authentication-1', 'Endpoints-2'],
    file: `${SERVER}/http/entry.ts`,
    from: "return UNDER_V1.test(url) ? 'credential' : 'public';",
    to: "return url === '' ? 'credential' : 'public';",
  },
  {
    name: 'a job is accepted while no cell can be made',
    falsifies: ['Submit-6d', 'Errors-20'],
    file: `${SERVER}/job/admit/admit.ts`,
    from: 'if (!options.cells.isReady()) throw workerUnavailable();',
    to: 'if (!options.cells.isReady()) workerUnavailable();',
  },
  {
    name: 'limits are not clamped',
    falsifies: ['Submission-24', 'What-3', 'Limits-22'],
    file: `${SERVER}/job/admit/policy.ts`,
    from: 'Math.min(limits[name], ceilings[name])',
    to: 'limits[name]',
  },
  {
    name: 'a limit that no double holds is refused',
    falsifies: ['Submission-24', 'Limits-22'],
    file: `${SERVER}/http/body.ts`,
    from: "{ approximateIn: 'limits' }",
    to: '{}',
  },
  {
    name: 'fractions of the whole-number limits are kept',
    falsifies: ['Submission-19'],
    file: `${SERVER}/job/admit/submission.ts`,
    from: 'Math.max(1, Math.floor(value))',
    to: 'value',
  },
  {
    name: 'a wait is plain digits with a few decimals',
    falsifies: ['GetResult-2'],
    file: `${SERVER}/http/query.ts`,
    from: String.raw`const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;`,
    to: String.raw`const NUMBER = /^(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/;`,
  },
  {
    name: 'the answer that opens a stream does not state the budget',
    falsifies: ['Versioning-1'],
    file: `${SERVER}/http/websocket.ts`,
    from: "const UPGRADE_HEADERS = ['x-request-id', ",
    to: 'const UPGRADE_HEADERS = [',
  },
  {
    name: 'a parameter is accepted beyond the maximum that the document lists',
    falsifies: ['Versioning-1', 'GetResult-2'],
    file: `${SERVER}/http/query.ts`,
    from: 'if (value >= minimum && value <= maximum)',
    to: 'if (value >= minimum)',
  },
  {
    name: 'the client uses no fallback for an older server',
    falsifies: ['Versioning-5'],
    file: 'packages/client/src/service-client.ts',
    from: 'if (isRouteMissing(error)) return await standIn(error);',
    to: '',
  },
  {
    name: 'the client does not report the state of its stream',
    falsifies: ['Stream-5b'],
    file: 'packages/client/src/follow.ts',
    from: '    told = state;\n    onState(state);',
    to: '    told = state;',
  },
  {
    name: 'the client retries a refused stream sooner than it was asked to',
    falsifies: ['Errors-24'],
    file: 'packages/client/src/follow.ts',
    from: 'Math.random(), refusal);',
    to: 'Math.random(), null);',
  },
  {
    name: 'a result of any size is signed',
    falsifies: ['Limits-19'],
    file: 'packages/evidence/src/attest.ts',
    from: "if (result.length > resultArtifactBytesMax) return tooLarge('result', result.length, resultArtifactBytesMax);",
    to: '',
  },
  {
    name: 'an envelope of any size is stored',
    falsifies: ['Limits-20'],
    file: 'packages/evidence/src/attest.ts',
    from: "if (envelope.length > envelopeBytesMax) return tooLarge('envelope', envelope.length, envelopeBytesMax);",
    to: '',
  },
];
