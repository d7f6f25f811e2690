/**
 * Makes the client's types from the contract's schemas. They are plain TypeScript and need no other package, so a program that
 * installs only the client has every type.
 */
import {
  ArtifactRecord,
  AUTH_METHODS,
  BACKENDS,
  COMPONENT_SCHEMAS,
  ERROR_CODES,
  EVENT_DATA,
  ISOLATION_CLASSES,
  JOB_STATUSES,
  LANGUAGES,
  NETWORKING,
  OutputRecord,
  ProgramUsage,
  ResourceUsage,
  RuntimeIdentity,
  SCOPES,
  SECCOMP_MODES,
  STREAM_NAMES,
  SUBMISSION_INCLUDES,
  TERMINAL_REASONS,
  TERMINAL_STATUSES,
  Truncation,
  VIOLATION_TYPES,
} from '@vouchbox/protocol';

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

/** Lists of words that have a name. A list must come before any longer list that contains it. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  TerminalStatus: TERMINAL_STATUSES,
  JobStatus: JOB_STATUSES,
  TerminalReason: TERMINAL_REASONS,
  Language: LANGUAGES,
  IsolationClass: ISOLATION_CLASSES,
  Backend: BACKENDS,
  Networking: NETWORKING,
  SeccompMode: SECCOMP_MODES,
  ViolationType: VIOLATION_TYPES,
  StreamName: STREAM_NAMES,
  AuthMethod: AUTH_METHODS,
  Scope: SCOPES,
  SubmissionInclude: SUBMISSION_INCLUDES,
  ErrorCode: ERROR_CODES,
};

/** Schemas whose types are written by hand here. */
const LEFT_OUT = new Set(['JobEvent', 'ErrorEnvelope', 'CancellationAnswer']);

/** Every schema that has a name. A schema is recognised by its text, because making it optional copies the object. */
const NAMED = {
  ...COMPONENT_SCHEMAS,
  ArtifactRecord,
  OutputRecord,
  Truncation,
  ResourceUsage,
  ProgramUsage,
  RuntimeIdentity,
};
const NAME_BY_TEXT = new Map(Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(schema), name]));

const CANCELLATION = `/** The job as it now is. */
export interface CancellationAnswer extends JobDetail {
  /** Whether it had ended before the request. */
  already_terminal: boolean;
}
`;

/** If an unknown event's kind were a plain string, TypeScript could not tell known kinds from unknown ones. */
const EVENTS = `/** An event's kind that is not a known one. It is text: compare it as \`String(event.kind)\`. */
export declare enum UnknownKind {
  any = 'a kind that this version of the client does not know',
}

interface EventMembers {
  job_id: string;
  /** 1 for the first event of a job. */
  seq: number;
  timestamp: string;
  hash_version: number;
  prev_hash: string | null;
  event_hash: string | null;
}

/** An event of a known kind. */
export type KnownEvent = { [Kind in EventKind]: EventMembers & { kind: Kind; data: EventData[Kind] } }[EventKind];

/** An event of a kind that a newer service added. It comes unchanged. */
export type UnknownEvent = EventMembers & { kind: UnknownKind; data: unknown };

/** An event of a job's history. \`kind\` says what \`data\` is. */
export type JobEvent = KnownEvent | UnknownEvent;
`;

/** The text of the module that is checked in. */
export function clientTypes(): string {
  const words = Object.entries(WORDS).map(([name, list]) => `export type ${name} = ${quoted(list)};\n`);
  const bodies = Object.entries(NAMED)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, schema]) => `export interface ${name} ${definitionOf(plain(schema))}\n`);
  const kinds = Object.entries(EVENT_DATA).map(([kind, schema]) => `${kind}: ${typeOf(plain(schema))};`);
  return [
    '/** The words and bodies of the contract as types. `npm run openapi` writes this file from the tables of the contract. */\n',
    ...words,
    ...bodies,
    CANCELLATION,
    `/** The data of each kind of event. */\nexport interface EventData {\n${kinds.join('\n')}\n}\n`,
    'export type EventKind = keyof EventData;\n',
    EVENTS,
  ].join('\n');
}

function plain(schema: unknown): Schema {
  return JSON.parse(JSON.stringify(schema)) as Schema;
}

function typeOf(schema: Schema): string {
  return NAME_BY_TEXT.get(JSON.stringify(schema)) ?? definitionOf(schema);
}

function definitionOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return nameOf(schema.enum) ?? quoted(schema.enum);
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.items !== undefined) return `Array<${typeOf(schema.items)}>`;
  if (schema.properties !== undefined) return membersOf(schema, schema.properties);
  if (schema.patternProperties !== undefined) {
    return `Record<string, ${Object.values(schema.patternProperties).map(typeOf).join(' | ')}>`;
  }
  return schema.type === 'integer' ? 'number' : (schema.type ?? 'unknown');
}

function membersOf({ required = [] }: Schema, properties: Readonly<Record<string, Schema>>): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const description = descriptionOf(schema);
    const comment = description === undefined ? '' : commentOf(description);
    return `${comment}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`;
  });
  return `{\n${members.join('\n')}\n}`;
}

function commentOf(description: string): string {
  if (description.length <= 100) return `/** ${description} */\n`;
  const lines = description.match(/.{1,100}(?= |$)/g) ?? [];
  return `/**\n${lines.map((line) => ` * ${line.trim()}\n`).join('')} */\n`;
}

function descriptionOf({ description, anyOf = [] }: Schema): string | undefined {
  return description ?? anyOf.find((each) => each.description !== undefined)?.description;
}

function nameOf(list: readonly string[]): string | undefined {
  return Object.keys(WORDS).find((name) => WORDS[name]?.join() === list.join());
}

function quoted(list: readonly string[]): string {
  return list.map((word) => `'${word}'`).join(' | ');
}
