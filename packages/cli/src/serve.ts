/** `vouchbox serve`: runs the service as a process, from reading its settings to its last signal. */
import { isatty } from 'node:tty';
import { announceService, buildStaleNatives, enterUserNamespace, loadConfig } from '@vouchbox/server/administration';
import { EXIT } from './failures/exit-code.ts';
import { serverEnvironment } from './service/environment.ts';
import { takeServiceSignals } from './service/service-signals.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';

const STDIN = 0;

/**
 * Serves until a signal asks it to stop, then drains. A second signal ends the process at once. The process also ends if other
 * nodes have taken over its jobs; if it is started again, it serves as a node again.
 * @param flags values keyed by the settings' flags; they take precedence over the environment
 */
export async function serve(flags: Readonly<Record<string, string | undefined>>, options: JsonOption): Promise<number> {
  const config = loadConfig(serverEnvironment(), flags);
  const makesCells = config.provider !== 'subprocess' && config.roles.includes('executor');
  if (makesCells) enterUserNamespace();
  const signals = takeServiceSignals(isatty(STDIN) ? 'stop' : 'reload');
  if (makesCells) await buildStaleNatives();
  // Loaded only after the settings were checked, so that a wrong setting is reported at once.
  const { startService } = await import('@vouchbox/server/service');
  const stop = new AbortController();
  void signals.stopAsked.then(() => stop.abort());
  await using service = await startService(config, { stopAsked: stop.signal }).catch((error: unknown) => {
    if (error === stop.signal.reason) return null;
    throw error;
  });
  if (service === null) return EXIT.ok;
  using _announced = announceService(config);
  signals.onReload(() => void service.reload());
  if (!service.hasCallers && config.roles.includes('api')) {
    note('nobody can call this service yet: `vouchbox keys create --tenant NAME` issues a key');
  }
  printResult(options, `listening on ${service.url}\n`, { url: service.url });
  const lost = await Promise.race([signals.stopAsked.then(() => null), service.lost]);
  await service.stop();
  if (lost === null) return EXIT.ok;
  note(`stopped: ${lost.message}`);
  return EXIT.failed;
}
