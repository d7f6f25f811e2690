/** How a tool is offered to agents, and how the tool's answer says that nothing ran. */
import {
  type CallToolResult,
  fromJsonSchema,
  type McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { misfitOf, type Static, type TSchema } from '@vouchbox/protocol';
import { transportLine } from '../failures/tell-failure.ts';
import { told } from './told-text.ts';

export interface Tool<Input extends TSchema> {
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** The form of the structured content in the tool's answers. */
  readonly output: TSchema;
  readonly annotations: ToolAnnotations;
  /** If the service refuses or does not answer, the tool answers with an error that the model can read and act on. */
  readonly run: (asked: Static<Input>, context: ServerContext) => Promise<CallToolResult>;
}

export function addTool<Input extends TSchema>(
  server: McpServer,
  name: string,
  { title, description, input, output, annotations, run }: Tool<Input>,
): void {
  const inputSchema = namingUnknown(input, fromJsonSchema<Static<Input>>(input as never));
  const about = { title, description, inputSchema, outputSchema: fromJsonSchema(output as never), annotations };
  server.registerTool(name, about, (asked, context) => run(asked, context).catch(toolErrorOf));
}

/** Names an unknown argument in the error, because the library only says that there is one argument too many. */
function namingUnknown<T>(input: TSchema, checked: StandardSchemaWithJSON<T, T>): StandardSchemaWithJSON<T, T> {
  const standard = checked['~standard'];
  const validate = (value: unknown) => {
    const misfit = misfitOf(input, value);
    if (misfit?.keyword !== 'unknown') return standard.validate(value);
    return { issues: [{ message: `${told(misfit.pointer)} is no argument` }] };
  };
  return { '~standard': { ...standard, validate } };
}

/** If a call is cancelled, also cancels what the call has begun. */
export function cancelWith(signal: AbortSignal, cancel: () => Promise<unknown>): void {
  const end = () => void cancel().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
}

function toolErrorOf(error: unknown): CallToolResult {
  if (error instanceof ServiceFailure) return toolError(`${told(error.message)} (${told(error.code)})`);
  if (error instanceof TransportFailure)
    return toolError(`The service gave no usable answer: ${told(transportLine(error))}`);
  throw error;
}

function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
