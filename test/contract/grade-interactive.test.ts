/** `vouchbox grade` with interactive problems: a package whose validator gives points, and a plain folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
const scratch = mkdtempSync(join(tmpdir(), 'svc-interactive-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const guess = `import sys
n, secret, most = map(int, open(sys.argv[1]).read().split())
print(n, flush=True)
for asked in range(1, n + 1):
    guess = int(input() or 0)
    if guess == secret: break
    print("higher" if guess < secret else "lower", flush=True)
else:
    sys.exit(43)
print("correct", flush=True)
open(sys.argv[3] + "score.txt", "w").write(str(most if asked <= 4 else most / 2))
sys.exit(42)`;
const files: Readonly<Record<string, string>> = {
  'guess/problem.yaml': 'name: Guess\ntype: scoring\nvalidation: custom interactive score\n',
  'guess/.timelimit': '1',
  'guess/data/testdata.yaml': 'on_reject: continue\ngrader_flags: ignore_sample\nrange: 0 100\n',
  'guess/data/secret/low/testdata.yaml': 'grader_flags: min\nrange: 0 30\n',
  'guess/data/secret/high/testdata.yaml': 'grader_flags: min\nrange: 0 70\n',
  'guess/data/sample/1.in': '8 3 100\n',
  'guess/data/sample/1.ans': '',
  'guess/data/secret/low/1.in': '8 2 30\n',
  'guess/data/secret/low/1.ans': '',
  'guess/data/secret/high/1.in': '8 7 70\n',
  'guess/data/secret/high/1.ans': '',
  'guess/output_validators/guess.py': guess,
};
const programs = {
  'halves.py': `low, high = 1, int(input())
while True:
    print((low + high) // 2, flush=True)
    said = input()
    if said == "correct": break
    low, high = ((low + high) // 2 + 1, high) if said == "higher" else (low, (low + high) // 2 - 1)`,
  'each.py': `input(); guess = 1
while print(guess, flush=True) or input() != "correct": guess += 1`,
  'judge.py': `import sys
print(open("input/stdin").read().strip(), flush=True)
sys.exit(input() != open("input/expected").read().strip())`,
  'double.py': 'print(2 * int(input()))',
  'doubles/one.in': '4\n',
  'doubles/one.out': '8\n',
};

beforeAll(() => {
  for (const [path, text] of Object.entries({ ...files, ...programs })) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    writeFileSync(join(scratch, path), text);
  }
});

const graded = (...words: string[]) =>
  vouchbox(['grade', ...words], {
    cwd: scratch,
    env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key },
  });

test("vouchbox grade gives a program the points from an interactive problem's validator, and the verdict verifies", async () => {
  const { code, stdout, stderr } = await graded('halves.py', '--tests', 'guess', '--output', 'guessed');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/accepted: 100 of 100 points\n$/)]);
  expect(stderr).toMatch(/the samples are not run/);
  const key = join(scratch, 'key.pem');
  writeFileSync(key, (await rig().alpha.client.publicKey()).public_key_pem);
  const words = ['verdict', join(scratch, 'guessed'), '--public-key', key, '--tenant', 'alpha'];
  expect((await serviceVerify(words)).exitCode).toBe(0);
});

test("a program gets partial points in an interactive problem if the problem's validator gives them", async () => {
  const { code, stdout } = await graded('each.py', '--tests', 'guess');
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(
      /secret\/high\/1 {2}partial .*\n(.*\n)*secret\/low\/1 .*accepted .*\n(.*\n)*not accepted: 65 of 100 points\n$/,
    ),
  ]);
});

test('vouchbox grade refuses --checker for an interactive problem', async () => {
  const { code, stderr } = await graded('halves.py', '--tests', 'guess', '--checker', 'judge.py');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^vouchbox: the problem is interactive: .*\n$/)]);
});

test('with --interactor, vouchbox grade takes a plain folder of tests as an interactive problem', async () => {
  const { code, stdout } = await graded('double.py', '--tests', 'doubles', '--interactor', 'judge.py');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^one {2}accepted/)]);
});
