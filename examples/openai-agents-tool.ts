/**
 * Code execution as a tool for the OpenAI Agents SDK. If the run is aborted, the job is cancelled.
 * Without `model: scriptedModel`, the agent asks an OpenAI model with the key in OPENAI_API_KEY.
 */
import { Agent, type Model, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import { abortedWhileRunning, client } from './service.ts';

const runCode = tool({
  name: 'run_code',
  description: 'Runs a Python program in isolation, without a network. Nothing is kept between calls.',
  parameters: z.object({ code: z.string() }),
  async execute({ code }, _context, details) {
    const { stdout, stderr, exit_code } = await client.run(code, {
      limits: { wall_seconds: 10 },
      signal: details?.signal,
    });
    return { stdout, stderr, exit_code };
  },
});

let program = 'print(sum(n * n for n in (1, 4, 5)))';

/** Calls the tool with the program, and then repeats what the tool returned. */
const scriptedModel: Model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1);
    if (last?.type !== 'function_call_result') {
      const words = JSON.stringify({ code: program });
      return {
        usage: new Usage(),
        output: [{ type: 'function_call', callId: 'call-1', name: 'run_code', arguments: words }],
      };
    }
    const text = `The tool returned ${JSON.stringify(last.output)}`;
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
const agent = new Agent({
  name: 'calculator',
  instructions: 'Compute with run_code.',
  tools: [runCode],
  model: scriptedModel,
});
const { finalOutput } = await run(agent, 'What is the sum of the squares of 1, 4 and 5?');
console.log(finalOutput);

program = 'while True: pass';
const status = await abortedWhileRunning((signal) => run(agent, 'Compute for ever.', { signal }));
console.log(`the job of an aborted run was ${status}`);
