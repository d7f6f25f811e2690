/** `vouchbox doctor`: tries every control of this host and says what passed, what did not, and what to do about it. */
import { styleText } from 'node:util';
import { printable } from '@vouchbox/protocol/vocabulary';
import { type Check, type CheckResult, type DoctorReport, doctor } from '@vouchbox/server';
import { EXIT } from './failures/exit-code.ts';
import { administeredServiceIfAny } from './operator/administered-service.ts';
import { enterOwnUsers } from './service/own-users.ts';

export interface DoctorCommandOptions {
  readonly json?: true;
  readonly dataDir?: string;
  readonly runtimePacksDir?: string;
}

/** Exits with 0 if programs can be isolated on this host, whatever else could be better. */
export async function doctorCommand({ json, ...options }: DoctorCommandOptions): Promise<number> {
  await enterOwnUsers();
  const config = await administeredServiceIfAny(options);
  const report = await doctor(config, json ? () => {} : (check) => process.stdout.write(textOf(check)));
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : summaryOf(report));
  return report.usable === null ? EXIT.failed : EXIT.ok;
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

function summaryOf({ usable, providers, checks, host_posture }: DoctorReport): string {
  const count = (wanted: CheckResult) => checks.filter(({ result }) => result === wanted).length;
  const classes = providers.map(({ provider, languages }) => `${provider}: ${languages.join(', ') || 'nothing runs'}`);
  return [
    '',
    `${count('pass')} passed, ${count('warn')} warnings, ${count('fail')} failed, ${count('not_tried')} not tried`,
    classes.join('; '),
    usable === null
      ? 'no program can be isolated on this host: fix what failed, from the top'
      : `programs are isolated by ${usable}, the strongest that works here`,
    `host posture sha256 ${host_posture.sha256}`,
    '',
  ].join('\n');
}
