/** How a tool is offered to agents, and how it says that nothing ran. */
import {
  type CallToolResult,
  fromJsonSchema,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import type { Static, TSchema } from '@vouchbox/protocol';
import { told } from './told-text.ts';

export interface Tool<Input extends TSchema> {
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** The form of the structured content of its answers. */
  readonly output: TSchema;
  readonly annotations: ToolAnnotations;
  /** A refusal of the service, or its silence, becomes the tool's error, which the model can read and act on. */
  readonly run: (asked: Static<Input>, context: ServerContext) => Promise<CallToolResult>;
}

export function addTool<Input extends TSchema>(
  server: McpServer,
  name: string,
  { title, description, input, output, annotations, run }: Tool<Input>,
): void {
  const inputSchema = fromJsonSchema<Static<Input>>(input as never);
  const about = { title, description, inputSchema, outputSchema: fromJsonSchema(output as never), annotations };
  server.registerTool(name, about, (asked, context) => run(asked, context).catch(toolErrorOf));
}

/** Lets a call that is cancelled cancel what it has begun. */
export function cancelWith(signal: AbortSignal, cancel: () => Promise<unknown>): void {
  const end = () => void cancel().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
}

function toolErrorOf(error: unknown): CallToolResult {
  if (error instanceof ServiceFailure) return toolError(`${told(error.message)} (${told(error.code)})`);
  if (error instanceof TransportFailure) return toolError(`The service gave no usable answer: ${told(error.message)}`);
  throw error;
}

function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
