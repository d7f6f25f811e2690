/** Shows a report: a line for each check and each fact, or one JSON object. */
import { printable, printableJson } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import type { Check, Facts, Report } from './report.ts';

/** The texts for stdout and stderr. */
export interface Shown {
  readonly stdout: string;
  readonly stderr: string;
}

/** Shows a report to a person: the verdict on stdout and, if it is bad, its reason once more on stderr. */
export function showText({ exitCode, checks, facts, notice }: Report): Shown {
  const lines = [
    ...checks.map(checkLine),
    ...Object.entries(facts).map(factLine),
    ...(notice === null ? [] : [notice]),
  ];
  const bad = checks.find(({ isGood }) => !isGood);
  const reason = bad === undefined ? '' : `service-verify: refused at ${bad.name}: ${printable(bad.detail)}\n`;
  return { stdout: lines.map((line) => `${line}\n`).join(''), stderr: exitCode === EXIT.good ? '' : reason };
}

/** Shows a report to a machine: one line of JSON on stdout. `more` has the members that only this command adds. */
export function showJson({ exitCode, checks, facts, notice }: Report, more: object = {}): Shown {
  const value = {
    exit_code: exitCode,
    verdict: exitCode === EXIT.good ? 'good' : 'refused',
    checks: checks.map(({ name, isGood, detail }) => ({ check: name, good: isGood, detail })),
    facts,
    notice,
    ...more,
  };
  return { stdout: `${printableJson(value)}\n`, stderr: '' };
}

function checkLine({ name, isGood, detail }: Check): string {
  return `${isGood ? 'ok    ' : 'FAILED'} ${printable(name).padEnd(16)} ${printable(detail)}`;
}

function factLine([name, value]: [string, Facts[string]]): string {
  return `       ${printable(name).padEnd(16)} ${value === null ? 'not stated' : printable(String(value))}`;
}
