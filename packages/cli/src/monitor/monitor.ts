/**
 * `vouchbox monitor`: follows a log from outside, with the log's key and without a credential. It remembers the last head that it
 * saw, and ends at the first head that did not grow from the remembered one. docs/LOG.md.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Checkpoint, type LogKeys, noteText } from '@vouchbox/evidence';
import { printable, printableJson } from '@vouchbox/protocol/vocabulary';
import { readLog, rememberHead } from '@vouchbox/verifier/command';
import { CommandFailure } from '../failures/command-failure.ts';
import { MONITOR_EXIT } from '../failures/exit-code.ts';
import { UsageError } from '../failures/usage-error.ts';
import { checkAddress } from '../service/service-access.ts';
import { takeInterrupts, unlessInterrupted } from '../terminal/interrupts.ts';
import { type JsonOption, note } from '../terminal/print.ts';
import { headOfLog, type Look, lookAt } from './look.ts';
import { awaitedPromises, keepDue } from './promises-due.ts';

export interface MonitorOptions extends JsonOption {
  readonly logKey: string;
  readonly witness: readonly string[];
  readonly state: string;
  /** Files with the promises whose times are watched. */
  readonly promise: readonly string[];
  readonly every: number;
  readonly once?: boolean;
  readonly acceptReopened?: boolean;
}

/** Looks at each address in turn, once or until a look finds a cheat. Compares the heads that the addresses show. */
export async function monitor(urls: readonly string[], options: MonitorOptions): Promise<number> {
  for (const url of urls) checkAddress(url);
  const { logKey, witness, state } = options;
  const { keys, remembered } = readLog({ logKey, witness, logState: state });
  if (keys === null) throw new UsageError('monitor needs --log-key, the key of the log');
  let promises = awaitedPromises(options.promise);
  using interrupts = takeInterrupts();
  let seen = remembered == null ? null : await rememberedIn(remembered, state, keys);
  let { acceptReopened = false } = options;
  let unanswered = 0;
  const round = async (signal: AbortSignal): Promise<number | null> => {
    unanswered = 0;
    for (const url of urls) {
      const look = await lookAt(url, { keys, seen, acceptReopened, signal }).catch(unansweredLook);
      tell(url, look, options);
      if (look.kind === 'cheat') return keptEvidence(look, seen, options);
      if (look.kind === 'unanswered') unanswered++;
      else {
        seen = look.head;
        // The operator explained one new tree. The explanation does not cover trees that are opened later.
        acceptReopened = false;
        rememberHead(state, noteText(seen.note));
        promises = keepDue(promises, look, keys.log);
      }
    }
    return null;
  };
  const ended = await unlessInterrupted(interrupts.asked, async (signal) => {
    for (;;) {
      const code = await round(signal);
      if (code !== null) return code;
      if (options.once) return unanswered > 0 ? MONITOR_EXIT.unanswered : MONITOR_EXIT.ok;
      await pause(options.every * 1000, undefined, { signal });
    }
  });
  return ended ?? MONITOR_EXIT.ok;
}

async function rememberedIn(remembered: string, state: string, keys: LogKeys): Promise<Checkpoint> {
  const head = await headOfLog(remembered, keys);
  if (typeof head !== 'string') return head;
  throw new UsageError(`${state} has no head of this log: ${head}`);
}

type Told = Look | { readonly kind: 'unanswered'; readonly text: string };

/** Reports a log that does not answer. It is asked again in the next round. */
function unansweredLook(error: unknown): Told {
  if (error instanceof CommandFailure) return { kind: 'unanswered', text: error.message };
  throw error;
}

function tell(url: string, look: Told, { json }: MonitorOptions): void {
  const word = look.kind === 'cheat' ? look.word : look.kind === 'unanswered' ? 'NO ANSWER' : wordOf(look.witnesses);
  const size = look.kind === 'fine' ? look.head.size : null;
  const line = json
    ? printableJson({ at: new Date().toISOString(), url, word, size, text: look.text })
    : printable(`${word}  ${url}: ${look.text}`, 4096);
  process.stdout.write(`${line}\n`);
}

function wordOf(witnesses: readonly string[]): string {
  return witnesses.length === 0 ? 'UNWITNESSED' : `WITNESSED by ${witnesses.join(' and by ')}`;
}

/** Keeps both heads as evidence. Two different heads of the same size prove a fork; other pairs only raise a question. */
function keptEvidence(
  { word, shown }: Extract<Look, { kind: 'cheat' }>,
  seen: Checkpoint | null,
  { state, logKey }: MonitorOptions,
): number {
  if (shown === null || seen === null) return MONITOR_EXIT.cheated;
  const file = `${state}.shown`;
  writeFileSync(file, shown, { mode: 0o600, flush: true });
  note(`the new head is in ${file}, and the one that was seen before stays in ${state}`);
  note(
    word === 'FORKED'
      ? `show both to anyone: service-verify head ${state} ${file} --log-key ${logKey}`
      : 'ask the operator why. Only two different heads of the same size would prove a fork to others',
  );
  return MONITOR_EXIT.cheated;
}
