/**
 * An executor for the code mode of `@cloudflare/codemode`: `createCodeTool({ tools, executor })`. The model writes one async
 * function that calls tools by their namespaces. The function runs in a cell, and each call is recorded.
 */
import { registerHooks } from 'node:module';
import type { RunTools } from '@vouchbox/client';
import { tool } from 'ai';
import { z } from 'zod';
import { client } from './service.ts';

type Functions = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

/** The form of `ResolvedProvider` in `@cloudflare/codemode`. */
interface Provider {
  readonly name: string;
  readonly fns: Functions;
  readonly prelude?: string;
}

interface ExecuteResult {
  result: unknown;
  error?: string;
  logs?: string[];
}

/** In a run, the tools of all namespaces share one list of names, so each tool is called `NAMESPACE_NUMBER`. */
function named(providers: readonly Provider[]) {
  return providers.flatMap(({ name, fns }) =>
    Object.entries(fns).map(([method, call], at) => ({ namespace: name, method, tool: `${name}_${at}`, call })),
  );
}

/** The program that contains the function. It makes the namespaces, and writes what the function returns or throws to a file. */
function programOf(code: string, providers: readonly Provider[]): string {
  const lists = providers.map(({ name, prelude = '' }) => {
    const methods = named([...providers]).filter(({ namespace }) => namespace === name);
    const members = methods.map(
      ({ method, tool }) => `${JSON.stringify(method)}: (...given) => tools[${JSON.stringify(tool)}]({ given })`,
    );
    return `const ${name} = { ${members.join(', ')} };\n${prelude}`;
  });
  return `${lists.join('\n')}
const told = await (${code})().then((result) => ({ result }), (error) => ({ error: String(error?.message ?? error) }));
(await import('node:fs')).writeFileSync('output/told.json', JSON.stringify(told));`;
}

export const executor = {
  /** Never throws: if something goes wrong, the reason is in `error`. */
  async execute(code: string, given: Provider[] | Functions): Promise<ExecuteResult> {
    const providers = Array.isArray(given) ? given : [{ name: 'codemode', fns: given }];
    const calls = named(providers).map(({ tool, call }): [string, RunTools[string]] => [
      tool,
      (words: { given: unknown[] }) => call(...words.given),
    ]);
    try {
      const options = { language: 'node', outputs: ['output/told.json'], tools: Object.fromEntries(calls) } as const;
      const { files, stdout, stderr, terminal_reason } = await client.run(programOf(code, providers), options);
      const logs = stdout.split('\n').filter((line) => line !== '');
      const told = files.get('output/told.json');
      if (told !== undefined) return { logs, ...(JSON.parse(new TextDecoder().decode(told)) as ExecuteResult) };
      return { result: undefined, error: stderr || `the program ended: ${terminal_reason}`, logs };
    } catch (error) {
      return { result: undefined, error: (error as Error).message };
    }
  },
};

/** The package is made for Workers and imports their classes. This example uses none of these classes, so they are empty here. */
const classes = ['WorkerEntrypoint', 'DurableObject', 'RpcTarget'].map((name) => `export class ${name} {}`).join('\n');
registerHooks({
  resolve: (name, context, next) =>
    name === 'cloudflare:workers'
      ? { url: `data:text/javascript,${encodeURIComponent(classes)}`, shortCircuit: true }
      : next(name, context),
});
const { createCodeTool } = await import('@cloudflare/codemode/ai');

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4 };
const price = tool({
  description: 'The price of a fruit.',
  inputSchema: z.object({ fruit: z.string() }),
  execute: ({ fruit }) => prices[fruit] ?? Promise.reject(new Error(`no ${fruit} is sold`)),
});
const codemode = createCodeTool({ tools: [{ name: 'shop', tools: { price } }], executor });

/** What a model would write in a call to the tool. */
async function called(code: string): Promise<string> {
  const asked = { toolCallId: 'one', messages: [], context: undefined };
  return JSON.stringify(await codemode.execute?.({ code }, asked));
}
const sums = `const [apple, pear] = await Promise.all(['apple', 'pear'].map((fruit) => shop.price({ fruit })));
console.log('asked twice');
return 6 * apple + 6 * pear;`;
console.log(await called(`async () => { ${sums} }`));
console.log(await called("async () => shop.price({ fruit: 'plum' })").catch((error: Error) => error.message));
