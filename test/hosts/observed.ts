/** The hosts' latest results: `observed.json`, and docs/HOSTS.md, made from `observed.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_HOSTS, allTrials, HOSTS, type Host, OTHER_HOSTS, type OtherHost } from './host.ts';
import type { Reported } from './within/outcome.ts';
import { TRIALS } from './within/trials.ts';

const FILE = join(import.meta.dirname, 'observed.json');
const TABLE = join(import.meta.dirname, '../../docs/HOSTS.md');
const SECONDS_USUAL = 200;

/** The result of one trial on one host. */
export interface ObservedTrial {
  readonly trial: string;
  readonly held: boolean;
  /** What the trial showed, in one line. */
  readonly observed: string;
  readonly seconds: number;
  /** The day, as YYYY-MM-DD. */
  readonly when: string;
}

export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

export function observedOf({ trial, held, observed, seconds }: Reported, when: string): ObservedTrial {
  return { trial, held, observed, seconds, when };
}

/** The trials, keyed by the host's name. */
type Observed = Readonly<Record<string, readonly ObservedTrial[]>>;

export function readObserved(): Observed {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Observed;
}

/** Replaces these trials' stored results, and removes results of trials that the host no longer has. */
export function keepObserved({ name }: Host | OtherHost, observed: readonly ObservedTrial[]): void {
  const all = readObserved();
  const has = (trial: string) => ALL_HOSTS.some((host) => host.name === name && allTrials(host).includes(trial));
  const others = (all[name] ?? []).filter(({ trial }) => has(trial) && observed.every((one) => one.trial !== trial));
  const ids = TRIALS.map(({ id }) => id);
  const trials = [...others, ...observed].toSorted((one, other) => ids.indexOf(one.trial) - ids.indexOf(other.trial));
  writeFileSync(FILE, `${JSON.stringify({ ...all, [name]: trials }, null, 2)}\n`);
}

/** Whether the trial held on this host when it last ran there. */
export function hasHeld({ name }: Host, trial: string): boolean {
  return readObserved()[name]?.some((one) => one.trial === trial && one.held) ?? false;
}

/** How long this host's trials took when they last ran. For a trial that never ran, the time is a guess. */
export function secondsOf({ name, trials }: Host): number {
  const seen = readObserved()[name] ?? [];
  const each = trials.map((id) => seen.find(({ trial }) => trial === id)?.seconds ?? SECONDS_USUAL);
  return each.reduce((sum, seconds) => sum + seconds, 0);
}

export function writeTable(): void {
  writeFileSync(TABLE, tableOf(readObserved()));
}

/** The text of docs/HOSTS.md. */
export function tableOf(observed: Observed): string {
  const seenOf = ({ name }: Host | OtherHost) => observed[name] ?? [];
  const made = HOSTS.map((host) => section(host, seenOf(host)));
  const missing = OTHER_HOSTS.filter((host) => seenOf(host).length === 0);
  const reported = OTHER_HOSTS.filter((host) => !missing.includes(host));
  const list = missing.map(({ name, title }) => `- \`${name}\`: ${title}`).join('\n');
  const others = reported.map((host) => otherSection(host, seenOf(host)));
  return `${[HEAD, ...made, BESIDE, OTHERS_HEAD, list, ...others].join('\n\n')}\n`;
}

const HEAD = `# Hosts on which Vouchbox was tried

\`npm run hosts\` writes this page. It builds each host from Debian's packages, starts it in QEMU's emulation without a network, copies the
checkout into it, and runs these trials, two hosts at a time. If a host shares packages and kernel with another, only the trials that may
differ run on it. Long lists of tests run whole on one of the x86-64 hosts, and in short form on the others. The longest trials run only
with \`--long\`, and their rows say when they ran. An emulated host is some ten times slower than a real one, and slower still while others
use the machine. So the times say only how long a trial takes there, and nothing about the service. A trial that ran out of time counts as
failed. A dash stands for a trial that was not run.`;

