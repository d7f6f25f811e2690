/** The body of POST /v1/jobs, and the complete specification that is stored. Spec § Job submission. */

import { BlobName } from './blob.ts';
import { Build, Product, StoredBuild, StoredProduct } from './builds.ts';
import { ISOLATION_CLASSES } from './isolation.ts';
import { LANGUAGES } from './languages.ts';
import {
  filesMax,
  LIMIT_CEILINGS,
  LIMIT_DEFAULTS,
  LIMIT_NAMES,
  type LimitName,
  labelCharsMax,
  labelsMax,
  largeOutputsBytesMax,
  pathBytesMax,
  runtimeNameCharsMax,
} from './limits.ts';
import { ProgramArguments, ProgramVariables } from './program-words.ts';
import { SessionStep } from './sessions.ts';
import { JobId } from './spellings.ts';
import { StoredTools, ToolLimitsInput, ToolPrincipals, Tools } from './tools.ts';
import { Closed, Each, Nullable, type Static, Type } from './type.ts';

export const LanguageName = Type.Enum([...LANGUAGES]);

export const InputFile = Closed({
  path: Type.String({ minLength: 1, maxLength: pathBytesMax, description: 'Relative, under `input/`.' }),
  content_base64: Type.String({ description: 'Standard base64 with padding; at most 2 MiB decoded.' }),
});
export type InputFile = Static<typeof InputFile>;

/** An input file that was uploaded earlier. */
export const UploadedFile = Closed({
  path: InputFile.properties.path,
  blob: Type.String({
    ...BlobName,
    description: 'In place of the content: an upload, or an output of a job, as `sha256:` and its digest.',
  }),
});
export type UploadedFile = Static<typeof UploadedFile>;

/** The name of an output file of a job. */
export const OutputName = Closed(
  {
    job_id: Type.String({ pattern: '^[!-~]{1,128}$', description: 'The id of a job that has ended.' }),
    path: Type.String({ minLength: 1, maxLength: pathBytesMax, description: 'Under `output/`.' }),
  },
  { description: 'In place of the content: an output of another job of the tenant.' },
);
export type OutputName = Static<typeof OutputName>;

/** The libraries that a job brings along in an uploaded archive. */
export const Libraries = Closed(
  { blob: UploadedFile.properties.blob },
  {
    description:
      'For Python, JavaScript and TypeScript: a tar archive in gzip of a directory of packages. The cell unpacks it ' +
      'before the program, for which it comes first where modules are looked for.',
  },
);
export type Libraries = Static<typeof Libraries>;

const outputDigest = Type.String({
  ...BlobName,
  description: 'Beside `from`, the digest of that output: the service adds it, and refuses a submission with another.',
});

/** An input file that is an output of another job. */
export const OutputFile = Closed({
  path: InputFile.properties.path,
  from: OutputName,
  blob: Type.Optional(outputDigest),
});
export type OutputFile = Static<typeof OutputFile>;

/** An output as it is stored. The service looked the output up once, when it accepted the job. */
export const ResolvedOutput = Closed({ path: InputFile.properties.path, from: OutputName, blob: outputDigest });
export type ResolvedOutput = Static<typeof ResolvedOutput>;

/** An input that the service keeps to itself: only the input's digest is shown, and no submission can name the input. */
export const HeldFile = Closed({
  path: InputFile.properties.path,
  blob: UploadedFile.properties.blob,
  held: Type.Literal(true),
});
export type HeldFile = Static<typeof HeldFile>;

export const SubmittedFile = Type.Union([InputFile, UploadedFile, OutputFile]);
export type SubmittedFile = Static<typeof SubmittedFile>;

export const StoredFile = Type.Union([InputFile, UploadedFile, ResolvedOutput, HeldFile]);
export type StoredFile = Static<typeof StoredFile>;

/** Standard input that is not in the body. */
export const NamedStdin = Type.Union([
  Closed({ blob: UploadedFile.properties.blob }),
  Closed({ from: OutputName, blob: Type.Optional(outputDigest) }),
]);
export type NamedStdin = Static<typeof NamedStdin>;

/** Named standard input as it is stored. If it is the output of a job, the service has looked up the output's digest. */
export const StoredStdin = Closed(
  { from: Type.Optional(OutputName), blob: UploadedFile.properties.blob },
  { description: 'The bytes that `stdin` named; `stdin` is null then.' },
);
export type StoredStdin = Static<typeof StoredStdin>;

