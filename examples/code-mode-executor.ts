/**
 * An executor for code mode as `@cloudflare/codemode` has it: `createCodeTool({ tools, executor })`. The model writes one async
 * function that calls tools by their namespaces; it runs in a cell, and each call is recorded.
 */
import type { RunTools } from '@vouchbox/client';
import { client } from './service.ts';

type Functions = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

/** The form of `ResolvedProvider` there. */
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

/** Tools of several namespaces have one list of names in a run, so they are called `NAMESPACE_NUMBER`. */
function named(providers: readonly Provider[]) {
  return providers.flatMap(({ name, fns }) =>
    Object.entries(fns).map(([method, call], at) => ({ namespace: name, method, tool: `${name}_${at}`, call })),
  );
}

/** The program around the function: its namespaces, and what it returns or throws in a file. */
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
  /** Never throws: what goes wrong is in `error`. */
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

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4 };
const shop = {
  name: 'shop',
  fns: {
    price: async (words: unknown) => {
      const { fruit } = words as { fruit: string };
      return prices[fruit] ?? Promise.reject(new Error(`no ${fruit} is sold`));
    },
  },
};
const code = `async () => {
  const [apple, pear] = await Promise.all(['apple', 'pear'].map((fruit) => shop.price({ fruit })));
  console.log('asked twice');
  return 6 * apple + 6 * pear;
}`;
console.log(JSON.stringify(await executor.execute(code, [shop])));
console.log(JSON.stringify(await executor.execute(`async () => shop.price({ fruit: 'plum' })`, [shop])));
