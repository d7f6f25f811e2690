/** The tools that a program may call. A call leaves the cell only as an event, and a caller answers that event. */
import {
  principalCharsMax,
  TOOL_LIMIT_CEILINGS,
  TOOL_LIMIT_DEFAULTS,
  TOOL_LIMIT_NAMES,
  type ToolLimitName,
  toolDescriptionCharsMax,
  toolPrincipalsMax,
  toolSchemaBytesMax,
  toolSchemaDepthMax,
  toolsMax,
} from './limits.ts';
import { Timestamp } from './spellings.ts';
import { Closed, Each, Nullable, type Static, Type } from './type.ts';

/** The name of a tool. A leading underscore is refused, because such a name has a special meaning in programming languages. */
const toolName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
  description: 'The name by which the program calls it.',
});

function toolSchema(of: string) {
  return Type.Optional(
    Type.Record(Type.String({ pattern: '^' }), Type.Unknown(), {
      description:
        `The JSON Schema (2020-12) of ${of}. All of a submission have at most ${toolSchemaBytesMax / 1024} KiB, and a depth of at most ` +
        `${toolSchemaDepthMax}. \`$ref\` points into the same schema; \`pattern\`, \`format\` and unknown keywords are refused.`,
    }),
  );
}

export const Tool = Closed({
  name: toolName,
  description: Type.Optional(Type.String({ maxLength: toolDescriptionCharsMax })),
  arguments: toolSchema('the arguments of a call'),
  result: toolSchema('its result'),
});
export type Tool = Static<typeof Tool>;

export const Tools = Type.Array(Tool, {
  minItems: 1,
  maxItems: toolsMax,
  description: 'Tools that the program may call. Each call is an event, which whoever submitted the job answers.',
});

function bounds(name: ToolLimitName, what: string) {
  const description = `${what}; ${TOOL_LIMIT_DEFAULTS[name]} if omitted, clamped to ${TOOL_LIMIT_CEILINGS[name]}.`;
  return Type.Optional(Type.Number({ exclusiveMinimum: 0, description }));
}

/** The requested bounds on tool calls. They may be any positive numbers, as for other limits. */
export const ToolLimitsInput = Closed({
  calls: bounds('calls', 'How many calls of tools the program may make'),
  call_bytes: bounds('call_bytes', 'Bytes of one call, and of one answer'),
  total_bytes: bounds('total_bytes', 'Bytes of all calls, and of all answers'),
});
export type ToolLimitsInput = Static<typeof ToolLimitsInput>;

export const ToolPrincipals = Type.Array(Type.String({ minLength: 1, maxLength: principalCharsMax }), {
  maxItems: toolPrincipalsMax,
  description: 'Principals of the tenant that may answer calls of tools, beside the one that submits.',
});

/** The bounds on tool calls that are in force. */
export const ToolLimitsSchema = Each(TOOL_LIMIT_NAMES, Type.Integer());

/** The tools that a program may call, the principals that may answer, and the bounds on its calls. */
export const StoredTools = Type.Object({
  tools: Type.Array(Tool),
  answered_by: Type.Array(Type.String()),
  limits: ToolLimitsSchema,
});
export type StoredTools = Static<typeof StoredTools>;

/** A call that nobody has answered. */
export const OpenToolCall = Type.Object({
  seq: Type.Integer({ minimum: 1, description: 'The number of its event, by which it is answered.' }),
  timestamp: Timestamp,
  tool: Type.String(),
  arguments: Type.Unknown(),
});
export type OpenToolCall = Static<typeof OpenToolCall>;

export const ToolCalls = Type.Object({
  calls: Type.Array(OpenToolCall),
  next_cursor: Nullable(
    Type.Integer({ description: 'The last `seq` of the page, or `after`. Null once the job has ended.' }),
  ),
});
export type ToolCalls = Static<typeof ToolCalls>;

/** The outcome of a call. An answer has exactly one of the two members. */
const outcome = {
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.String({ description: 'Why the tool failed. The program gets it as an error.' })),
};

export const ToolAnswer = Closed(outcome, {
  description: 'The `result` of the call, any JSON value, or an `error`.',
});
export type ToolAnswer = Static<typeof ToolAnswer>;

/** An answer that a client sends over the stream. */
export const StreamedToolAnswer = Closed({
  call_seq: Type.Integer({ minimum: 1, description: 'The number of the event of the call.' }),
  ...outcome,
});
export type StreamedToolAnswer = Static<typeof StreamedToolAnswer>;

export const ToolAnswerTaken = Type.Object({
  call_seq: Type.Integer({ minimum: 1 }),
  seq: Type.Integer({ minimum: 1, description: 'The number of the event of the answer.' }),
  replayed: Type.Boolean({ description: 'Whether the same answer was taken before.' }),
});
export type ToolAnswerTaken = Static<typeof ToolAnswerTaken>;

/** A frame that tells the stream's client that its message was not an acceptable answer. */
export const AnswerRefused = Type.Object({
  answer_refused: Type.Object({
    call_seq: Type.Integer({ minimum: 1 }),
    code: Type.String(),
    message: Type.String(),
    retryable: Type.Boolean(),
  }),
});
export type AnswerRefused = Static<typeof AnswerRefused>;
