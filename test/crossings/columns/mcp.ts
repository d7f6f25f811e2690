/** `vouchbox mcp`: an agent's tools over stdio, called with the MCP project's own client. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { commandFile } from '../../rig/command.ts';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen, textOf, typesOf } from '../facts.ts';
import { NO_LIST, NO_STATUS, type Place, withoutOpening } from '../place.ts';
import type { Program } from '../scenarios.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';
import { submitByClient } from './typescript-client.ts';

/** No program that ends by itself in a scenario takes this long. */
const callMillisecondsMax = 200_000;

/** Another MCP server. It has the tool that programs call. */
const PAGES = `'${process.execPath}' '${join(import.meta.dirname, '../../../packages/cli/src/mcp/tools-from/tool-server.fixture.ts')}'`;

interface ToolAnswer {
  readonly isError?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tool answered
  readonly structuredContent?: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tool answered
  readonly content: any;
}

/** Opens `vouchbox mcp`, with all keys that have signed at this service as pinned keys. */
async function withTools<Result>(crossing: Crossing, use: (client: Client) => Promise<Result>): Promise<Result> {
  const { directory, key, service } = crossing;
  const pinned = service.publicKeys.map((pem, index) => {
    const file = join(directory, `pinned-${index}.pem`);
    writeFileSync(file, pem);
    return file;
  });
  const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: service.url, SERVICE_KEY: key };
  const tools = crossing.scenario.answers && ['--tools-from', PAGES, '--allow-tool', 'search'];
  const args = ['mcp', '--public-key', ...pinned, ...(tools ?? [])];
  const client = new Client({ name: 'crossings', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: commandFile, args, env, stderr: 'ignore' }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

async function call(client: Client, name: string, words: Record<string, unknown>): Promise<ToolAnswer> {
  const answer = await client.callTool({ name, arguments: words }, { timeout: callMillisecondsMax });
  return answer as unknown as ToolAnswer;
}

/** Whether the tool takes everything that a program needs. If not, a client submits the job and the tool reads it. */
function canSay({ uploads, uploadedStdin, build, interactor, promise, limits = {} }: Program): boolean {
  const { wall_seconds: _wall, mem_mb: _memory, ...others } = limits;
  const unsaid = [uploads, uploadedStdin, build, interactor, promise, ...Object.values(others)];
  return unsaid.every((member) => member === undefined);
}

async function seenOf(
  client: Client,
  { structuredContent: said, content }: ToolAnswer,
  isSigned: boolean,
): Promise<Seen> {
  if (said === undefined) throw new Error(`the tool answered ${JSON.stringify(content).slice(0, 300)}`);
  const { status, terminal_reason, exit_code, signal, stderr, truncated, violations, files, job_id } = said;
  const read = async (path: string) => {
    const { contents } = await client.readResource({ uri: `svc://jobs/${job_id}/artifacts/${path}` });
    const { text, blob = '' } = contents[0] as { text?: string; blob?: string };
    return [path, textOf(text === undefined ? Buffer.from(blob, 'base64') : Buffer.from(text))] as const;
  };
  const contentOf = Object.fromEntries(await Promise.all(files.map(({ path }: { path: string }) => read(path))));
  if (isSigned) await verified(client, job_id);
  const seen = { status, terminal_reason, exit_code, signal, stderr, truncated, files: contentOf };
  return { ...seen, violations: typesOf(violations), ...stdoutOf(said) } as Seen;
}

async function verified(client: Client, job_id: string): Promise<void> {
  const { structuredContent: said, content } = await call(client, 'verify_job', { job_id });
  if (said?.verdict === 'good' && said.key === 'pinned') return;
  throw new Error(`verify_job said ${JSON.stringify(said ?? content).slice(0, 300)}`);
}

/** The output as the tool shows it. The tool leaves out the middle of a long text. */
function stdoutOf({ stdout, stdout_left_out: leftOut }: { stdout: string; stdout_left_out: number }): Seen {
  if (leftOut === 0) return { stdout };
  const [head = '', tail = ''] = stdout.split(`\n[${leftOut} characters left out]\n`);
  return { stdoutEnds: { head, tail, length: head.length + tail.length + leftOut } };
}

const read = (crossing: Crossing, job_id: string) =>
  withTools(crossing, async (client) => {
    const answer = await call(client, 'get_job', { job_id, wait_seconds: 120 });
    return await seenOf(client, answer, crossing.service.signs);
  });

async function graded(client: Client, { scenario, service }: Crossing): Promise<Seen> {
  const { program, tests } = scenario;
  const { structuredContent: said, content } = await call(client, 'grade', { programs: [program], tests });
  const [judged] = said?.programs ?? [];
  if (!judged?.judge_job_id) throw new Error(`grade said ${JSON.stringify(said ?? content).slice(0, 300)}`);
  if (service.signs) await verified(client, judged.judge_job_id);
  return { verdicts: judged.tests.map(({ verdict }: { verdict: string }) => verdict) };
}

const caller: Caller = {
  run: async (crossing) => {
    const { program } = crossing.scenario;
    if (!canSay(program)) return await read(crossing, await submitByClient(crossing));
    const {
      uploads: _,
      fromJobs: __,
      before: ___,
      packed,
      limits = {},
      requirements: _class,
      outputs = [],
      ...more
    } = program;
    // The program's tools come from another server, and an agent cannot ask for signed labels.
    const { tools: _tools, sign_labels: _signs, ...said } = more;
    const named = Object.entries(await crossing.outputsOfJobs());
    const session = (await crossing.step())?.name;
    const files = named.map(([path, { from }]) => ({ path, from }));
    const { wall_seconds: timeout_seconds, mem_mb: memory_mb } = limits;
    const libraries = packed && { blob: (await crossing.client.upload(packed)).blob };
    const words = {
      ...said,
      ...(libraries && { libraries }),
      ...(files.length > 0 && { files }),
      ...(session !== undefined && { session }),
      outputs,
      ...(timeout_seconds && { timeout_seconds }),
      ...(memory_mb && { memory_mb }),
    };
    return await withTools(crossing, async (client) => {
      return await seenOf(client, await call(client, 'run_code', words), crossing.service.signs);
    });
  },
  read,
  cancel: async (crossing, job_id) => {
    await withTools(crossing, async (client) => await call(client, 'cancel_job', { job_id }));
  },
  grade: async (crossing) => await withTools(crossing, async (client) => await graded(client, crossing)),
};

export const mcp: Place = {
  title: 'MCP',
  group: 'callers',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: {
    links: 'An agent has no tool that makes links: whoever hands a result on has the key.',
    packaged: READ_BY_THE_COMMAND,
    repeated: 'A call of `run_code` takes no key: an agent that calls it again wants another job.',
  },
  unseen: { listed: NO_LIST, counted: NO_STATUS },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