export const OutputPath = Type.String({
  minLength: 1,
  maxLength: pathBytesMax,
  description:
    'A file, relative and under `output/`; or `output/**` and `output/DIRECTORY/**` for every regular file below.',
});

/** Outputs that are returned by digest, because they may be larger than an answer. */
export const LargeOutputs = Closed(
  {
    paths: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: pathBytesMax, description: 'A file under `output/`.' }), {
        maxItems: filesMax,
        description: 'Files to bring back. Patterns are for `outputs` alone, and no file is in both.',
      }),
    ),
    stdout: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: pathBytesMax,
          description:
            'A path under `output/` by which all of standard output comes back where its events do not have every byte ' +
            'of it; null counts as left out.',
        }),
      ),
    ),
    max_bytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: largeOutputsBytesMax,
        description:
          'All of them together; 64 MiB if omitted. So much room of the tenant is reserved until the job ends.',
      }),
    ),
  },
  { description: 'Files that come back by their digests. At least one is named.' },
);
export type LargeOutputs = Static<typeof LargeOutputs>;

/** Large outputs as they are stored, with the defaults filled in. */
export const StoredLargeOutputs = Type.Object({
  paths: Type.Array(Type.String()),
  stdout: Nullable(Type.String()),
  max_bytes: Type.Integer(),
});
export type StoredLargeOutputs = Static<typeof StoredLargeOutputs>;

/** One word or phrase by which a job can be found again. */
export const Label = Type.String({ minLength: 1, maxLength: labelCharsMax });

export const Labels = Type.Array(Label, {
  maxItems: labelsMax,
  description:
    'Words by which jobs can be listed. They are part of the receipt, and of what an idempotency key stands for, only with `sign_labels`.',
});

export const Requirements = Closed({
  minimum_isolation: Type.Optional(
    Type.Enum([...ISOLATION_CLASSES], {
      description: 'The weakest isolation that will do; refused where the service has less.',
    }),
  ),
  enforced: Type.Optional(
    Type.Array(Type.Enum([...LIMIT_NAMES]), {
      maxItems: LIMIT_NAMES.length,
      description: 'Limits that the host must hold, and not only watch; refused where it does not hold each of them.',
    }),
  ),
});
export type Requirements = Static<typeof Requirements>;

/** Requirements as stored and shown. `enforced` lists limits in their usual order; absent if none must be enforced. */
export const StoredRequirements = Type.Object({
  minimum_isolation: Type.Enum([...ISOLATION_CLASSES]),
  enforced: Type.Optional(Type.Array(Type.Enum([...LIMIT_NAMES]))),
});
export type StoredRequirements = Static<typeof StoredRequirements>;

function bounds(name: LimitName): string {
  return `${LIMIT_DEFAULTS[name]} if omitted; clamped to a ceiling, ${LIMIT_CEILINGS[name]} unless the operator set another.`;
}

function wholeBounds(name: LimitName): string {
  return `${bounds(name)} A fraction is rounded down, though never below 1.`;
}

/** A limit's bounds, with a sentence about an interpreter that already uses more than the limit before any program runs. */
function heldBounds(name: LimitName): string {
  return `${wholeBounds(name)} Where the interpreter already holds more, the smallest limit that holds is in force: \`effective_spec\` states it.`;
}

/** Submitted limits. Each is any positive number; a limit above its ceiling is clamped, not refused. */
export const LimitsInput = Closed({
  wall_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: bounds('wall_seconds') })),
  cpu_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: bounds('cpu_seconds') })),
  mem_mb: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: heldBounds('mem_mb') })),
  max_pids: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: heldBounds('max_pids') })),
  max_file_mb: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: wholeBounds('max_file_mb') })),
  allow_network: Type.Optional(
    Type.Boolean({ description: '`true` is refused with `network_not_allowed`: egress is never granted.' }),
  ),
});
export type LimitsInput = Static<typeof LimitsInput>;

