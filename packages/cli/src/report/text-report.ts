/** A grading as tables for a terminal. */
import { tableOf } from '../terminal/print.ts';
import { durationText, type GradedProblem, memoryText, pointsText, shareText } from './graded-problem.ts';

export function textReport(graded: GradedProblem): string {
  const { accepted, tests, groups } = graded;
  const rows = tests.map((test) => [
    ...[test.name, test.verdict, shareText(test, '/')],
    ...[durationText(test.run?.cpu_ms), memoryText(test.run?.memory_peak_bytes)],
    ...(test.remark === null ? [] : [test.remark]),
  ]);
  const groupRows = groups.map((group) => [
    ...[group.name, `${group.acceptedTests}/${group.tests} accepted`],
    shareText(group, '/'),
  ]);
  const counted = groups.length === 0 ? '' : `\n${tableOf(groupRows)}\n`;
  return `${tableOf(rows)}${counted}${accepted ? 'accepted' : 'not accepted'}: ${pointsText(graded, ' of ')} points\n`;
}
