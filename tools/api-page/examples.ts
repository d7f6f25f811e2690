/** The examples in docs/API.md: real requests for each operation, in the order in which a caller meets the operations. */
import type { OperationId } from '@vouchbox/protocol';

export interface Example {
  readonly title: string;
  /** A bash command. Its environment has `url`, `key`, `job`, `session`, `link`, `stream_url` and `metrics_token`. */
  readonly command: string;
  /** The job that `job` names: an ended one, a running one, or one that calls a tool. Default: the last command's job. */
  readonly job?: 'ended' | 'running' | 'calling';
  /** The paths of the answer's members that are shown. A mark stands for the other members. */
  readonly shown?: readonly string[];
}

export interface Section {
  readonly title: string;
  readonly text: string;
  readonly operations: Partial<Record<OperationId, Example>>;
}

/** A command with the caller's key. */
function call(words: string): string {
  return `curl -s ${words} -H "Authorization: Bearer $key"`;
}

const PROGRAM =
  'print(sum(map(int, open(\\"input/numbers.txt\\"))))\\nopen(\\"output/note.txt\\", \\"w\\").write(\\"done\\")';

export const SUBMIT = `${call('"$url/v1/jobs?wait_seconds=10"')} \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: sum-of-two-numbers' \\
  -d '{
    "language": "python",
    "code": "${PROGRAM}",
    "files": [{ "path": "input/numbers.txt", "content_base64": "MjAKMjIK" }],
    "outputs": ["output/**"],
    "limits": { "wall_seconds": 5 }
  }'`;

const GRADE = `${call('"$url/v1/gradings"')} \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: sums-of-monday' \\
  -d '{
    "programs": [{ "name": "ada", "language": "python", "code": "print(sum(map(int, input().split())))" }],
    "tests": [
      { "name": "small", "stdin": "1 2", "expected": "3" },
      { "name": "large", "stdin": "20 22", "expected": "42", "points": 4 }
    ],
    "limits": { "wall_seconds": 5 }
  }'`;

/** A request that the service refuses, for the section about refusals. */
export const REFUSED = `${call('"$url/v1/jobs"')} \\
  -H 'Content-Type: application/json' -d '{ "language": "python", "cod": "print(1)" }'`;

/** Sets `digest` to the digest of the uploaded content. */
const DIGEST = "digest=$(printf 'the content of a file' | sha256sum | cut -c 1-64)";
const UPLOAD = `-X PUT "$url/v1/blobs/sha256/$digest" --data-binary 'the content of a file'`;

const FOLLOW = `node -e '
  const socket = new WebSocket(process.env.url.replace("http", "ws") + process.env.stream_url);
  socket.onmessage = ({ data }) => {
    const { seq, kind, data: said } = JSON.parse(data);
    console.log(seq, kind, ...(said.text ? [said.text] : []));
  };
  socket.onclose = ({ code }) => console.log("closed with", code);
'`;

