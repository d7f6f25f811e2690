/** Spec § What the service does, § Resources and their fields, § States and transitions: sentence by sentence. */
import type { Promised } from './promise.ts';

export const RESOURCES: readonly Promised[] = [
  [
    'What 1: a job is code, stdin, files, outputs, pack, isolation and limits',
    'contract/submission › has defaults for every limit that it leaves out, and is kept whole',
  ],
  [
    'What 2: python, node and bash, as far as the preflight proved them',
    'contract/submission › may be in %s',
    'contract/service › capabilities says what it can run',
    'server/job/admit/policy › a known language that did not pass the preflight is unavailable',
  ],
  [
    'What 3: clamps, persists, executes, records a chained history',
    'contract/submission › is clamped to the ceilings',
    'contract/replay › is a chain that anyone can recompute',
  ],
  [
    'What 4: a receipt at the end, then an artifact and a DSSE envelope with Ed25519',
    'contract/attestation › verifies under the key of the service',
    'interoperability/foreign-verifiers › accept a bundle that service-verify made',
  ],
  [
    'What 5: everything is bound to its tenant',
    'contract/access-rows › AUTH-20 a job',
    'contract/conformance › a job of another tenant is one that there is not:',
  ],
  [
    'What 6: HTTP/1.1 with JSON bodies',
    'contract/transport-battery › E-02 HTTP/2.0',
    'contract/submission › for a content type that is not plain JSON',
  ],
  [
    'What 7: one folded result, pages, or a stream',
    'contract/result › the folded result',
    'contract/replay › a page',
    'contract/streams › a stream',
  ],
  [
    'What 8: output is capped and hashed, and there is no network',
    'contract/output › a stream is stored up to 1 MiB',
    'contract/output › the receipt digests the retained texts',
    'contract/submission › for wanting the network',
  ],

  [
    'Submission: language',
    'contract/submission › may be in %s',
    'contract/submission › for a language that there is not',
    'contract/submission › for a runtime pack that is not here',
  ],
  [
    'Submission: code, at most 1 MiB decoded',
    'contract/submission › code: 1 MiB and not one byte more',
    'contract/body-rows › BODY-07',
  ],
  ['Submission: stdin, at most 1 MiB decoded', 'contract/submission › stdin: 1 MiB and not one byte more'],
  ['Submission: files', 'contract/submission › an input outside input/', 'contract/body-rows › BODY-10 NUL'],
  [
    'Submission: outputs',
    'contract/artifacts › an output that was asked for',
    'contract/submission › an output outside output/',
  ],
  ['Submission: runtime', 'contract/submission › may name a runtime pack that capabilities lists'],
  [
    'Submission: requirements',
    'contract/submission › may ask for the class that this service has, and for anything weaker',
    'contract/submission › for demanding %s of a service that has less',
  ],
  [
    'Submission: what is mandatory',
    'contract/submission › no language',
    'contract/submission › no code',
    'protocol/submission › asks for language and code, and for nothing else',
  ],
  ['Submission: what is unknown is refused by its pointer', 'contract/submission › an unknown member'],
  [
    'limits: each of the five',
    'contract/outcomes › wall_seconds',
    'contract/outcomes › cpu_seconds',
    'contract/outcomes › mem_mb',
    'contract/outcomes › max_pids',
    'contract/outcomes › max_file_mb',
  ],
  ['limits: allow_network true is refused', 'contract/submission › for wanting the network'],
  ['limits: omitted ones have defaults', 'contract/submission › has defaults for every limit'],
  [
    'limits: all are clamped to the ceilings, and what was clamped is requested_spec',
    'contract/submission › is clamped to the ceilings and never refused',
    'contract/submission › keeps limits below the ceilings as they are',
  ],
  [
    'Isolation classes: their order, and wasm-capability apart',
    'protocol/isolation › observed %s against a minimum of %s',
  ],
  [
    'Isolation classes: a stronger one satisfies a weaker minimum',
    'contract/submission › and for anything weaker',
    'contract/posture › any minimum above none is refused',
  ],
  [
    'Paths: relative, under input/ or output/, no traversal, no backslash, no duplicate',
    'protocol/paths › a path of a submission',
    'contract/submission › an absolute input',
    'contract/submission › an input that traverses',
    'contract/submission › an input with a backslash',
    'contract/submission › the same input twice',
  ],
  [
    'Paths: no output that is no regular file, none through a link',
    'contract/artifacts › an output that cannot come back is a violation',
    'contract/artifacts › one below a directory that is a link',
  ],

  ['Detail: its members', 'contract/posture › detail has exactly the members of the specification'],
  [
    'Detail: effective_spec is null without an executor observation',
    'contract/posture › a job that waits claims nothing',
    'contract/cancellation › cancelling a queued job ends it at once',
    'contract/upgrade › nothing is said of how %s ran',
    'server/job/dispatch/dispatcher › nothing of it ran (RES-21)',
  ],
  [
    'Detail: isolation_class is observed',
    'contract/posture › the program sees from inside what is claimed from outside',
  ],
  [
    'Detail: a sandboxed provider sets all five effective limits, the development one only wall_seconds',
    'contract/posture › detail says what held the job',
    'contract/posture › nothing is claimed but the wall limit',
  ],
  ['Detail: limit_enforcement has a boolean for each control', 'contract/posture › detail says what held the job'],
  [
    'Detail: networking is disabled, host or null',
    'contract/posture › detail says what held the job',
    'contract/posture › and the host’s network is named',
    'contract/serve › a runtime that vanishes',
  ],
  [
    'Detail: a failure before the boundary claims nothing',
    'contract/serve › a runtime that vanishes makes jobs end as errors that claim nothing',
    'server/job/dispatch/dispatcher › ends as bootstrap_failed, claiming nothing',
  ],
  [
    'Detail: requested_spec is whole, partial where it was migrated',
    'contract/submission › is kept whole as requested_spec',
    'server/store/migrations/migrate › show what was asked for as far as it was recorded',
  ],

  [
    'Receipt: its contents',
    'contract/posture › the receipt says the same',
    'contract/posture › the receipt digests what was given and what came back',
    'contract/posture › the receipt has what was used',
  ],
  ['Receipt: bootstrap_ready false makes no claim', 'contract/serve › a runtime that vanishes'],
  [
    'Receipt: without provenance the members of an execution are absent',
    'contract/cancellation › cancelling a queued job ends it at once',
    'contract/attestation › is of a job that was cancelled before it ran',
  ],
  [
    'Receipt: output covers the retained strings, joined by one LF',
    'contract/output › the receipt digests the retained texts joined by one LF',
  ],
  [
    'Receipt: truncated',
    'contract/output › 10,001 lines are truncated',
    'contract/output › one byte more is truncated, in its own stream alone',
  ],
  [
    'Receipt: executor_output is of the raw bytes',
    'contract/output › become U+FFFD each, and what was seen is counted and digested raw',
    'contract/output › one line of 10 MB is drained to its end',
  ],
  [
    'Receipt: resource_usage is wall, CPU and memory',
    'contract/posture › the receipt has what was used: wall, CPU and memory, and no more',
  ],
  [
    'Receipt: a recovery receipt says server_restarted and nothing it does not know',
    'contract/serve › after a crash every job is still there',
  ],
  [
    'Receipt: event_chain and its complete',
    'contract/replay › is a chain that anyone can recompute, and whose head the receipt names',
    'contract/upgrade › a chain goes on behind events of v0.1',
  ],
  [
    'Receipt: receipt_sha256',
    'contract/posture › the receipt’s digest is over its canonical form',
    'evidence/receipt › digests the canonical JSON with receipt_sha256 removed',
  ],
  ['Event: its members', 'contract/replay › has exactly the members of the specification in every event'],
  ['Folded result: its members', 'contract/result › has exactly the members of the specification'],
  [
    'Attestation: its members, and available only later',
    'contract/attestation › has in detail the digests, sizes and addresses',
    'contract/attestation › without its key a service ends jobs unsigned',
  ],
  [
    'Result artifact: its members, canonical, stored as served',
    'contract/attestation › is about a result artifact',
    'contract/attestation › stored bytes are the same after a restart',
  ],
  [
    'Result artifact: receipts of v0.3 are embedded unchanged',
    'contract/upgrade › receipts of v0.3 are embedded unchanged',
  ],
  [
    'Other bodies: replay page, list, public key',
    'contract/replay › holds the whole history by default',
    'contract/list › has exactly the decided members in every item',
    'contract/attestation › is served as canonical PEM',
  ],
  [
    'Other bodies: capabilities',
    'contract/service › capabilities says what it can run, in what, and up to which bounds',
    'contract/attestation › is served as canonical PEM',
  ],
  [
    'Other bodies: whoami',
    'contract/service › whoami says who calls',
    'contract/access › issues a key that opens the service',
    'contract/access › opens the service as its subject',
  ],

  [
    'States: the terminal ones',
    'contract/outcomes › a program that ends by itself',
    'contract/outcomes › ends a program that sleeps',
    'contract/outcomes › ends a program that takes more',
    'contract/cancellation › ends it as cancelled',
    'contract/serve › a runtime that vanishes',
  ],
  ['States: queued and running', 'contract/status › counts what waits and runs'],
  [
    'States: DELETE of a job that goes on',
    'contract/cancellation › cancelling a running job',
    'contract/cancellation › cancelling a queued job ends it at once',
  ],
  ['States: DELETE of one that ended', 'contract/cancellation › as %s stays as it ended, whoever cancels it'],
  [
    'States 1: terminal is for ever',
    'contract/cancellation › as %s stays as it ended',
    'server/store/lifecycle › a job ends at most once',
  ],
  [
    'States 2: a job that ran when the server stopped',
    'contract/serve › after a crash every job is still there: what ran is recovered',
    'contract/upgrade › which ran when the older service stopped, ends as server_restarted',
  ],
  [
    'States 3: the receipt and its outbox row are one commit',
    'server/store/lifecycle › a job ends at most once, with one chain and one receipt',
    'contract/attestation › signs once the key is back',
  ],
  [
    'States 4: an invalid operation is 409',
    'contract/attestation › of a running job is 409',
    'contract/error-codes › %s comes about under its status',
  ],
];
