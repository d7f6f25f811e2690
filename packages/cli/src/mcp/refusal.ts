/** How a tool says that nothing ran. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { told } from './told-text.ts';

/** Answers a refusal of the service, or its silence, as a tool's error, which the model can read and act on. */
export async function refusing(work: Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceFailure) return toolError(`${told(error.message)} (${told(error.code)})`);
    if (error instanceof TransportFailure)
      return toolError(`The service gave no usable answer: ${told(error.message)}`);
    throw error;
  }
}

export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