export const SECTIONS: readonly Section[] = [
  {
    title: 'Run a program',
    text: 'One request runs a program and brings its result, if it ends within the time that you wait.',
    operations: {
      submitJob: { title: 'Submit a job', command: SUBMIT },
      getResult: { title: 'Read the result', command: call('"$url/v1/jobs/$job/result?wait_seconds=30"') },
    },
  },
  {
    title: 'Follow a program',
    text:
      'A job has a history of events, from `queued` and `started` over each piece of `stdout` and `stderr` to `finished`. ' +
      'Each is linked to the one before by its hash. Read them by a long poll, or get them over a ' +
      'WebSocket. Keep the last `seq` that you saw, and go on after it when a connection breaks.',
    operations: {
      replayEvents: {
        title: 'Read events, and wait for new ones',
        command: call('"$url/v1/jobs/$job/replay?after=1&wait_seconds=30"'),
      },
      mintStreamTicket: {
        title: 'Get a ticket for a stream',
        command: call('-X POST "$url/v1/jobs/$job/stream-ticket"'),
      },
      streamEvents: { title: 'Open a stream', command: FOLLOW },
    },
  },
  {
    title: 'Answer calls of tools',
    text:
      'A program has no network, but it may call tools. A submission names them, each with the JSON Schemas of its arguments and of ' +
      'its result if you like: `"tools": [{ "name": "search", "arguments": { "type": "object" } }]`. The program writes each call as ' +
      'a line `{"call": 1, "tool": "search", "arguments": {…}}` to descriptor 31, and reads `{"call": 1, "result": …}` or `{"call": ' +
      '1, "error": "…"}` from descriptor 30. Each call waits for you, and each answer is an event of the job, and so in its ' +
      'signed evidence.\n\nOver a stream, a call arrives as its event, and an answer goes back as a text message: `{"call_seq": 3, ' +
      '"result": …}`. Open it with a credential, since a ticket answers nothing.',
    operations: {
      listToolCalls: {
        title: 'Read the calls that wait',
        command: call('"$url/v1/jobs/$job/tool-calls?wait_seconds=30"'),
        job: 'calling',
      },
      answerToolCall: {
        title: 'Answer a call',
        command: `${call('"$url/v1/jobs/$job/tool-calls/$seq"')} \\
  -H 'Content-Type: application/json' -d '{ "result": ["barn owl", "tawny owl"] }'`,
      },
    },
  },
  {
    title: 'Go on from where a program ended',
    text:
      'A step of a session begins with the files of `/work` and the variables that the step before left: ' +
      '`"session": { "name": "analysis", "after": null }` begins one, and each later step names the job of the last in `after`. A step ' +
      'that fails leaves the session where it was, and of two that come at once one is refused. What could not be kept is in ' +
      '`output/.session/kept.json`, by name and reason. The state is an output of one job and an input of the next, so it is as ' +
      'private as an export of those jobs.',
    operations: {
      listSessions: { title: 'List your sessions', command: call('"$url/v1/sessions"') },
      getSession: { title: 'See where a session stands', command: call('"$url/v1/sessions/$session"') },
      removeSession: { title: 'Remove a session', command: call('-X DELETE "$url/v1/sessions/$session"') },
    },
  },
  {
    title: 'Hand a result on by a link',
    text:
      'Only where the operator set `SERVICE_LINKS=on`. Whoever has the link reads the result of one job without a credential, until it ' +
      'ends: by its time, by a revocation, with the job, or with the key that made it. `link_url`, put behind the address of the ' +
      'service, opens as a page in any browser. The secret stands behind the `#` and is told once. A program [sends ' +
      'it](CLIENTS.md#http) as `Authorization: Bearer SECRET` to `/links/{link}/job`, `/result`, `/attestation` and `/result-artifact`.',
    operations: {
      createLink: {
        title: 'Make a link',
        command: `${call('"$url/v1/jobs/$job/links"')} \\
  -H 'Content-Type: application/json' -d '{ "expires_in": 604800, "shows": ["code"] }'`,
        job: 'ended',
      },
      listLinks: { title: 'List the links of a job', command: call('"$url/v1/jobs/$job/links"'), job: 'ended' },
      revokeLink: { title: 'End a link', command: call('-X DELETE "$url/v1/jobs/$job/links/$link"') },
    },
  },
  {
    title: 'Find, inspect and cancel jobs',
    text: 'A credential sees the jobs of its tenant. A job of another tenant is answered like one that does not exist.',
    operations: {
      getJob: { title: 'Read a job in full', command: call('"$url/v1/jobs/$job"'), job: 'ended' },
      listJobs: { title: 'List jobs', command: call('"$url/v1/jobs?limit=1&status=succeeded,failed"') },
      cancelJob: {
        title: 'Cancel a job',
        command: call('-X DELETE "$url/v1/jobs/$job"'),
        job: 'running',
        shown: ['job_id', 'status', 'cancellation_requested', 'already_terminal'],
      },
    },
  },
  {
    title: 'Upload large files',
    text:
      'A file in a submission has at most 2 MiB. A larger one is uploaded first, up to 64 MiB, and then named in `files` in ' +
      'place of its content: `{ "path": "input/data.bin", "blob": "sha256:…" }`. Many jobs may name it.\n\nAn output of a job that ' +
      'has ended needs no upload: `{ "path": "input/plot.csv", "from": { "job_id": "job_…", "path": "output/plot.csv" } }`.',
    operations: {
      putBlob: { title: 'Upload a file', command: `${DIGEST}\n${call(UPLOAD)}` },
      getBlob: { title: 'Fetch it', command: `${DIGEST}\n${call('"$url/v1/blobs/sha256/$digest"')}` },
    },
  },
  {
    title: 'Grade programs against tests',
    text:
      'One request grades up to 1,000 programs against up to 1,000 tests. The service makes a job of each run, and a last one that ' +
      'judges: its output `output/verdict.json` is the verdict, and its attestation signs it. What is expected is told to nobody. A ' +
      'long text is uploaded first, and named by `{ "blob": "sha256:…" }` in place of the text.',
    operations: {
      submitGrading: { title: 'Submit a grading', command: GRADE },
      gradingEvents: {
        title: 'Read what happens in it, and wait for more',
        command: call('"$url/v1/gradings/$grading/events?wait_seconds=30&limit=1"'),
      },
      getGrading: { title: 'Wait for its end', command: call('"$url/v1/gradings/$grading?wait_seconds=60"') },
      listGradings: { title: 'List gradings', command: call('"$url/v1/gradings?limit=1"') },
      cancelGrading: {
        title: 'Cancel a grading',
        command: call('-X DELETE "$url/v1/gradings/$grading"'),
        shown: ['grading_id', 'status', 'cancellation_requested', 'already_terminal'],
      },
    },
  },
  {
    title: 'Prove a result',
    text:
      'Keep these bytes as they came: a digest or a signature is over bytes. `npx --no vouchbox export` fetches all of them, and ' +
      '`npx --no service-verify` checks them without the service. [VERIFYING.md](VERIFYING.md) says how.',
    operations: {
      getAttestation: { title: 'Fetch the signature', command: call('"$url/v1/jobs/$job/attestation"'), job: 'ended' },
      getResultArtifact: {
        title: 'Fetch what is signed',
        command: call('"$url/v1/jobs/$job/result-artifact"'),
        job: 'ended',
      },
      getLogProof: {
        title: 'Fetch the proof of the log',
        command: call('"$url/v1/jobs/$job/log-proof"'),
        job: 'ended',
      },
      getPromise: {
        title: 'Fetch the promise of a job',
        command: call('"$url/v1/jobs/$job/promise?wait_seconds=20"'),
        job: 'ended',
      },
      getPending: {
        title: 'Read what the log says of a job that waits',
        command: call('"$url/v1/jobs/$job/pending"'),
        job: 'ended',
      },
      getCanary: { title: 'Fetch the canary that it names', command: call('"$url/v1/jobs/$job/canary"'), job: 'ended' },
      getPublicKey: { title: 'Read the signing key', command: call('"$url/v1/attestation/public-key"') },
    },
  },
  {
    title: 'Ask about the service',
    text: 'What it can run, who you are to it, and how it is doing.',
    operations: {
      getCapabilities: { title: 'Read what it can run', command: call('"$url/v1/capabilities"') },
      getWhoami: { title: 'Read who you are', command: call('"$url/v1/whoami"') },
      getStatus: { title: 'Read how it is doing', command: call('"$url/v1/status"') },
      getContract: {
        title: 'Read the contract',
        command: 'curl -s "$url/openapi.json"',
        shown: ['openapi', 'info.title', 'info.version'],
      },
    },
  },
  {
    title: 'Watch it',
    text: 'For probes and for monitoring. [Monitor](operating/monitor.md) says what to watch.',
    operations: {
      getHealth: { title: 'Ask whether it is alive', command: 'curl -s "$url/healthz"' },
      getReadiness: { title: 'Ask whether it is ready', command: 'curl -s "$url/readyz"' },
      getTenantMetrics: { title: "Read your tenant's metrics", command: call('"$url/v1/metrics"') },
      getMetrics: {
        title: "Read the service's metrics",
        command: 'curl -s "$url/metrics" -H "Authorization: Bearer $metrics_token"',
      },
    },
  },
];
