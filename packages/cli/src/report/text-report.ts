/** A grading as tables for a terminal. */
import { tableOf } from '../terminal/print.ts';
import { durationText, type GradedProblem, memoryText, pointsText } from './graded-problem.ts';

export function textReport({ accepted, points, pointsMax, tests, groups }: GradedProblem): string {
  const rows = tests.map((test) => [
    ...[test.name, test.verdict, `${pointsText(test.points)}/${pointsText(test.pointsMax)}`],
    ...[durationText(test.cpuMs), memoryText(test.memoryBytes)],
    ...(test.remark === null ? [] : [test.remark]),
  ]);
  const groupRows = groups.map((group) => [
    ...[group.name, `${group.acceptedTests}/${group.tests} accepted`],
    `${pointsText(group.points)}/${pointsText(group.pointsMax)}`,
  ]);
  const counted = groups.length === 0 ? '' : `\n${tableOf(groupRows)}\n`;
  return `${tableOf(rows)}${counted}${accepted ? 'accepted' : 'not accepted'}: ${pointsText(points)} of ${pointsText(pointsMax)} points\n`;
}
