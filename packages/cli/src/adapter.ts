/** `vouchbox adapter`: offers another system's interface in front of a service. */
import { AdapterError, type AdapterName, isLoopback, openAdapter, type Runtimes } from '@vouchbox/adapters';
import { LANGUAGES } from '@vouchbox/protocol/vocabulary';
import { CommandFailure } from './failures/command-failure.ts';
import { UsageError } from './failures/usage-error.ts';
import { ownVariable } from './service/environment.ts';
import type { AccessOptions } from './service/service-access.ts';
import { serviceOrOwn } from './service/service-or-own.ts';
import { aborted, takeInterrupts } from './terminal/interrupts.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';

export interface AdapterCommandOptions extends AccessOptions, JsonOption {
  readonly host: string;
  readonly port: number;
  /** The key that callers of the adapter must send; without a key, only callers on this host are served. */
  readonly callerKey?: string;
  /** `language=pack`. */
  readonly runtime: readonly string[];
}

/** Serves until an interrupt ends it. */
export async function adapter(name: AdapterName, options: AdapterCommandOptions): Promise<void> {
  const key = options.callerKey ?? ownVariable('ADAPTER_KEY') ?? null;
  if (key === null && !isLoopback(options.host)) {
    throw new UsageError(`${options.host} can be reached from elsewhere; give --caller-key or ADAPTER_KEY as well`);
  }
  const runtimes = Object.fromEntries(options.runtime.map(runtimeOf)) satisfies Runtimes;
  using interrupts = takeInterrupts();
  await using service = await serviceOrOwn(options, 'off');
  await using opened = await openAdapter(name, {
    client: service.client,
    host: options.host,
    port: options.port,
    key,
    runtimes,
    onFailure: note,
  }).catch(rethrowInWords);
  printResult(options, `listening on ${opened.url}\n`, { url: opened.url });
  await aborted(interrupts.asked);
}

function runtimeOf(text: string): [string, string] {
  const [, name, pack] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const language = LANGUAGES.find((one) => one === name);
  if (language !== undefined && pack !== undefined) return [language, pack];
  throw new UsageError(`--runtime ${text}: give LANGUAGE=PACK, such as python=python-data, of ${LANGUAGES.join(', ')}`);
}

/** Reports an unknown pack in `--runtime` as wrong usage, and any other adapter error as a failure. */
function rethrowInWords(error: unknown): never {
  if (!(error instanceof AdapterError)) throw error;
  if (error.member === 'runtimes') throw new UsageError(`--runtime: ${error.message}`, { cause: error });
  throw new CommandFailure(error.message, { cause: error });
}
