/**
 * Code execution as a tool for LangChain. If the chain is aborted, the job is cancelled.
 * Replace the scripted model with any chat model that accepts tools, such as `ChatOpenAI` or `ChatAnthropic`.
 */
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { abortedWhileRunning, client } from './service.ts';

const runCode = tool(
  async ({ code }, { signal }) => {
    const { stdout, stderr, exit_code } = await client.run(code, { limits: { wall_seconds: 10 }, signal });
    return JSON.stringify({ stdout, stderr, exit_code });
  },
  {
    name: 'run_code',
    description: 'Runs a Python program in isolation, without a network. Nothing is kept between calls.',
    schema: z.object({ code: z.string() }),
  },
);

/** Calls the tool, and then repeats what the tool returned. */
const scriptedModel = fakeModel()
  .respondWithTools([{ name: 'run_code', args: { code: 'print(sum(n * n for n in (1, 4, 5)))' } }])
  .respond((messages) => new AIMessage(`The tool returned ${messages.at(-1)?.text}`));

const model = scriptedModel.bindTools([runCode]);
const messages: BaseMessage[] = [new HumanMessage('What is the sum of the squares of 1, 4 and 5?')];
let answer = await model.invoke(messages);
while (answer.tool_calls?.length) {
  messages.push(answer);
  for (const call of answer.tool_calls) messages.push(await runCode.invoke({ ...call, type: 'tool_call' }));
  answer = await model.invoke(messages);
}
console.log(answer.text);

const endless = { name: 'run_code', args: { code: 'while True: pass' }, id: 'call-2', type: 'tool_call' } as const;
const status = await abortedWhileRunning((signal) => runCode.invoke(endless, { signal }));
console.log(`the job of an aborted call was ${status}`);
