/** Every number of the contract, with its unit in its name. Spec § Limits. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The five resource limits of a job, in the order in which they are always listed. */
export const LIMIT_NAMES = ['wall_seconds', 'cpu_seconds', 'mem_mb', 'max_pids', 'max_file_mb'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** A complete set of limits after defaults and clamping: what the service will try to enforce for a job. */
export type RequestedLimits = Record<LimitName, number>;
/** The limits that were read back from the kernel or that the service enforces itself; null if one is not enforced. */
export type EffectiveLimits = Record<LimitName, number | null>;
/** Which limits were in force while the program ran. */
export type LimitEnforcement = Record<LimitName, boolean>;

/** Limits that may be fractional; the others are whole numbers. */
export const FRACTIONAL_LIMITS: ReadonlySet<LimitName> = new Set<LimitName>(['wall_seconds', 'cpu_seconds']);

/** The value of a limit that is omitted. */
export const LIMIT_DEFAULTS: Readonly<RequestedLimits> = {
  wall_seconds: 10,
  cpu_seconds: 5,
  mem_mb: 256,
  max_pids: 64,
  max_file_mb: 16,
};

/** The same for a build: enough for a compiler that reads all of a standard library. */
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

/** The bounds of a job's calls of tools: their number, and the bytes of one and of all as they were written. */
export const TOOL_LIMIT_NAMES = ['calls', 'call_bytes', 'total_bytes'] as const;
export type ToolLimitName = (typeof TOOL_LIMIT_NAMES)[number];
export type ToolLimits = Record<ToolLimitName, number>;
export const TOOL_LIMIT_DEFAULTS: Readonly<ToolLimits> = {
  calls: 256,
  call_bytes: 256 * KIB,
  total_bytes: 4 * MIB,
};
export const TOOL_LIMIT_CEILINGS: Readonly<ToolLimits> = { ...TOOL_LIMIT_DEFAULTS, calls: 10_000 };

/** The limits that do not hold as the submission asks, each with the asked and the effective value. */
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
/** The bound of an optional body that has no members. */
export const emptyBodyBytesMax = KIB;
export const filesMax = 32;
export const fileBytesMax = 2 * MIB;
export const filesTotalBytesMax = 4 * MIB;
/** A blob, which is a file that was uploaded before the submission that names it. */
export const blobBytesMax = 64 * MIB;
/** All input files of a job that names a blob, together. */
export const namedFilesTotalBytesMax = 64 * MIB;
/** Libraries of a job once they are unpacked: in pages of 4 KiB, and in files and directories. Packed they are a blob. */
export const librariesBytesMax = 512 * MIB;
export const librariesEntriesMax = 50_000;
/** All large outputs of a job together, and so each of them. */
export const largeOutputsBytesMax = 64 * MIB;
/** The products of builds. */
export const productBytesMax = 16 * MIB;
/** Below PATH_MAX, with room for the path at which the workspace is mounted. */
export const pathBytesMax = 1024;
/** Linux NAME_MAX: no file system here takes a longer component. */
export const pathComponentBytesMax = 255;
export const runtimeNameCharsMax = 128;
/** The most libraries that are named of one runtime pack. */
export const librariesMax = 500;
/** Arguments and variables of a program: how many, and how long one and all of them may be, in bytes of UTF-8. */
export const argsMax = 64;
/** Options of a build. */
export const buildOptionsMax = 32;
export const envMax = 64;
export const wordBytesMax = 4 * KIB;
export const wordsTotalBytesMax = 32 * KIB;
export const variableNameCharsMax = 128;
export const idempotencyKeyBytesMax = 128;
/** Nesting and size of a JSON body, counted before parsing: `JSON.parse` of hostile nesting takes seconds. */
export const jsonDepthMax = 32;
/** Labels of one job, and characters of each. */
export const labelsMax = 16;
export const labelCharsMax = 64;
export const jsonTokensMax = 2000;

// Tools.
export const toolsMax = 64;
export const toolDescriptionCharsMax = 1024;
/** All schemas of a submission, as canonical JSON; and how deep one may be. */
export const toolSchemaBytesMax = 16 * KIB;
export const toolSchemaDepthMax = 16;
export const toolPrincipalsMax = 16;
export const principalCharsMax = 256;
/** A submission with tools and their schemas has more tokens than another. */
export const submissionTokensMax = 10_000;
/** An answer, before it is brought into its canonical form; and what its JSON may have. */
export const toolAnswerBodyBytesMax = MIB;
export const toolTokensMax = 20_000;
/** Answers of one stream that changed nothing, after which it is closed. */
export const idleAnswersMax = 256;

// A grading.
export const gradingProgramsMax = 1000;
export const gradingTestsMax = 1000;
export const gradingGroupsMax = 100;
export const gradingValidatorsMax = 8;
export const gradingPointsMax = 1e9;
/** Programs times tests. */
export const gradingRunsMax = 50_000;
/** Tokens of its JSON. */
export const gradingTokensMax = 400_000;
/** The expected outputs of all its tests, together. */
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
/** Longer than any cursor or ticket that was ever issued. */
export const cursorCharsMax = 512;
export const ticketCharsMax = 128;

// Transport.
export const connectionsMax = 256;
export const headMillisecondsMax = 30_000;
export const headBytesMax = 16 * KIB;
export const bodyMillisecondsMax = 30_000;
/** A body of this age and less than this rate ends while places for bodies are scarce. */
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
/** The most links to a job that have not ended. */
export const linksOfJobMax = 20;
export const linksOfTenantMax = 1000;

// Evidence.
export const resultArtifactBytesMax = 16 * MIB;
export const envelopeBytesMax = 2 * MIB;
