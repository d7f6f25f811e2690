/**
 * A backend for deepagents, over a workspace. The agent's commands and files are in cells. Each command is a job of its own,
 * with a receipt, and the next command gets the files that the previous one left. No command or file is on the agent's
 * machine. Replace the scripted model with any chat model that accepts tools.
 */

import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import type { Workspace } from '@vouchbox/client';
import { BaseSandbox, createDeepAgent, type ExecuteResponse } from 'deepagents';
import { client } from './service.ts';

/** The directory in a cell that holds the workspace's files. The agent's paths name the same directory. */
const ROOT = '/work/output/';

/** A program has no network, so it can install nothing. No process outlives its command. */
class VouchboxBackend extends BaseSandbox {
  readonly id = 'vouchbox';
  readonly #workspace: Workspace;

  constructor(workspace: Workspace) {
    super();
    this.#workspace = workspace;
  }

  override async execute(command: string): Promise<ExecuteResponse> {
    const output: string[] = [];
    const add = (text: string) => output.push(text);
    const limits = { wall_seconds: 60, cpu_seconds: 60 };
    const ended = await this.#workspace.run(command, { language: 'bash', limits, onStdout: add, onStderr: add });
    const isKept = this.#workspace.steps.at(-1)?.wasKept;
    const notes = [
      ...ended.violations.map(({ message }) => message),
      ...(isKept ? [] : ['What it left was not kept.']),
    ];
    return {
      output: [output.join(''), ...notes].join('\n').trimEnd(),
      exitCode: ended.exit_code,
      truncated: ended.truncated,
    };
  }

  override uploadFiles(files: [string, Uint8Array][]) {
    return files.map(([path, content]) => {
      if (!path.startsWith(ROOT)) return { path, error: 'invalid_path' as const };
      this.#workspace.write(path.slice(ROOT.length), content);
      return { path, error: null };
    });
  }

  override downloadFiles(paths: string[]) {
    return paths.map((path) => {
      const content = path.startsWith(ROOT) ? this.#workspace.read(path.slice(ROOT.length)) : undefined;
      return content ? { path, content, error: null } : { path, content: null, error: 'file_not_found' as const };
    });
  }
}

const PROGRAM = 'rows = open("sales.csv").read().split()\nprint(sum(map(int, rows)))\n';

/** Writes a program that fails, reads why, repairs the program, and answers with what the repaired program prints. */
const scriptedModel = fakeModel()
  .respondWithTools([
    { name: 'write_file', args: { file_path: `${ROOT}sales.csv`, content: 'amount\n20\n22\n' } },
    { name: 'write_file', args: { file_path: `${ROOT}sum.py`, content: PROGRAM } },
  ])
  .respondWithTools([{ name: 'execute', args: { command: 'python3 sum.py' } }])
  .respondWithTools([
    {
      name: 'edit_file',
      args: { file_path: `${ROOT}sum.py`, old_string: 'rows = open', new_string: '_, *rows = open' },
    },
  ])
  .respondWithTools([{ name: 'execute', args: { command: 'python3 sum.py | tee total.txt' } }])
  .respondWithTools([
    { name: 'ls', args: { path: ROOT } },
    { name: 'read_file', args: { file_path: `${ROOT}total.txt` } },
  ])
  .respond(new AIMessage('The sum is in total.txt.'));

const workspace = await client.workspace();
const agent = createDeepAgent({
  model: scriptedModel,
  backend: new VouchboxBackend(workspace),
  systemPrompt: `Your files are in ${ROOT}, which is where commands start. There is no network.`,
});
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Sum the column of sales.csv.' }] });

for (const { type, name, text } of messages) {
  if (type === 'tool') console.log(`${name}: ${text.trim().replace(/\s+/g, ' ').slice(-120)}`);
}
console.log(messages.at(-1)?.text);
await workspace.verify();
console.log(`${workspace.steps.length} commands ran, and their records are whole`);
