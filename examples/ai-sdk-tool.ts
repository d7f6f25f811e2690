/**
 * Code execution as a tool for the Vercel AI SDK. If the generation is aborted, the job is cancelled.
 * Replace the scripted model with any provider's model.
 */
import { generateText, isStepCount, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { abortedWhileRunning, client } from './service.ts';

const runCode = tool({
  description: 'Runs a Python program in isolation, without a network. Nothing is kept between calls.',
  inputSchema: z.object({ code: z.string() }),
  async execute({ code }, { abortSignal }) {
    const { stdout, stderr, exit_code } = await client.run(code, { limits: { wall_seconds: 10 }, signal: abortSignal });
    return { stdout, stderr, exit_code };
  },
});

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** Calls the tool with the program from the prompt, and then repeats what the tool returned. */
const scriptedModel = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const last = prompt.at(-1);
    if (last?.role === 'user') {
      const input = JSON.stringify({
        code: last.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      });
      return {
        content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'runCode', input }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      };
    }
    const returned = (last?.role === 'tool' ? last.content : []).flatMap((part) =>
      part.type === 'tool-result' ? [part.output] : [],
    );
    return {
      content: [{ type: 'text', text: `The tool returned ${JSON.stringify(returned[0])}` }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

const generate = (prompt: string, abortSignal?: AbortSignal) =>
  generateText({ model: scriptedModel, tools: { runCode }, stopWhen: isStepCount(5), prompt, abortSignal });

const { text } = await generate('print(sum(n * n for n in (1, 4, 5)))');
console.log(text);

const status = await abortedWhileRunning((signal) => generate('while True: pass', signal));
console.log(`the job of an aborted generation was ${status}`);
