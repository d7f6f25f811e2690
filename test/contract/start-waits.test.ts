/** A service that starts before its database: it waits, says that it waits, and can be stopped. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Command } from '../rig/command.ts';
import { type PostgresServer, startPostgres } from '../rig/postgres-server.ts';

let server: PostgresServer;
let directory: string;
beforeAll(async () => {
  server = await startPostgres();
  directory = mkdtempSync(join(tmpdir(), 'svc-waits-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const serve = (databaseUrl: string) =>
  new Command(['serve'], {
    env: {
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_DATA_DIR: join(directory, 'data'),
      SERVICE_PORT: '0',
      SERVICE_PROVIDER: 'subprocess',
      SERVICE_FREE_SPACE_RESERVE_MB: '0',
    },
  });

describe('without its database', () => {
  beforeAll(() => server.kill());

  test('a service that waits for its database at the start exits with 0 on SIGTERM', async () => {
    await using command = serve(server.url);
    await command.complains(/"the start waits for the database"/);
    command.kill('SIGTERM');
    expect(await command.ended()).toMatchObject({ code: 0, stdout: '' });
  });

  test('a starting service waits for its database, logs this without the password, and then serves', async () => {
    await using command = serve(server.url);
    await command.complains(/"the start waits for the database"/);
    expect(command.stderr).not.toContain(new URL(server.url).password);
    await server.start();
    await command.shows(/^listening on /m);
  });
});

test.each([
  ['a wrong password', (url: string) => url.replace(/:[0-9a-f]+@/, ':wrong@')],
  ['a missing database', (url: string) => url.replace(/\/postgres$/, '/missing')],
])('a start with %s fails without waiting', async (_what, changed) => {
  await using command = serve(changed(server.url));
  const { code, stderr } = await command.ended();
  expect(code).toBe(1);
  expect(stderr).toContain('the database cannot be used');
  expect(stderr).not.toContain('waits for the database');
});
