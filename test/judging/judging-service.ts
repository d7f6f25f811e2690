/** A service that judges, and the ways in which users call it: the client, the command, and the adapters. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AdapterName, openAdapter } from '@vouchbox/adapters';
import type { ServiceClient } from '@vouchbox/client';
import { keyOf, Service } from '../crossings/service.ts';
import { vouchbox } from '../rig/command.ts';

export interface JudgingService extends AsyncDisposable {
  readonly url: string;
  readonly client: ServiceClient;
  /** The verdicts that `vouchbox grade` prints for a program and tests in files, with these options. */
  gradeByCommand(files: CommandFiles, ...options: string[]): Promise<readonly string[]>;
  /** Posts to a path of an adapter. */
  // biome-ignore lint/suspicious/noExplicitAny: whoever asks looks into whatever came
  post(adapter: AdapterName, path: string, body: object): Promise<any>;
}

export interface CommandFiles {
  readonly code: string;
  readonly tests: readonly { readonly name: string; readonly stdin: string; readonly expected: string }[];
}

const TENANT = 'alpha';

export async function openJudgingService(
  packs: string,
  provider: 'namespace' | 'gvisor' = 'namespace',
): Promise<JudgingService> {
  const service = await Service.start([TENANT], { provider, 'runtime-packs-dir': packs });
  const client = service.client(TENANT);
  return {
    url: service.url,
    client,
    gradeByCommand: (files, ...options) => gradeByCommand(service.url, files, options),
    async post(adapter, path, body) {
      await using opened = await openAdapter(adapter, { client, host: '127.0.0.1', port: 0, key: null });
      const headers = { 'content-type': 'application/json' };
      return await (await fetch(opened.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function gradeByCommand(
  url: string,
  { code, tests }: CommandFiles,
  options: readonly string[],
): Promise<readonly string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-judging-'));
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  };
  try {
    const file = code.includes('#include') ? 'program.cpp' : 'program.py';
    write(file, code);
    for (const { name, stdin, expected } of tests) {
      write(`tests/${name}.in`, stdin);
      write(`tests/${name}.out`, expected);
    }
    const words = ['grade', file, '--tests', 'tests', '--json', ...options];
    const env = { SERVICE_URL: url, SERVICE_KEY: keyOf(TENANT) };
    const { code: exitCode, stdout, stderr } = await vouchbox(words, { cwd: directory, env });
    if (!stdout.startsWith('{')) throw new Error(`vouchbox grade ended with ${exitCode}: ${stderr.slice(0, 500)}`);
    const { tests: judged } = JSON.parse(stdout) as { tests: { verdict: string }[] };
    return judged.map(({ verdict }) => verdict);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
