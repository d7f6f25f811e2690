/**
 * `vouchbox run`: runs one program through a service, passes its output on as it comes, and exits with the program's exit
 * code.
 */
import type { ServiceClient } from '@vouchbox/client';
import type { EventData, JobEvent } from '@vouchbox/protocol';
import { printable } from '@vouchbox/protocol/vocabulary';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { takeInterrupts } from './interrupts.ts';
import { writeOutputs } from './output-files.ts';
import { type AccessOptions, namedService, type ServiceAccess } from './service-access.ts';
import { type OutputForm, showOutput } from './show-output.ts';
import { readSubmission, type SubmissionOptions, wantedOutputs } from './submission-options.ts';

export interface RunOptions extends SubmissionOptions, AccessOptions {
  /** Passes the program's output to a terminal unescaped. */
  readonly raw?: true;
}

/**
 * Runs a program and returns the exit code of the command.
 * @param file the program, `-` for stdin
 */
export async function run(file: string, options: RunOptions): Promise<number> {
  const submission = await readSubmission(file, options);
  using interrupts = takeInterrupts();
  await using service = namedService(options) ?? (await ownService());
  const { client } = service;
  if (interrupts.asked.aborted) return EXIT.cancelled;
  const { job_id } = await client.submit(submission);
  cancelWhen(interrupts.asked, client, job_id);
  const finished = await follow(client, job_id, options.raw ? 'raw' : 'safe');
  const wanted = wantedOutputs(options.output);
  if (wanted.length > 0) {
    const { artifacts } = await client.result(job_id);
    for (const { path } of await writeOutputs(wanted, artifacts)) note(`${path} did not come back`);
  }
  return exitCodeOf(finished);
}

/** Loaded only if no service is named: a call to a named one needs no server code. */
async function ownService(): Promise<ServiceAccess> {
  const { openEmbeddedService } = await import('./embedded-service.ts');
  return openEmbeddedService();
}

/** Shows the job's output until it ends, and then how it ended, unless it ended by itself. */
async function follow(client: ServiceClient, job_id: string, form: OutputForm): Promise<EventData<'finished'>> {
  for await (const event of client.follow(job_id)) {
    await showOutput(event, process, form);
    const line = remarkOn(event);
    if (line !== null) note(line);
    if (event.kind === 'finished') return event.data as EventData<'finished'>;
  }
  throw new Error('the history ended before the job did');
}

/** What a person should know beside the program's own output; null if there is nothing. */
function remarkOn({ kind, data }: JobEvent): string | null {
  switch (kind) {
    case 'violation': {
      const { type, message, path } = data as EventData<'violation'>;
      return `${type}: ${path === undefined ? '' : `${path}: `}${message}`;
    }
    case 'truncated': {
      return truncationRemark(data as EventData<'truncated'>);
    }
    case 'finished': {
      const { status, terminal_reason, signal } = data as EventData<'finished'>;
      if (terminal_reason === 'exited') return null;
      return `${status}: ${terminal_reason}${signal === null ? '' : ` (${signal})`}`;
    }
    default:
      return null;
  }
}

/** Names the cap that was reached: whoever wrote many short lines looks for lines, not for bytes. */
function truncationRemark({ stream, records_stored, limit_records, bytes_stored }: EventData<'truncated'>): string {
  const kept = records_stored >= limit_records ? `${limit_records} lines` : `${bytes_stored} bytes`;
  return `${stream} is truncated: only its first ${kept} are recorded`;
}

function note(line: string): void {
  process.stderr.write(`vouchbox: ${printable(line)}\n`);
}

/** The first interrupt cancels the job, whose end then ends the command. */
function cancelWhen(asked: AbortSignal, client: ServiceClient, job_id: string): void {
  const cancel = () => {
    client.cancel(job_id).catch((error: Error) => note(`the job could not be cancelled: ${error.message}`));
  };
  if (asked.aborted) cancel();
  else asked.addEventListener('abort', cancel, { once: true });
}
