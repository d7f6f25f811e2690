/** The report page: whatever a program, a test or a package says stays text and never becomes markup. */
import { expect, test } from 'vitest';
import type { GradedProblem } from './graded-problem.ts';
import { htmlReport } from './html-report.ts';

const HOSTILE = `</pre><script>alert("x")</script><img src=x onerror='y'>&amp;\u202e\u0000\u001b[31m`;

const graded = (text: string): GradedProblem => ({
  title: text,
  program: text,
  accepted: false,
  points: 1 / 3,
  points_max: 2,
  tests: [
    {
      ...{ name: text, verdict: text as 'wrong_answer', points: 1 / 3, points_max: 1 },
      run: { job_id: text, cpu_ms: 12, wall_ms: 1500, memory_peak_bytes: 3 * 2 ** 20 },
      remark: text,
      texts: { input: text, expected: text, output: text, errors: text },
    },
    {
      ...{ name: 'secret/1', verdict: 'accepted', points: 1, points_max: 1 },
      run: { job_id: 'j', cpu_ms: null, wall_ms: null, memory_peak_bytes: null },
      remark: null,
      texts: null,
    },
  ],
  groups: [{ name: text, acceptedTests: 1, tests: 2, points: 1, points_max: 2 }],
  judge: text,
});

const tagsOf = (page: string) => page.match(/<[^>]*>/g);

test('the page about a grading escapes every text, so that no text becomes markup', () => {
  const page = htmlReport(graded(HOSTILE), HOSTILE);
  expect(tagsOf(page)).toEqual(tagsOf(htmlReport(graded('plain'), 'plain')));
  expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
  for (const mark of ['\u202e', '\0', '\u001b']) expect(page).not.toContain(mark);
});

test('the page about a grading loads nothing, and its policy allows only its own style', () => {
  const page = htmlReport(graded('plain'), 'now');
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`.replaceAll("'", '&#39;'));
  expect(page).not.toMatch(/<script|<link|<img|src=|url\(|https?:/);
});

test('the page about a grading shows points, costs and groups, but texts only of samples', () => {
  const page = htmlReport(graded('plain'), 'now');
  for (const shown of ['0.33 of 2 points', '12 ms', '1.50 s', '3.0 MiB', '1 of 2']) expect(page).toContain(shown);
  expect(page.match(/<details/g)).toHaveLength(1);
});

test('the page about a grading cuts a long text, and says how much is missing', () => {
  const { tests, ...others } = graded('plain');
  const long = { input: 'x'.repeat(5000), expected: '', output: '', errors: '' };
  const page = htmlReport({ ...others, tests: tests.map((each) => ({ ...each, texts: each.texts && long })) }, 'now');
  expect(page).toContain('… and 1000 more characters');
  expect(page).not.toContain('x'.repeat(4001));
});
