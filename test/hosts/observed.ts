/** The results of the hosts when they were last tried: `observed.json`, and docs/HOSTS.md, which is made of it. */
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
  /** In one line. */
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

/** The trials by the name of the host. */
type Observed = Readonly<Record<string, readonly ObservedTrial[]>>;

export function readObserved(): Observed {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Observed;
}

/** Replaces what was kept of the same trials of a host, and forgets those that it no longer has. */
export function keepObserved({ name }: Host | OtherHost, observed: readonly ObservedTrial[]): void {
  const all = readObserved();
  const has = (trial: string) => ALL_HOSTS.some((host) => host.name === name && allTrials(host).includes(trial));
  const others = (all[name] ?? []).filter(({ trial }) => has(trial) && observed.every((one) => one.trial !== trial));
  const ids = TRIALS.map(({ id }) => id);
  const trials = [...others, ...observed].toSorted((one, other) => ids.indexOf(one.trial) - ids.indexOf(other.trial));
  writeFileSync(FILE, `${JSON.stringify({ ...all, [name]: trials }, null, 2)}\n`);
}

/** Whether a trial held on this host when it was last tried there. */
export function hasHeld({ name }: Host, trial: string): boolean {
  return readObserved()[name]?.some((one) => one.trial === trial && one.held) ?? false;
}

/** How long the trials of this host took when they were last run. For one that was never run it is a guess. */
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

\`npm run hosts\` writes this page. It builds each host from the packages of Debian, starts it in QEMU's own emulation, without a network,
copies the checkout into it and runs these trials, two hosts at a time. A host that has the packages and the kernel of another is tried in
what may differ. Long lists of tests are whole on one of the hosts for x86-64 and short on the others; what takes longest is run only with
\`--long\`, and the row says when it was. An emulated host is some ten times slower than a real one, and slower still while others use the
machine: the times say how long a trial takes there, and nothing about the service. A trial that ran out of time counts as not held. A dash
stands for a trial that was not run.`;

/** What was tried by hand where a machine of its own took too long: nothing writes this but whoever tries it. */
const BESIDE = `## Without a machine of its own

On 2026-11-27, in a clean Debian 12 below a directory of the machine that builds hosts: Linux 6.18, hybrid control groups, two cores that
others used. An emulated host then had a fifth of a core: to start one and load the image took half an hour, so their rows are dashes.

| tried | observed |
|---|---|
| the image, which Podman builds of Debian's packages alone, on Debian's Node 18: the service from its root, with the rights of \`compose.yaml\` | every job as it should in both classes, stopped, nothing left |
| an ordinary user's Podman 4.3.1 with nothing but the image's name, as root and as the image's user | the start ends with \`cannot unshare namespaces\` and \`cannot mount …/proc\`, and names docs/operating/containers.md |
| the same Podman by the command of that page, without a network: it gives users no \`/dev/net/tun\` here | ready; a key made by \`podman exec\`; a program heard; one ended when it took too much memory; stopped with 0 |
| Docker 20.10 with nothing but the image's name | the start ends with control groups that are read-only, and names that page |
| the same Docker with the rights of \`compose.user.yaml\`, by \`docker run\`: Compose 1.29 refuses \`systempaths\` | ready; a key made by \`docker exec\`; a program heard; one ended when it took too much memory; stopped with 0 |
| the same with Docker's init | the start ends with \`cannot lay over …/usr\`: that init is a mount below \`/usr\` |
| three of twenty thousand users at the same time, as \`many-users\` makes them | each heard, in 19 s |
| two commands of an ordinary user with Debian's nodejs and npm: \`npm install\` of the packages, \`npx vouchbox run a.py\` | it says that its Node lacks libatomic1; with that package heard, 31 s after the first command |
| the whole tutorial, by a fresh account, from an empty folder | every line as it is there, in 180 s |`;

const OTHERS_HEAD = `## Machines that are not made here

No suite of Debian has their kernel or what is around it. Whoever has one can try it there, in a checkout, as the user who would use it:

\`\`\`sh
npm run --silent hosts -- --here NAME > report.jsonl
\`\`\`

It says what the machine is, and tries \`vouchbox doctor\` and \`vouchbox run\` with that user's rights and no others, in a minute.
\`npm run hosts -- --paste NAME report.jsonl\`, in any checkout, puts such a report into this page. Not tried yet:`;

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
  return `What was run took ${Math.round(seen.reduce((sum, { seconds }) => sum + seconds, 0))} s.`;
}

function rowOf({ trial, held, observed, seconds, when }: ObservedTrial): string {
  return `| ${titleOf(trial)} | ${held ? 'yes' : '**no**'} | ${observed.replaceAll('|', '\\|')} | ${when} | ${seconds} |`;
}

function titleOf(trial: string): string {
  return TRIALS.find(({ id }) => id === trial)?.title ?? trial;
}
