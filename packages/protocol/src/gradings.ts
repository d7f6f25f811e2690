/**
 * A grading: one request to run programs against tests. The service turns it into jobs. This module has the body of the
 * request and the view of the grading's owner; `grading.ts` has the judge. Spec § Gradings.
 */
import { BlobName } from './blob.ts';
import { COMPARISONS, VERDICT_SCHEMA } from './grading.ts';
import { EXIT_CODES, VERDICT_SCHEMA_2 } from './grading-record.ts';
import {
  filesMax,
  gradingGroupsMax,
  gradingPointsMax,
  gradingProgramsMax,
  gradingTestsMax,
  gradingValidatorsMax,
  runtimeNameCharsMax,
} from './limits.ts';
import { ProgramArguments, ProgramVariables } from './program-words.ts';
import { JobId, Sha256, Timestamp } from './spellings.ts';
import { LanguageName, LimitsInput, Requirements, SubmittedFile } from './submission.ts';
import { Closed, Nullable, type Static, Type } from './type.ts';

/** A text in the body, or the name of an uploaded one. */
export const GradingText = Type.Union([Type.String(), Closed({ blob: BlobName })]);
export type GradingText = Static<typeof GradingText>;

export const VERDICT_SCHEMAS = [VERDICT_SCHEMA, VERDICT_SCHEMA_2] as const;

const Name = Type.String({ minLength: 1, maxLength: 256 });

const Runtime = Type.Optional(
  Nullable(Type.String({ minLength: 1, maxLength: runtimeNameCharsMax, description: 'Name of a runtime pack.' })),
);

const Files = Type.Optional(
  Type.Array(SubmittedFile, {
    maxItems: filesMax,
    description: 'Files, as a job has them; those of a program go to each of its tests.',
  }),
);

export const GradingProgram = Closed({
  name: Type.Optional(Name),
  language: Type.String(),
  code: GradingText,
  env: Type.Optional(ProgramVariables),
  files: Files,
  runtime: Runtime,
});
export type GradingProgram = Static<typeof GradingProgram>;

export const Comparing = Type.Union(
  [
    Type.Enum([...COMPARISONS]),
    Closed({
      floats: Closed({
        absolute: Type.Optional(Type.Number({ minimum: 0 })),
        relative: Type.Optional(Type.Number({ minimum: 0 })),
      }),
    }),
  ],
  { description: '`lines` if left out.' },
);

export const GradingTest = Closed({
  name: Name,
  stdin: Type.Optional(GradingText),
  args: Type.Optional(ProgramArguments),
  files: Files,
  expected: Type.Optional(GradingText),
  compare: Type.Optional(Comparing),
  points: Type.Optional(Type.Number({ minimum: 0, maximum: gradingPointsMax, description: '1 if left out.' })),
  group: Type.Optional(Name),
  env: Type.Optional(ProgramVariables),
  checker_args: Type.Optional(ProgramArguments),
});
export type GradingTest = Static<typeof GradingTest>;

const { name: _, ...graderMembers } = GradingProgram.properties;

/** A checker, an interactor or a validator. */
export const GraderProgram = Closed({
  ...graderMembers,
  codes: Type.Optional(Type.Enum([...EXIT_CODES], { description: '`testlib` if left out.' })),
  args: Type.Optional(ProgramArguments),
  limits: Type.Optional(LimitsInput),
});

export type GraderProgram = Static<typeof GraderProgram>;

export const GradingGroup = Closed({
  name: Name,
  score: Type.Optional(Type.Enum(['sum', 'minimum'], { description: '`sum` if left out.' })),
  points: Type.Optional(Type.Number({ minimum: 0, description: 'Points of a group whose smallest part counts.' })),
  after: Type.Optional(
    Type.Array(Name, { maxItems: gradingGroupsMax, description: 'Groups that are listed before it.' }),
  ),
  stop: Type.Optional(Type.Boolean({ description: 'Whether the first test that wins nothing ends the group.' })),
});

export const GradingSubmission = Closed({
  programs: Type.Array(GradingProgram, {
    minItems: 1,
    maxItems: gradingProgramsMax,
    description: 'Every program runs against every test. Several programs may have one name.',
  }),
  tests: Type.Array(GradingTest, {
    minItems: 1,
    maxItems: gradingTestsMax,
    description: 'Tests with unique names.',
  }),
  checker: Type.Optional(GraderProgram),
  verdict: Type.Optional(
    Type.Enum([...VERDICT_SCHEMAS], {
      description: `The schema of the verdicts; \`${VERDICT_SCHEMA}\` if left out. The members below need the other.`,
    }),
  ),
  interactor: Type.Optional(GraderProgram),
  groups: Type.Optional(Type.Array(GradingGroup, { minItems: 1, maxItems: gradingGroupsMax })),
  stop: Type.Optional(
    Type.Boolean({ description: 'Without groups: whether the first test that wins nothing ends the grading.' }),
  ),
  validators: Type.Optional(Type.Array(GraderProgram, { maxItems: gradingValidatorsMax })),
  limits: Type.Optional(LimitsInput),
  requirements: Type.Optional(Requirements),
});
export type GradingSubmission = Static<typeof GradingSubmission>;

