/** What the hosts showed when they were last tried: `observed.json`, and docs/HOSTS.md, which is made of it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOSTS, type Host } from './host.ts';
import { TRIALS } from './within/trials.ts';

const FILE = join(import.meta.dirname, 'observed.json');
const TABLE = join(import.meta.dirname, '../../docs/HOSTS.md');

export interface ObservedHost {
  /** The day, as YYYY-MM-DD. */
  readonly when: string;
  /** From the begin of its build to its end. */
  readonly seconds: number;
  readonly trials: readonly ObservedTrial[];
}

interface ObservedTrial {
  readonly trial: string;
  readonly held: boolean;
  readonly observed: string;
  readonly seconds: number;
}

type Observed = Readonly<Record<string, ObservedHost>>;

export function readObserved(): Observed {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Observed;
}

/** Replaces what was kept of one host. */
export function keepObserved(name: string, host: ObservedHost): void {
  writeFileSync(FILE, `${JSON.stringify({ ...readObserved(), [name]: host }, null, 2)}\n`);
}

export function writeTable(): void {
  writeFileSync(TABLE, tableOf(readObserved()));
}

/** The text of docs/HOSTS.md. */
export function tableOf(observed: Observed): string {
  const hosts = HOSTS.flatMap((host) => {
    const seen = observed[host.name];
    return seen === undefined ? [] : [{ host, seen }];
  });
  return `${[HEAD, ...hosts.map(({ host, seen }) => section(host, seen))].join('\n\n')}\n`;
}

const HEAD = `# Hosts on which Vouchbox was tried

\`npm run hosts\` writes this page. It builds each host from the packages of Debian, starts it in QEMU's own emulation, without a
network, copies the checkout into it and runs these trials. An emulated host is some ten times slower than a real one: the times
say how long a trial takes there and nothing about the service.`;

function section({ name, title, cores, memoryMb }: Host, { when, seconds, trials }: ObservedHost): string {
  const [facts, others] = [
    trials.filter(({ trial }) => trial === 'facts'),
    trials.filter(({ trial }) => trial !== 'facts'),
  ];
  const lines = [
    `## ${title}`,
    '',
    `\`npm run hosts -- ${name}\`, ${when}, ${Math.round(seconds / 60)} minutes with its build; ${cores} cores, ${memoryMb} MiB.`,
    ...facts.map(({ observed }) => `It has ${observed}.`),
    '',
    '| tried | held | observed | seconds |',
    '|---|---|---|---|',
    ...others.map(rowOf),
  ];
  return lines.join('\n');
}

function rowOf({ trial, held, observed, seconds }: ObservedTrial): string {
  const { title = trial } = TRIALS.find(({ id }) => id === trial) ?? {};
  return `| ${title} | ${held ? 'yes' : '**no**'} | ${observed.replaceAll('|', '\\|')} | ${seconds} |`;
}