/** The trials that were made by hand because a separate machine took too long. Whoever makes such a trial adds it here. */
const BESIDE = `## Without a machine of its own

These trials ran on 2026-11-27 in a clean root of Debian 12 on the machine that builds the hosts: Linux 6.18, hybrid control groups, two
shared cores. What an emulated host showed since stands above.

| tried | observed |
|---|---|
| the image, which Podman built from Debian's packages alone, on Debian's Node 18: the service ran from the image's root, with the rights of \`compose.yaml\` | every job as expected in both classes, stopped, nothing left |
| an ordinary user's Podman 4.3.1 without options, as root and as the image's user | the start fails with \`cannot unshare namespaces\` and \`cannot mount …/proc\`, and names docs/operating/containers.md |
| the same Podman with the command of that page, without a network, because this machine gives users no \`/dev/net/tun\` | ready; a key made by \`podman exec\`; a program's output shown; a program ended when it took too much memory; stopped with 0 |
| Docker 20.10 without options | the start fails because control groups are read-only, and names that page |
| the same Docker with the rights of \`compose.user.yaml\`, by \`docker run\`, because Compose 1.29 refuses \`systempaths\` | ready; a key made by \`docker exec\`; a program's output shown; a program ended when it took too much memory; stopped with 0 |
| the same with Docker's init | the start fails with \`cannot lay over …/usr\`, because that init is a mount below \`/usr\` |
| three of twenty thousand users at the same time, as \`many-users\` makes them | the output of each, in 19 s |
| two commands of an ordinary user with Debian's nodejs and npm: \`npm install\` of the packages, \`npx vouchbox run a.py\` | the command says that its Node lacks libatomic1; with that package, output came 31 s after the first command |
| the whole tutorial, by a new account, from an empty folder | every line as on the page, in 180 s |`;

const OTHERS_HEAD = `## Machines that are not made here

Debian has no packages of their kernels and systems. If you have one, try it there, in a checkout, as the user who would use it:

\`\`\`sh
npm run --silent hosts -- --here NAME > report.jsonl
\`\`\`

The command names the machine, and tries \`vouchbox doctor\` and \`vouchbox run\` with only that user's rights, in a minute.
\`npm run hosts -- --paste NAME report.jsonl\`, in any checkout, adds such a report to this page. Not tried yet:`;

function otherSection({ name, title, trials }: OtherHost, seen: readonly ObservedTrial[]): string {
  return [`### ${title}`, '', `\`${name}\`, as it was reported.`, '', ...table(trials, seen)].join('\n');
}

/** Results of trials that this host no longer has are left out. */
function section(host: Host, kept: readonly ObservedTrial[]): string {
  const { name, title, cores, memoryMb } = host;
  const trials = allTrials(host);
  const seen = kept.filter(({ trial }) => trials.includes(trial));
  return [
    `## ${title}`,
    '',
    `\`npm run hosts -- ${name}\`, with ${cores === 1 ? '1 core' : `${cores} cores`} and ${memoryMb} MiB. ${timeOf(seen)}`,
    '',
    ...table(trials, seen),
  ].join('\n');
}

function table(trials: readonly string[], seen: readonly ObservedTrial[]): readonly string[] {
  const rows = TRIALS.filter(({ id }) => trials.includes(id)).map(({ id }) => {
    const one = seen.find(({ trial }) => trial === id);
    return one === undefined ? `| ${titleOf(id)} | – | not run | – | – |` : rowOf(one);
  });
  return ['| tried | held | observed | when | seconds |', '|---|---|---|---|---|', ...rows];
}

function timeOf(seen: readonly ObservedTrial[]): string {
  if (seen.length === 0) return 'Nothing was run.';
  return `The trials took ${Math.round(seen.reduce((sum, { seconds }) => sum + seconds, 0))} s.`;
}

function rowOf({ trial, held, observed, seconds, when }: ObservedTrial): string {
  return `| ${titleOf(trial)} | ${held ? 'yes' : '**no**'} | ${observed.replaceAll('|', '\\|')} | ${when} | ${seconds} |`;
}

function titleOf(trial: string): string {
  return TRIALS.find(({ id }) => id === trial)?.title ?? trial;
}
