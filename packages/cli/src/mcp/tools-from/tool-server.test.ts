import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterAll, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import { toolServer } from './tool-server.fixture.ts';
import { ToolServer } from './tool-server.ts';

const program = `'${process.execPath}' '${join(import.meta.dirname, 'tool-server.fixture.ts')}'`;
const never = new AbortController().signal;

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());
const serverOf = (source: string, millisecondsMax = 30_000) =>
  opened.use(new ToolServer(source, { version: '1.0.0', millisecondsMax }));

test("a tool's answer is its structured content, or else its text, or else its other content", async () => {
  const server = serverOf(program);
  expect(await server.call('search', { query: 'cells' }, never)).toEqual({ pages: ['a page about cells'] });
  expect(await server.call('notes.read', {}, never)).toBe('one\ntwo');
  expect(await server.call('picture', {}, never)).toEqual([{ type: 'image', data: 'aGk=', mimeType: 'image/png' }]);
});

slowTest.each([
  ['fail', 'no such page'],
  ['fail_silently', 'the tool failed without a reason'],
  ['absent', /absent/],
  ['huge', /^the server of this tool gave no answer: /],
])('a call to the tool %s fails with an error that says why', async (name, why) => {
  await expect(serverOf(program).call(name, {}, never)).rejects.toThrow(why);
});

test('tool arguments that are not an object are refused before the server is asked', async () => {
  for (const given of ['cells', ['cells'], null, 7])
    await expect(serverOf('false').call('search', given, never)).rejects.toThrow('must have names');
});

test('if a tool server exits, open calls get an error, and the next call starts the server again', async () => {
  const server = serverOf(program);
  const ended = await Promise.allSettled([server.call('hang', {}, never), server.call('die', {}, never)]);
  const reason = new Error('the server of this tool gave no answer: Connection closed');
  expect(ended).toEqual([0, 1].map(() => ({ status: 'rejected', reason })));
  expect(await server.call('search', { query: 'cells' }, never)).toEqual({ pages: ['a page about cells'] });
});

test('an aborted tool call ends at once with the reason for the abort', async () => {
  const over = new AbortController();
  const open = serverOf(program).call('hang', {}, over.signal);
  over.abort(new Error('the run is over'));
  await expect(open).rejects.toThrow('the run is over');
});

test("a tool server gets the environment of the user who started it, except the service's key", async () => {
  process.env['SERVICE_KEY'] = 'secret-key';
  process.env['PAGES_TOKEN'] = 'of the tool';
  try {
    const variables = JSON.parse((await serverOf(program).call('surroundings', {}, never)) as string) as object;
    expect(variables).toMatchObject({ PAGES_TOKEN: 'of the tool' });
    expect(variables).not.toHaveProperty('SERVICE_KEY');
  } finally {
    delete process.env['SERVICE_KEY'];
    delete process.env['PAGES_TOKEN'];
  }
});

test.each(['sleep 1000', 'setsid sleep 1000'])(
  'a tool server may be any shell command, and all its processes end when it is closed: %s',
  async (command) => {
    const server = serverOf(`${command} & BACKGROUND=$! ${program}`);
    const { BACKGROUND: pid } = JSON.parse(
      (await server.call('surroundings', {}, never)) as string,
    ) as NodeJS.ProcessEnv;
    expect(stateOf(pid)).toBe('S');
    await server[Symbol.asyncDispose]();
    await expect.poll(() => stateOf(pid)).toMatch(/^Z?$/);
  },
);

/** The state of a process according to `/proc`; empty if there is no such process. */
function stateOf(pid = ''): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] ?? '';
  } catch {
    return '';
  }
}

test.each([
  ['false', 'Connection closed'],
  ["sh -c 'echo no protocol; exec cat >/dev/null'", 'Request timed out'],
  ['http://127.0.0.1:9/mcp', 'fetch failed'],
])('the tools from the source %s cannot be listed', async (source, why) => {
  await expect(serverOf(source, 1000).tools(never)).rejects.toThrow(why);
});

slowTest(
  'calls to a tool server over HTTP have bounds on time and size, and work again after the server is restarted',
  async () => {
    const serve = toNodeHandler(createMcpHandler(() => toolServer()));
    const http = createServer((request, response) => void serve(request as Parameters<typeof serve>[0], response));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as AddressInfo;
    const server = serverOf(`http://127.0.0.1:${port}/mcp`, 2000);
    expect((await server.tools(never)).map(({ name }) => name)).toContain('search');
    expect(await server.call('search', { query: 'cells' }, never)).toEqual({ pages: ['a page about cells'] });
    await expect(server.call('hang', {}, never)).rejects.toThrow('Request timed out');
    await expect(server.call('huge', {}, never)).rejects.toThrow('the server of this tool gave no answer: ');
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await expect(server.call('search', { query: 'cells' }, never)).rejects.toThrow('fetch failed');
    await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
    expect(await server.call('search', { query: 'cells' }, never)).toEqual({ pages: ['a page about cells'] });
    await server[Symbol.asyncDispose]();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  },
);