/** Members that a submission and its interactor both have. */
const programMembers = {
  language: Type.String({
    description: '`python`, `node`, `bash`, `typescript`, or the language of a runtime pack; see capabilities.',
  }),
  code: Type.String({ minLength: 1, description: 'Source; at most 1 MiB as UTF-8.' }),
  files: Type.Optional(
    Type.Array(SubmittedFile, {
      maxItems: filesMax,
      description: 'Files in base64 have at most 4 MiB in total; with those that are named, at most 64 MiB.',
    }),
  ),
  args: Type.Optional(ProgramArguments),
  env: Type.Optional(ProgramVariables),
  outputs: Type.Optional(
    Type.Array(OutputPath, {
      maxItems: filesMax,
      description: 'Files to bring back; at most 32 regular files of at most 2 MiB each, 4 MiB in total.',
    }),
  ),
  large_outputs: Type.Optional(LargeOutputs),
  product: Type.Optional(Product),
  runtime: Type.Optional(
    Nullable(
      Type.String({
        minLength: 1,
        maxLength: runtimeNameCharsMax,
        description: 'Name of a runtime pack, from capabilities; null counts as left out.',
      }),
    ),
  ),
  requirements: Type.Optional(Requirements),
  limits: Type.Optional(LimitsInput),
  reproducible: Type.Optional(
    Type.Boolean({ description: 'Fixes the hash seeds of Python and Perl; the policy says so.' }),
  ),
};

/** A program that the submitted program talks to. It runs in a job of its own. */
export const Interactor = Closed(programMembers, {
  description:
    'A second program: the standard output of each is the standard input of the other while both run. It becomes a job of ' +
    'its own, and the submission then has no `stdin`.',
});
export type Interactor = Static<typeof Interactor>;

/**
 * The body of a submission. `language` is a free string here, so that an unknown language is refused as
 * `unsupported_language` and not with a schema error. The server checks sizes after decoding, in bytes of UTF-8.
 */
export const JobSubmission = Closed({
  ...programMembers,
  stdin: Type.Optional(
    Nullable(
      Type.Union([Type.String({ description: 'At most 1 MiB as UTF-8.' }), ...NamedStdin.anyOf], {
        description:
          'A text of at most 1 MiB as UTF-8, or bytes that are named as those of a file are, at most 64 MiB; without it, or ' +
          'null, stdin is at its end.',
      }),
    ),
  ),
  build: Type.Optional(Build),
  interactor: Type.Optional(Interactor),
  tools: Type.Optional(Tools),
  tool_limits: Type.Optional(ToolLimitsInput),
  tool_principals: Type.Optional(ToolPrincipals),
  session: Type.Optional(SessionStep),
  libraries: Type.Optional(Libraries),
  labels: Type.Optional(Labels),
  sign_labels: Type.Optional(Type.Boolean({ description: 'Puts the labels into the receipt too, which is signed.' })),
  promise: Type.Optional(Type.Boolean({ description: 'Asks for a promise that the log answers for the job in time.' })),
});
export type JobSubmission = Static<typeof JobSubmission>;

/** The other job of a pair whose programs talk to each other, and this job's role in the pair. */
export const Interaction = Type.Object({ peer: JobId, role: Type.Enum(['program', 'interactor']) });

export const RequestedLimitsSchema = Each(LIMIT_NAMES, Type.Number());

/**
 * The complete clamped specification, as stored and shown. `requirements.minimum_isolation` is `none` if none was
 * requested.
 */
export const RequestedSpec = Type.Object({
  language: LanguageName,
  code: Type.String(),
  stdin: Nullable(Type.String()),
  named_stdin: Type.Optional(StoredStdin),
  args: ProgramArguments,
  env: ProgramVariables,
  files: Type.Array(StoredFile),
  outputs: Type.Array(OutputPath),
  /** Present only if the submission asked for large outputs. */
  large_outputs: Type.Optional(StoredLargeOutputs),
  /** Present only if nothing runs except the compiler. */
  build: Type.Optional(StoredBuild),
  /** Present only if an earlier job built the program. The product is then among the files. */
  product: Type.Optional(StoredProduct),
  runtime: Nullable(Type.String()),
  requirements: StoredRequirements,
  limits: RequestedLimitsSchema,
  reproducible: Type.Optional(Type.Literal(true)),
  interaction: Type.Optional(Interaction),
  /** Present only if the submission asked for a promise. */
  promise: Type.Optional(Type.Literal(true)),
  /** Present only if the job has labels. */
  labels: Type.Optional(Type.Array(Type.String())),
  /** Present only if the receipt states the labels. */
  sign_labels: Type.Optional(Type.Literal(true)),
  /** Present only for a step of a session. */
  session: Type.Optional(SessionStep),
  /** Present only if the program may call tools. */
  tools: Type.Optional(StoredTools),
});
export type RequestedSpec = Static<typeof RequestedSpec>;

/** A specification that an older version may have stored: migrated rows may lack members and limits. */
export const StoredSpec = Type.Partial(
  Type.Object({ ...RequestedSpec.properties, limits: Type.Partial(RequestedLimitsSchema) }),
);
export type StoredSpec = Static<typeof StoredSpec>;
