/**
 * An agent made with the Vercel AI SDK writes programs that call the agent's own tools. A program may call them as often
 * as it likes, and each call is recorded. Replace the scripted model with any provider's model.
 */
import type { RunTools } from '@vouchbox/client';
import { generateText, isStepCount, type ToolSet, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { client } from './service.ts';

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4 };
const own = {
  price: tool({
    description: 'The price of a fruit.',
    inputSchema: z.object({ fruit: z.string() }),
    execute: ({ fruit }) => prices[fruit] ?? Promise.reject(new Error(`no ${fruit} is sold`)),
  }),
};

/** The AI SDK's tools, as tools for a run. The service gets each Zod schema and checks arguments against it. */
function inCode(tools: ToolSet): RunTools {
  const entries = Object.entries(tools).map(
    ([name, { description, inputSchema, execute }]): [string, RunTools[string]] => {
      const run: RunTools[string] = {
        description: typeof description === 'string' ? description : undefined,
        arguments: inputSchema as z.ZodType,
        execute: (given, { seq, signal }): unknown =>
          execute?.(given, { toolCallId: String(seq), messages: [], abortSignal: signal, context: undefined }),
      };
      return [name, run];
    },
  );
  return Object.fromEntries(entries);
}

const runCode = tool({
  description: 'Runs a Python program without a network. It may call tools.price(fruit="…").',
  inputSchema: z.object({ code: z.string() }),
  async execute({ code }, { abortSignal }) {
    const { stdout, stderr, exit_code } = await client.run(code, { tools: inCode(own), signal: abortSignal });
    return { stdout, stderr, exit_code };
  },
});

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const code = `
total = 6 * tools.price(fruit="apple") + 6 * tools.price(fruit="pear")
try:
    tools.price(fruit="plum")
except tools.ToolError as error:
    print(total, error)`;

/** Writes the program, and then repeats what the program printed. */
const scriptedModel = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const last = prompt.at(-1);
    const output = last?.role === 'tool' ? JSON.stringify(last.content) : null;
    return {
      content:
        output === null
          ? [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'runCode', input: JSON.stringify({ code }) }]
          : [{ type: 'text', text: `The program printed ${output}` }],
      finishReason: { unified: output === null ? 'tool-calls' : 'stop', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

const prompt = 'What do six apples and six pears cost?';
const { text } = await generateText({ model: scriptedModel, tools: { runCode }, stopWhen: isStepCount(5), prompt });
console.log(text);
