/** `vouchbox link` and `vouchbox links`: make, list and end links, which show a job's result to people without a key. */
import type { Link, LinkOptions as WantedLink } from '@vouchbox/client';
import { LINK_PART_NAMES, linkSecondsMax, linkSecondsMin, printable } from '@vouchbox/protocol/vocabulary';
import { UsageError } from './failures/usage-error.ts';
import type { JobOptions } from './jobs.ts';
import { isOfThisHost, requireService } from './service/service-access.ts';
import { note, printResult, tableOf } from './terminal/print.ts';

export interface LinkOptions extends JobOptions {
  readonly show?: string;
  readonly expiresIn?: number;
}

/** Prints only the new link's address on stdout, and says on stderr what the link shows. */
export async function makeLink(job_id: string, options: LinkOptions): Promise<void> {
  const wanted = wantedOf(options);
  await using service = requireService(options);
  const link = await service.client.createLink(job_id, wanted);
  const { link_id, expires_at, shows } = link;
  printResult(options, `${printable(link.address)}\n`, link);
  const seen = ['the output and the receipt', ...shows].join(', ');
  note(`anyone with the link sees ${seen} until ${expires_at}; \`vouchbox links revoke ${job_id} ${link_id}\` ends it`);
  if (isOfThisHost(link.address))
    note('nobody on another host can open this address: give the public address of the service with --url');
}

function wantedOf({ show, expiresIn: seconds }: LinkOptions): WantedLink {
  if (seconds !== undefined && (seconds < linkSecondsMin || seconds > linkSecondsMax))
    throw new UsageError('--expires-in: a link lasts at least 1m and at most 7d');
  return {
    ...(seconds !== undefined && { expires_in: seconds }),
    ...(show !== undefined && { shows: show.split(',').map(partOf) }),
  };
}

function partOf(word: string): NonNullable<WantedLink['shows']>[number] {
  const part = LINK_PART_NAMES.find((name) => name === word.trim());
  if (part !== undefined) return part;
  throw new UsageError(`--show ${word}: a link can show ${LINK_PART_NAMES.join(', ')}`);
}

const COLUMNS = ['link_id', 'principal', 'shows', 'created_at', 'expires_at'] as const;

/** Prints a job's links that have not ended, without their secrets. */
export async function listLinks(job_id: string, options: JobOptions): Promise<void> {
  await using service = requireService(options);
  const { items } = await service.client.links(job_id);
  const rowOf = ({ shows, ...link }: Link) =>
    COLUMNS.map((column) => (column === 'shows' ? shows.join(',') || '-' : link[column]));
  printResult(options, tableOf([COLUMNS, ...items.map(rowOf)]), items);
  if (items.length > 0 && !(await service.client.capabilities()).features.includes('links'))
    note('the operator allows no links now, so nobody can open the listed ones');
}

/** Ends a link that is named by its id or by its address. The secret in the address is not sent. */
export async function revokeLink(job_id: string, link: string, options: JobOptions): Promise<void> {
  const link_id = /\/links\/([^/#]+)/.exec(link)?.[1] ?? link;
  await using service = requireService(options);
  const answer = await service.client.revokeLink(job_id, link_id);
  printResult(options, `${printable(`${link_id} is revoked`)}\n`, answer);
}
