/** `vouchbox adapter`: the interface of another system in front of a service. */
import { ADAPTERS, type AdapterName, isLoopback, openAdapter } from '@vouchbox/adapters';
import { EXIT } from './failures/exit-code.ts';
import { UsageError } from './failures/usage-error.ts';
import { ownVariable } from './service/environment.ts';
import { portOf } from './service/port.ts';
import type { AccessOptions } from './service/service-access.ts';
import { serviceOrOwn } from './service/service-or-own.ts';
import { aborted, takeInterrupts } from './terminal/interrupts.ts';
import { type JsonOption, printResult } from './terminal/print.ts';

export interface AdapterCommandOptions extends AccessOptions, JsonOption {
  readonly host: string;
  readonly port: string;
  /** What callers of the adapter must send; without it only this host is served. */
  readonly callerKey?: string;
}

/** Serves until an interrupt ends it. */
export async function adapter(name: string, options: AdapterCommandOptions): Promise<number> {
  if (!Object.hasOwn(ADAPTERS, name)) {
    throw new UsageError(`${name} is not an adapter; give ${Object.keys(ADAPTERS).join(', ')}`);
  }
  const port = portOf('--port', options.port);
  const key = options.callerKey ?? ownVariable('ADAPTER_KEY') ?? null;
  if (key === null && !isLoopback(options.host)) {
    throw new UsageError(`${options.host} can be reached from elsewhere; give --caller-key or ADAPTER_KEY as well`);
  }
  using interrupts = takeInterrupts();
  await using service = await serviceOrOwn(options, 'off');
  await using opened = await openAdapter(name as AdapterName, {
    client: service.client,
    host: options.host,
    port,
    key,
  });
  printResult(options, `listening on ${opened.url}\n`, { url: opened.url });
  await aborted(interrupts.asked);
  return EXIT.ok;
}
