/**
 * An agent made with LangChain or deepagents writes programs that call the agent's own tools. A program may call them as
 * often as it likes, and each call is recorded. Replace the scripted model with any chat model that accepts tools.
 */
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import type { RunTools } from '@vouchbox/client';
import { createDeepAgent } from 'deepagents';
import { z } from 'zod';
import { client } from './service.ts';

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4 };
const price = tool(({ fruit }) => prices[fruit] ?? Promise.reject(new Error(`no ${fruit} is sold`)), {
  name: 'price',
  description: 'The price of a fruit.',
  schema: z.object({ fruit: z.string() }),
});

/** LangChain's tools, as tools for a run. They check their arguments themselves. */
function inCode(tools: readonly StructuredToolInterface[]): RunTools {
  const entries = tools.map((one): [string, RunTools[string]] => {
    const execute = (given: unknown, { signal }: { readonly signal: AbortSignal }): unknown =>
      one.invoke(given, { signal });
    return [one.name, { description: one.description, execute }];
  });
  return Object.fromEntries(entries);
}

const runCode = tool(
  async ({ code }, { signal }) => {
    const { stdout, stderr, exit_code } = await client.run(code, { tools: inCode([price]), signal });
    return JSON.stringify({ stdout, stderr, exit_code });
  },
  {
    name: 'run_code',
    description: 'Runs a Python program without a network. It may call tools.price(fruit="…").',
    schema: z.object({ code: z.string() }),
  },
);

const code = `
total = 6 * tools.price(fruit="apple") + 6 * tools.price(fruit="pear")
try:
    tools.price(fruit="plum")
except tools.ToolError as error:
    print(total, error)`;

/** Writes the program, and then repeats what the program printed. */
const scriptedModel = fakeModel()
  .respondWithTools([{ name: 'run_code', args: { code } }])
  .respond((messages) => new AIMessage(`The program printed ${messages.at(-1)?.text}`));

const agent = createDeepAgent({ model: scriptedModel, tools: [runCode] });
const { messages } = await agent.invoke({
  messages: [{ role: 'user', content: 'What do six apples and six pears cost?' }],
});
console.log(messages.at(-1)?.text);
