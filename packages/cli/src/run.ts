/** `svc run`: one program through a service, its output passed on as it comes, its exit code as this command's own. */
import type { ServiceClient } from '@svc/client';
import type { EventData, JobEvent } from '@svc/protocol';
import { printable } from '@svc/protocol/vocabulary';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { takeInterrupts } from './interrupts.ts';
import { writeOutputs } from './output-files.ts';
import { type AccessOptions, namedService, type ServiceAccess } from './service-access.ts';
import { type OutputForm, showOutput } from './show-output.ts';
import { readSubmission, type SubmissionOptions, wantedOutputs } from './submission-options.ts';

export interface RunOptions extends SubmissionOptions, AccessOptions {
  /** Shows a terminal what the program wrote as it is. */
  readonly raw?: true;
}

/**
 * Runs a program and gives the exit code of the command.
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

/** Loaded only where no service is named: whoever calls one starts without the server. */
async function ownService(): Promise<ServiceAccess> {
  const { openEmbeddedService } = await import('./embedded-service.ts');
  return openEmbeddedService();
}

/** Shows everything that happens until the job ends, and how it ended where that was not by itself. */
async function follow(client: ServiceClient, job_id: string, form: OutputForm): Promise<EventData<'finished'>> {
  for await (const event of client.follow(job_id)) {
    await showOutput(event, process, form);
    const line = remarkOn(event);
    if (line !== null) note(line);
    if (event.kind === 'finished') return event.data as EventData<'finished'>;
  }
  throw new Error('the history ended without an end of the job');
}

/** What a person should be told beside the program's own output; null where there is nothing to say. */
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

/** Says which of the two caps was reached: who wrote many short lines looks for lines, and not for bytes. */
function truncationRemark({ stream, records_stored, limit_records, bytes_stored }: EventData<'truncated'>): string {
  const kept = records_stored >= limit_records ? `${limit_records} lines` : `${bytes_stored} bytes`;
  return `${stream} is truncated: only its first ${kept} are recorded`;
}

function note(line: string): void {
  process.stderr.write(`svc: ${printable(line)}\n`);
}

/** The first interrupt cancels the job, whose end then ends the command. */
function cancelWhen(asked: AbortSignal, client: ServiceClient, job_id: string): void {
  const cancel = () => {
    client.cancel(job_id).catch((error: Error) => note(`the job could not be cancelled: ${error.message}`));
  };
  if (asked.aborted) cancel();
  else asked.addEventListener('abort', cancel, { once: true });
}
