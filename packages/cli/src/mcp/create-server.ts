/** The MCP server for one caller: its tools, and the files of the caller's jobs as resources. */
import { McpServer } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { addArtifacts } from './artifacts.ts';
import { addGrade } from './tools/grade.ts';
import { addCancelJob, addGetJob } from './tools/job-tools.ts';
import { addListRuntimes, type Packs } from './tools/list-runtimes.ts';
import { addRunCode, type CallableTools } from './tools/run-code.ts';
import { addVerifyJob, type PinnedKeys } from './tools/verify-job.ts';

export interface ServerParts {
  /** Calls the service with the caller's own key. */
  readonly client: ServiceClient;
  readonly version: string;
  readonly pinned: PinnedKeys;
  /** The packs whose libraries are named in the description of `run_code`. */
  readonly packs?: Packs;
  /** Tools of other servers, which programs may call. */
  readonly offered?: CallableTools;
}

const INSTRUCTIONS = `Programs run isolated, without a network, and each in a cell of its own: nothing is kept between calls but by a session.
Give input files with each run, below input/, and write results below output/.`;

export function createServer({ client, version, pinned, packs = [], offered }: ServerParts): McpServer {
  const server = new McpServer({ name: 'vouchbox', version }, { instructions: INSTRUCTIONS });
  addRunCode(server, client, { packs, offered });
  addGrade(server, client);
  addGetJob(server, client);
  addCancelJob(server, client);
  addListRuntimes(server, client);
  addVerifyJob(server, client, pinned);
  addArtifacts(server, client);
  return server;
}
