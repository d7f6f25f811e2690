/**
 * An agent made with the OpenAI Agents SDK writes programs that call the agent's own tools. A program may call them as often
 * as it likes, and each call is recorded. Without `model: scriptedModel`, the agent asks an OpenAI model.
 */
import { Agent, type Model, RunContext, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import type { RunTools } from '@vouchbox/client';
import { z } from 'zod';
import { client } from './service.ts';

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4 };
const price = tool({
  name: 'price',
  description: 'The price of a fruit.',
  parameters: z.object({ fruit: z.string() }),
  errorFunction: null, // so the program gets the error that the tool throws
  execute: ({ fruit }) => prices[fruit] ?? Promise.reject(new Error(`no ${fruit} is sold`)),
});

/** The members that every tool has. They do not depend on the form of the arguments. */
interface Invocable {
  readonly name: string;
  readonly description: string;
  invoke(context: RunContext, words: string): Promise<unknown>;
}

/** The SDK's tools, as tools for a run. They check their arguments themselves. */
function inCode(tools: readonly Invocable[]): RunTools {
  const entries = tools.map((one) => {
    const execute = (given: unknown) => one.invoke(new RunContext(), JSON.stringify(given));
    return [one.name, { description: one.description, execute }];
  });
  return Object.fromEntries(entries);
}

const runCode = tool({
  name: 'run_code',
  description: 'Runs a Python program without a network. It may call tools.price(fruit="…").',
  parameters: z.object({ code: z.string() }),
  async execute({ code }, _context, details) {
    const tools = inCode([price]);
    const { stdout, stderr, exit_code } = await client.run(code, { tools, signal: details?.signal });
    return { stdout, stderr, exit_code };
  },
});

const code = `
total = 6 * tools.price(fruit="apple") + 6 * tools.price(fruit="pear")
try:
    tools.price(fruit="plum")
except tools.ToolError as error:
    print(total, error)`;

/** Writes the program, and then repeats what the program printed. */
const scriptedModel: Model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1);
    if (last?.type !== 'function_call_result') {
      const words = JSON.stringify({ code });
      return {
        usage: new Usage(),
        output: [{ type: 'function_call', callId: 'call-1', name: 'run_code', arguments: words }],
      };
    }
    const text = `The program printed ${JSON.stringify(last.output)}`;
    return {
      usage: new Usage(),
      output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }],
    };
  },
  getStreamedResponse() {
    throw new Error('this model does not stream');
  },
};

setTracingDisabled(true); // traces would be sent to OpenAI
const instructions = 'Compute with run_code.';
const agent = new Agent({ name: 'calculator', instructions, tools: [runCode], model: scriptedModel });
const { finalOutput } = await run(agent, 'What do six apples and six pears cost?');
console.log(finalOutput);
