/** Any MCP client can run code. It starts `vouchbox mcp`, which calls the service that the environment names. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { PATH = '', SERVICE_URL = '', SERVICE_KEY = '' } = process.env;
const agent = new Client({ name: 'example', version: '1.0.0' });
await agent.connect(
  new StdioClientTransport({ command: 'vouchbox', args: ['mcp'], env: { PATH, SERVICE_URL, SERVICE_KEY } }),
);

const { tools } = await agent.listTools();
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`);

const ran = await agent.callTool({
  name: 'run_code',
  arguments: { language: 'python', code: 'open("output/answer.txt", "w").write("42")\nprint(6 * 7)' },
});
const { status, stdout, files } = ran.structuredContent as {
  status: string;
  stdout: string;
  files: { path: string }[];
};
console.log(`${status}: ${stdout.trim()}, with ${files.map(({ path }) => path).join(', ')}`);

await agent.close();
