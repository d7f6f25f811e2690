/** Every number in the contract. Each name states the unit. Spec § Limits. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The five resource limits of a job, in the order in which they are always listed. */
export const LIMIT_NAMES = ['wall_seconds', 'cpu_seconds', 'mem_mb', 'max_pids', 'max_file_mb'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** All limits of a job after defaults and clamping. The service will try to enforce these. */
export type RequestedLimits = Record<LimitName, number>;
/** The limits that were read back from the kernel or that the service enforces itself; null for any other limit. */
export type EffectiveLimits = Record<LimitName, number | null>;
/** Which limits were in force while the program ran. */
export type LimitEnforcement = Record<LimitName, boolean>;

/** Limits that may be fractional; the others are whole numbers. */
export const FRACTIONAL_LIMITS: ReadonlySet<LimitName> = new Set<LimitName>(['wall_seconds', 'cpu_seconds']);

/** The value of a limit that a submission omits. */
export const LIMIT_DEFAULTS: Readonly<RequestedLimits> = {
  wall_seconds: 10,
  cpu_seconds: 5,
  mem_mb: 256,
  max_pids: 64,
  max_file_mb: 16,
};

/** The value of a limit that a build omits: enough for a compiler that reads all of a standard library. */
export const BUILD_LIMIT_DEFAULTS: Readonly<RequestedLimits> = {
  wall_seconds: 60,
  cpu_seconds: 30,
  mem_mb: 1024,
  max_pids: 64,
  max_file_mb: 64,
};

/** The value to which a larger limit is clamped, unless the operator sets other ceilings. */
export const LIMIT_CEILINGS: Readonly<RequestedLimits> = {
  wall_seconds: 300,
  cpu_seconds: 120,
  mem_mb: 1024,
  max_pids: 256,
  max_file_mb: 64,
};

/** The limits on a job's tool calls: the number of calls, the bytes of one call, and the bytes of all calls, as written. */
export const TOOL_LIMIT_NAMES = ['calls', 'call_bytes', 'total_bytes'] as const;
export type ToolLimitName = (typeof TOOL_LIMIT_NAMES)[number];
export type ToolLimits = Record<ToolLimitName, number>;
export const TOOL_LIMIT_DEFAULTS: Readonly<ToolLimits> = {
  calls: 256,
  call_bytes: 256 * KIB,
  total_bytes: 4 * MIB,
};
export const TOOL_LIMIT_CEILINGS: Readonly<ToolLimits> = { ...TOOL_LIMIT_DEFAULTS, calls: 10_000 };

/** The limits whose effective value differs from the requested value, each with both values. */
export function clampedLimits(
  asked: Readonly<Partial<Record<LimitName, number>>>,
  held: Readonly<Partial<EffectiveLimits>>,
): readonly (readonly [name: LimitName, asked: number, held: number])[] {
  return LIMIT_NAMES.flatMap((name) => {
    const [wanted, given] = [asked[name], held[name] ?? null];
    return wanted === undefined || given === null || wanted === given ? [] : [[name, wanted, given] as const];
  });
}

// The submission.
export const codeBytesMax = MIB;
export const stdinBytesMax = MIB;
export const bodyBytesMax = 24 * MIB;
/** The bound on an optional body that has no members. */
export const emptyBodyBytesMax = KIB;
export const filesMax = 32;
export const fileBytesMax = 2 * MIB;
export const filesTotalBytesMax = 4 * MIB;
/** The bytes of a blob, a file that is uploaded before the submission that names it. */
export const blobBytesMax = 64 * MIB;
/** The bytes of all input files together, for a job that names a blob. */
export const namedFilesTotalBytesMax = 64 * MIB;
/** A job's unpacked libraries: their bytes, counted in pages of 4 KiB, and their files and directories. The archive is a blob. */
export const librariesBytesMax = 512 * MIB;
export const librariesEntriesMax = 50_000;
/** The most bytes of all of a job's large outputs together. A single output may have just as many bytes. */
export const largeOutputsBytesMax = 64 * MIB;
/** The bytes of the product of a build. */
export const productBytesMax = 16 * MIB;
/** The bytes of a path. They are less than PATH_MAX, to leave room for the path where the workspace is mounted. */
export const pathBytesMax = 1024;
/** The bytes of one path component. This is Linux's NAME_MAX, since no file system here takes a longer component. */
export const pathComponentBytesMax = 255;
export const runtimeNameCharsMax = 128;
/** The most libraries that are named for one runtime pack. */
export const librariesMax = 500;
/** How many arguments and variables a program may have, and the bytes of UTF-8 of each and of all together. */
export const argsMax = 64;
/** How many options a build may have. */
export const buildOptionsMax = 32;
export const envMax = 64;
export const wordBytesMax = 4 * KIB;
export const wordsTotalBytesMax = 32 * KIB;
export const variableNameCharsMax = 128;
export const idempotencyKeyBytesMax = 128;
/** The deepest JSON nesting and the most tokens. Both are counted before `JSON.parse`, which takes seconds on hostile nesting. */
export const jsonDepthMax = 32;
/** How many labels a job may have, and how many characters a label may have. */
export const labelsMax = 16;
export const labelCharsMax = 64;
export const jsonTokensMax = 2000;

// Tools.
export const toolsMax = 64;
export const toolDescriptionCharsMax = 1024;
/** The bytes of all tool schemas in a submission, as canonical JSON, and the depth of one schema. */
export const toolSchemaBytesMax = 16 * KIB;
export const toolSchemaDepthMax = 16;
export const toolPrincipalsMax = 16;
export const principalCharsMax = 256;
/** The JSON tokens of a submission: tools and their schemas need more tokens than other bodies. */
export const submissionTokensMax = 10_000;
/** The bytes of a tool's answer before it becomes canonical JSON, and the tokens of its JSON. */
export const toolAnswerBodyBytesMax = MIB;
export const toolTokensMax = 20_000;
/** A stream is closed after this many answers that changed nothing. */
export const idleAnswersMax = 256;

// A grading.
export const gradingProgramsMax = 1000;
export const gradingTestsMax = 1000;
export const gradingGroupsMax = 100;
export const gradingValidatorsMax = 8;
export const gradingPointsMax = 1e9;
/** The number of programs times the number of tests. */
export const gradingRunsMax = 50_000;
/** The JSON tokens in a grading's body. */
export const gradingTokensMax = 400_000;
/** The bytes of all expected outputs of a grading together. */
export const gradingExpectedBytesMax = 64 * MIB;

// Recorded output, per stream.
export const streamBytesMax = MIB;
export const streamRecordsMax = 10_000;
export const recordBytesMax = 16 * KIB;

// Pages and waits.
export const listLimitMax = 200;
export const listLimitDefault = 50;
export const replayLimitMax = 1000;
export const replayLimitDefault = 500;
export const waitSecondsMax = 300;
/** The most characters in a cursor and in a ticket. Every cursor and ticket ever issued is shorter. */
export const cursorCharsMax = 512;
export const ticketCharsMax = 128;

// Transport.
export const connectionsMax = 256;
export const headMillisecondsMax = 30_000;
export const headBytesMax = 16 * KIB;
export const bodyMillisecondsMax = 30_000;
/** While permits for bodies are scarce, a request is ended if its body has taken this long and is slower than this rate. */
export const bodyUnhurriedMilliseconds = 5000;
export const bodyBytesPerSecondMin = KIB;
export const writeProgressMillisecondsMax = 30_000;
export const connectionMillisecondsMax = 600_000;
export const responsePumpBytes = 64 * KIB;

// Streams.
export const streamTicketSeconds = 30;
export const streamPingMilliseconds = 20_000;

// Links.
export const linkBodyBytesMax = 4 * KIB;
export const linkSecondsMin = 60;
export const linkSecondsDefault = 86_400;
export const linkSecondsMax = 7 * 86_400;
/** The most links to one job, not counting links that have ended. */
export const linksOfJobMax = 20;
export const linksOfTenantMax = 1000;

// Evidence.
export const resultArtifactBytesMax = 16 * MIB;
export const envelopeBytesMax = 2 * MIB;
