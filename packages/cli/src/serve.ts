/** `svc serve`: the service as a process, from its settings to its last signal. */
import type { RunningService } from '@svc/server';
import { loadConfig } from '@svc/server/administration';
import { serverEnvironment } from './environment.ts';
import { EXIT } from './exit-code.ts';

/**
 * Serves until a signal asks it to stop, then drains. A second signal ends the process at once.
 * @param flags keyed by the settings' flags; they win over the environment
 */
export async function serve(flags: Readonly<Record<string, string | undefined>>): Promise<number> {
  const config = loadConfig(serverEnvironment(), flags);
  const asked = signalled();
  // Not loaded before the settings are known to be right: a wrong one is told at once.
  const { startService } = await import('@svc/server');
  await using service = await startService(config);
  if (!service.hasCallers) {
    process.stderr.write('svc: nobody can call this service yet: `svc keys create --tenant NAME` issues a key\n');
  }
  process.stdout.write(`listening on ${service.url}\n`);
  await stopWhen(asked, service);
  return EXIT.ok;
}

async function stopWhen(asked: Promise<void>, service: RunningService): Promise<void> {
  await asked;
  await service.stop();
}

/** Resolves with the first signal to stop; the next one does not wait for anything. */
function signalled(): Promise<void> {
  const first = Promise.withResolvers<void>();
  let count = 0;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      count++;
      if (count > 1) process.exit(code);
      first.resolve();
    });
  }
  return first.promise;
}
