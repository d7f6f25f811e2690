import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Opens telemetry where no OpenTelemetry package is installed, and prints the outcome. */
const WITHOUT_PACKAGES = `
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, nextResolve) {
      return nextResolve(specifier.replace('@opentelemetry/', '@not-installed/'), context);
    },
  });
  const { openTelemetry } = await import(process.argv[1]);
  const parts = { log: {}, store: { counts: async () => ({}) }, stopping: new AbortController().signal };
  const open = (tracesUrl) => openTelemetry({ config: { metricsToken: null, tracesUrl, queue: {} }, ...parts });
  await (await open(null))[Symbol.asyncDispose]();
  await open('http://127.0.0.1:9/v1/traces').catch(({ name, message, hint }) => console.log(JSON.stringify({ name, message, hint })));`;

test('without the OpenTelemetry packages, a service starts, but with a collector the start fails and names them', () => {
  const module = new URL('./open-telemetry.ts', import.meta.url).href;
  const words = ['--input-type=module', '--eval', WITHOUT_PACKAGES, module];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({
    name: 'StartError',
    message: 'SERVICE_OTLP_ENDPOINT is set, and the OpenTelemetry packages are not installed',
    hint: expect.stringContaining('npm install @opentelemetry/api@^1') as string,
  });
});
