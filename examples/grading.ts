/** Grades a submission with tests that it does not see, and checks the signed verdict without the service. */
import { client } from './service.ts';

const submission = 'print(sum(map(int, input().split())))';

const { verdict, job_id } = await client.grade(submission, {
  tests: [
    { name: 'small', stdin: '1 2', expected: '3' },
    { name: 'negative', stdin: '-5 5', expected: '0' },
    { name: 'many', stdin: Array.from({ length: 1000 }, (_, n) => n).join(' '), expected: '499500', points: 3 },
  ],
  limits: { wall_seconds: 2 },
});

for (const { name, verdict: said, points, points_max } of verdict.tests) {
  console.log(`${name}: ${said}, ${points} of ${points_max}`);
}
console.log(`${verdict.accepted ? 'accepted' : 'not accepted'} with ${verdict.points} points`);

const { receipt_sha256 } = await client.verify(job_id);
console.log(`the judge's record is whole: sha256:${receipt_sha256.slice(0, 12)}`);
