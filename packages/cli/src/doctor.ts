/** `vouchbox doctor`: tries every control on this host and reports the results, with advice. */
import { rmdirSync } from 'node:fs';
import { styleText } from 'node:util';
import { printable } from '@vouchbox/protocol/vocabulary';
import { type Check, type CheckResult, type DoctorReport, doctor } from '@vouchbox/server';
import { EXIT } from './failures/exit-code.ts';
import { temporaryDirectory } from './files/temporary-directory.ts';
import { administeredServiceIfAny } from './operator/administered-service.ts';
import { enterOwnUsers } from './service/service-or-own.ts';
import { printResult } from './terminal/print.ts';

export interface DoctorCommandOptions {
  readonly json?: true;
  readonly dataDir?: string;
  readonly runtimePacksDir?: string;
}

/** Exits with 0 if this host can do what its service needs. Most services run programs, so they need isolation. */
export async function doctorCommand({ json, ...options }: DoctorCommandOptions): Promise<number> {
  // A missing temporary directory is reported first: it would make several checks fail with misleading advice.
  rmdirSync(temporaryDirectory('svc-doctor-'));
  const config = await administeredServiceIfAny(options);
  if (config.roles.includes('executor')) await enterOwnUsers();
  const report = await doctor(config, json ? () => {} : (check) => process.stdout.write(textOf(check)));
  printResult({ json }, summaryOf(report), report);
  return isFit(report) ? EXIT.ok : EXIT.failed;
}

/** A node that runs programs must be able to isolate them. On any other node, no check may fail. */
function isFit({ makes_cells, usable, checks }: DoctorReport): boolean {
  return makes_cells ? usable !== null : checks.every(({ result }) => result !== 'fail');
}

const MARKS: Readonly<Record<CheckResult, string>> = {
  pass: styleText('green', 'pass'),
  warn: styleText('yellow', 'warn'),
  fail: styleText('red', 'fail'),
  not_tried: styleText('dim', 'skip'),
};

function textOf({ result, title, observed, fix }: Check): string {
  const line = `${MARKS[result]}  ${title}: ${printable(observed, 2000)}\n`;
  return fix === null ? line : `${line}      → ${printable(fix, 2000)}\n`;
}

function summaryOf({ makes_cells, usable, providers, checks, host_posture }: DoctorReport): string {
  const count = (wanted: CheckResult) => checks.filter(({ result }) => result === wanted).length;
  const classes = providers.map(({ provider, languages }) => `${provider}: ${languages.join(', ') || 'nothing runs'}`);
  return [
    '',
    `${count('pass')} passed, ${count('warn') === 1 ? '1 warning' : `${count('warn')} warnings`}, ${count('fail')} failed, ${count('not_tried')} not tried`,
    classes.join('; '),
    makes_cells ? isolationOf(usable) : 'this node runs no programs, so it did not try what cells need',
    `host posture sha256 ${host_posture.sha256}`,
    '',
  ].join('\n');
}

function isolationOf(usable: DoctorReport['usable']): string {
  return usable === null
    ? 'no program can be isolated on this host: fix what failed, from the top'
    : `programs are isolated by ${usable}, the strongest provider that works here`;
}