export const GRADING_STATUSES = ['running', 'finished', 'failed', 'cancelled'] as const;
export type GradingStatus = (typeof GRADING_STATUSES)[number];

export const PROGRAM_STATUSES = ['waiting', 'judged', 'failed', 'cancelled'] as const;
export type ProgramStatus = (typeof PROGRAM_STATUSES)[number];

const GradingId = Type.String({ description: 'The id of a grading: opaque, and no authorization by itself.' });

/** The report on a program. It exists once the program's judge has ended. */
export const ProgramVerdict = Type.Object({
  accepted: Type.Boolean(),
  points: Type.Number(),
  points_max: Type.Number(),
  /** The job that judged. Its attestation signs the verdict. */
  job_id: JobId,
  receipt_sha256: Sha256,
  verdict_sha256: Type.String({ description: 'The digest of `output/verdict.json`, an output of that job.' }),
});
export type ProgramVerdict = Static<typeof ProgramVerdict>;

export const ProgramState = Type.Object({
  name: Nullable(Type.String()),
  language: LanguageName,
  status: Type.Enum([...PROGRAM_STATUSES]),
  verdict: Nullable(ProgramVerdict),
  problem: Nullable(Type.String({ description: 'The reason if there is no verdict.' })),
});
export type ProgramState = Static<typeof ProgramState>;

const lifecycle = {
  grading_id: GradingId,
  status: Type.Enum([...GRADING_STATUSES]),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
  cancellation_requested: Type.Boolean(),
  programs: Type.Integer(),
  tests: Type.Integer(),
  runs: Type.Integer({ description: 'Tests of all programs together.' }),
  runs_ended: Type.Integer(),
};

export const GradingItem = Type.Object(lifecycle);
export type GradingItem = Static<typeof GradingItem>;

export const GradingList = Type.Object({
  items: Type.Array(GradingItem),
  next_cursor: Nullable(Type.String({ description: 'Null on the last page.' })),
});
export type GradingList = Static<typeof GradingList>;

const detailMembers = {
  ...lifecycle,
  graded: Type.Array(ProgramState, { description: 'The programs, in the order of the submission.' }),
};

export const GradingDetail = Type.Object(detailMembers);
export type GradingDetail = Static<typeof GradingDetail>;

/** The answer to DELETE: the grading as it now is, and whether it had already ended. */
export const GradingCancellation = Type.Object({ ...detailMembers, already_terminal: Type.Boolean() });
export type GradingCancellation = Static<typeof GradingCancellation>;

/** The answer to POST: the address of the new (or the earlier) grading. URLs are relative. */
export const GradingAnswer = Type.Object({
  grading_id: GradingId,
  status: Type.Literal('running'),
  created_at: Timestamp,
  grading_url: Type.String({ format: 'uri-reference' }),
  events_url: Type.String({ format: 'uri-reference' }),
});
export type GradingAnswer = Static<typeof GradingAnswer>;

export const GRADING_EVENT_KINDS = ['job', 'program', 'finished'] as const;

/** An event of a grading: a job ended, a program was judged, or the grading is over. */
export const GradingEvent = Type.Object({
  seq: Type.Integer({ description: '1 for the first event of a grading.' }),
  timestamp: Timestamp,
  kind: Type.Enum([...GRADING_EVENT_KINDS]),
  data: Type.Object({
    program: Type.Optional(Type.Integer({ description: 'Its place in `programs`, from 0.' })),
    name: Type.Optional(
      Nullable(Type.String({ description: 'The role of the job, such as `test 3`, or the name of the program.' })),
    ),
    test: Type.Optional(Nullable(Type.String({ description: 'The name of the test that the job ran.' }))),
    job_id: Type.Optional(JobId),
    terminal_reason: Type.Optional(Nullable(Type.String())),
    language: Type.Optional(LanguageName),
    status: Type.Optional(Type.String()),
    verdict: Type.Optional(Nullable(ProgramVerdict)),
    problem: Type.Optional(Nullable(Type.String())),
  }),
});
export type GradingEvent = Static<typeof GradingEvent>;

export const GradingEvents = Type.Object({
  items: Type.Array(GradingEvent),
  next_cursor: Nullable(Type.Integer({ description: 'Null once the last event was given.' })),
});
export type GradingEvents = Static<typeof GradingEvents>;
