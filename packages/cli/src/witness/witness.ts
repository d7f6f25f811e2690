/** `vouchbox witness`: signs other people's log heads, each only if the log grew from the previous head. docs/LOG.md. */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { type NoteKey, noteKey, noteKeyText } from '@vouchbox/evidence';
import { makeKeyFile, readKeyFile } from '@vouchbox/server/administration';
import { readNoteKey } from '@vouchbox/verifier/command';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';
import { aborted, takeInterrupts } from '../terminal/interrupts.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { openWitness } from './witness-server.ts';
import { WitnessState } from './witness-state.ts';

export interface WitnessOptions extends JsonOption {
  readonly state: string;
  readonly logKey: readonly string[];
  /** The file with the witness's own key. By default, it is beside the state. */
  readonly key?: string;
  readonly name?: string;
  readonly host: string;
  readonly port: number;
}

/** Serves until an interrupt ends it. */
export async function witness(options: WitnessOptions): Promise<void> {
  const { state: path, host, port } = options;
  if (options.logKey.length === 0) throw new UsageError('a witness needs --log-key, the key of a log that it watches');
  const logs = options.logKey.map((file) => readNoteKey(file, 'note'));
  using interrupts = takeInterrupts();
  using state = WitnessState.open(path, options.name ?? hostname());
  if (options.name !== undefined && options.name !== state.name)
    throw new UsageError(`${path} belongs to the witness ${state.name}: a witness keeps its name`);
  const { privateKey, pinned } = keyIn(options.key ?? `${path}.key`);
  const key = ownKey(state.name, pinned.raw);
  const now = () => Math.floor(Date.now() / 1000);
  await using opened = await openWitness({ state, logs, key, privateKey, now }, { host, port }).catch(
    (cause: NodeJS.ErrnoException) => {
      throw new CommandFailure(`cannot listen on ${host}:${port}: ${cause.code}`, { cause });
    },
  );
  const own = noteKeyText(key);
  printResult(options, `listening on ${opened.url}\n${own}\n`, { url: opened.url, key: own });
  if (!options.json)
    note("the second line is the key of this witness: give it to those who check results, and to the log's operator");
  await aborted(interrupts.asked);
}

function keyIn(path: string) {
  return existsSync(path) ? readKeyFile(path) : makeKeyFile(path);
}

function ownKey(name: string, raw: Uint8Array<ArrayBuffer>): NoteKey {
  const made = noteKey(name, 'cosignature', raw);
  if (made.kind === 'key') return made.key;
  throw new UsageError(`a witness cannot be named ${name}: ${made.reason}`);
}
