/** The submission for each feature, and the facts that every place must then show. */
import { createHash, randomBytes } from 'node:crypto';
import type { Checker, RunTools } from '@vouchbox/client';
import type { JobSubmission, Language } from '@vouchbox/protocol';
import { archiveOf } from '../../packages/server/src/sandbox/cell/archive.fixture.ts';
import type { Facts } from './facts.ts';
import type { Feature } from './features.ts';
import type { Reading } from './readings.ts';

/** A program and everything that belongs to it. Files to upload are separate members, as each place sends them differently. */
export interface Program extends Omit<JobSubmission, 'language' | 'files' | 'stdin' | 'product'> {
  readonly language: Language;
  readonly stdin?: string;
  /** A standard input that is uploaded and named by its digest. */
  readonly uploadedStdin?: Buffer;
  /** The archive of the program's libraries. It is uploaded and named by its digest. */
  readonly packed?: Buffer<ArrayBuffer>;
  /** Files to upload: their contents, keyed by path below `input/`. */
  readonly uploads?: Readonly<Record<string, Buffer>>;
  /** Input files that other jobs make. Keyed by path below `input/`: the bash program that writes the file as `output/made`. */
  readonly fromJobs?: Readonly<Record<string, string>>;
  /** The previous step's program, if this program is a step of a session. */
  readonly before?: string;
}

/** A test of a grading. */
export interface GivenTest {
  readonly name: string;
  readonly stdin: string;
  readonly expected: string;
}

/** What happens in a scenario besides the program's run: an event or a request. */
export type Act =
  | Reading
  | 'nothing'
  | 'cancelled'
  | 'crash'
  | 'key_rotated'
  | 'signing_off'
  | 'canaried'
  | 'graded'
  | 'linked'
  | 'repeated';

export interface Scenario {
  /** The heading of the feature's row in the page. */
  readonly title: string;
  readonly program: Program;
  readonly sees: Partial<Facts>;
  /** The facts that a place must show. Without them, the place did not try the feature. */
  readonly essential: readonly (keyof Facts)[];
  readonly act: Act;
  /** The functions that answer the program's tool calls. */
  readonly answers?: RunTools;
  /** The program's tool calls and their answers, as in the signed transcript. */
  readonly transcript?: string;
  /** The program that talks to the graded program in each test, and judges the graded program. */
  readonly interactor?: Checker;
  /** The tests of a grading. */
  readonly tests?: readonly GivenTest[];
  /** Files of a problem package, keyed by path. They replace the tests. */
  readonly problem?: Readonly<Record<string, string>>;
  /** The pack that must be built for this scenario. */
  readonly needs?: 'c' | 'python-data';
}

const SUCCEEDED: Partial<Facts> = {
  status: 'succeeded',
  terminal_reason: 'exited',
  exit_code: 0,
  signal: null,
  stderr: '',
  truncated: false,
  violations: [],
  isMeasured: true,
};

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const MIB = 2 ** 20;
/** More bytes than a submission may contain. */
const uploadBytes = 5 * MIB;
const UPLOAD = randomBytes(uploadBytes);
/** Lines that compress badly, so that they are large wherever they are stored. */
const linesOf = (length: number) =>
  Array.from({ length }, (_, at) => `${sha256(`${at}`)}${sha256(`-${at}`)}\n`).join('');
const LARGE = Buffer.concat(Array.from({ length: 80_000 }, (_, at) => createHash('sha256').update(`${at}`).digest()));
const STDIN = Array.from({ length: MIB / 16 }, (_, at) => String(at).padStart(15, '0'))
  .join('\n')
  .padEnd(MIB, '\n');
/** Ends at 1 MiB, in the middle of a line. */
const TRUNCATED = `${'x'.repeat(1023)}\n`.repeat(1024);

const bash = (code: string): Program => ({ language: 'bash', code });
const python = (code: string): Program => ({ language: 'python', code });
const printsLines = (count: number) =>
  python(`from hashlib import sha256
for at in range(${count}):
    print(sha256(b'%d' % at).hexdigest() + sha256(b'-%d' % at).hexdigest())`);
const SLEEPS: Program = { ...bash('echo begun; exec sleep 300'), limits: { wall_seconds: 300 } };
const BOTH = ['status', 'stdout'] as const;
/** Tests for a program that doubles its input: the program passes the first and fails the second. */
const DOUBLED: readonly GivenTest[] = [
  { name: 'right', stdin: '21', expected: '42' },
  { name: 'wrong', stdin: '21', expected: '43' },
];

export const SCENARIOS: Readonly<Record<Feature, Scenario>> = {
  upload: {
    title: 'uploaded file of 5 MiB',
    program: { ...bash('sha256sum < input/large.bin'), uploads: { 'input/large.bin': UPLOAD } },
    sees: { ...SUCCEEDED, stdout: `${sha256(UPLOAD)}  -\n` },
    essential: ['stdout'],
    act: 'nothing',
  },
  from_job: {
    title: 'input that another job made',
    program: {
      ...bash('cat input/a input/b'),
      fromJobs: { 'input/a': 'echo é > output/made', 'input/b': ': > output/made' },
    },
    sees: { ...SUCCEEDED, stdout: 'é\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  session: {
    title: 'step of a session',
    program: {
      ...python('print(double(xs[0]), open("kept").read())'),
      before: 'xs = [21]\ndef double(n): return 2 * n\nopen("kept", "w").write("é")',
    },
    sees: { ...SUCCEEDED, stdout: '42 é\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  tools: {
    title: 'tools, whose calls are recorded',
    program: {
      ...python('print(tools.search(query="é")["pages"][0])'),
      tools: [{ name: 'search' }],
      limits: { wall_seconds: 120 },
    },
    answers: { search: ({ query }: { query: string }) => ({ pages: [`a page about ${query}`] }) },
    transcript: '{"arguments":{"query":"é"},"result":{"pages":["a page about é"]},"tool":"search"}\n',
    sees: { ...SUCCEEDED, stdout: 'a page about é\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  labels: {
    title: 'labels',
    program: { ...bash('echo labelled'), labels: ['crossed', 'é, with a comma'], sign_labels: true },
    sees: { ...SUCCEEDED, stdout: 'labelled\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  large_output: {
    title: 'output of 900 kB',
    program: printsLines(7000),
    sees: { ...SUCCEEDED, stdout: linesOf(7000) },
    essential: ['stdout'],
    act: 'nothing',
  },
  by_digest: {
    title: 'large outputs by their digests',
    program: {
      ...python(`from hashlib import sha256
import sys
open('output/small', 'w').write('small')
open('output/large', 'wb').write(b''.join(sha256(b'%d' % at).digest() for at in range(80000)))
sys.stdout.buffer.write(b'not \\xff text\\n')`),
      outputs: ['output/**'],
      large_outputs: { paths: ['output/large'], stdout: 'output/stdout' },
    },
    sees: {
      ...SUCCEEDED,
      stdout: 'not \ufffd text\n',
      files: { 'output/small': 'small', 'output/large': LARGE.toString('latin1'), 'output/stdout': 'not \xff text\n' },
    },
    essential: ['files'],
    act: 'nothing',
  },
  named_stdin: {
    title: 'stdin of 5 MiB by its digest',
    program: { ...bash('sha256sum'), uploadedStdin: UPLOAD },
    sees: { ...SUCCEEDED, stdout: `${sha256(UPLOAD)}  -\n` },
    essential: ['stdout'],
    act: 'nothing',
  },
  glob: {
    title: 'files by a pattern',
    program: {
      ...bash(`mkdir -p output/deep/er
echo one > output/a.txt
printf 'two\\xff\\0\\r\\n\\xfe' > output/deep/er/b.bin
echo no > other`),
      outputs: ['output/**'],
    },
    // The second file is not text, so a change in any byte is noticed.
    sees: { ...SUCCEEDED, stdout: '', files: { 'output/a.txt': 'one\n', 'output/deep/er/b.bin': 'two\xff\0\r\n\xfe' } },
    essential: ['files'],
    act: 'nothing',
  },
  pair: {
    title: 'two programs that talk',
    program: {
      ...python('print("17", flush=True)\nprint("it said", input())'),
      interactor: python('print(int(input()) * 2, flush=True)\nimport sys\nprint("rest:", sys.stdin.read(), end="")'),
    },
    sees: { ...SUCCEEDED, stdout: '17\nit said 34\n', peer: '34\nrest: it said 34\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  stdin: {
    title: 'stdin of 1 MiB',
    program: { ...bash('sha256sum'), stdin: STDIN },
    sees: { ...SUCCEEDED, stdout: `${sha256(STDIN)}  -\n` },
    essential: ['stdout'],
    act: 'nothing',
  },
  args: {
    title: 'arguments',
    program: { ...bash(`printf '%s|' "$@"`), args: ['a b', 'é', '*', '$HOME', '--flag'] },
    sees: { ...SUCCEEDED, stdout: 'a b|é|*|$HOME|--flag|' },
    essential: ['stdout'],
    act: 'nothing',
  },
  env: {
    title: 'variables',
    program: {
      language: 'node',
      code: 'console.log(process.env.GREETING, process.env.EMPTY === "")',
      env: { GREETING: 'é = "1"', EMPTY: '' },
    },
    sees: { ...SUCCEEDED, stdout: 'é = "1" true\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  reproducible: {
    title: 'fixed hash seeds',
    program: {
      ...python('import os, sys\nprint(sys.flags.hash_randomization, os.environ["PYTHONHASHSEED"])'),
      reproducible: true,
    },
    sees: { ...SUCCEEDED, stdout: '0 0\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  typescript: {
    title: 'TypeScript',
    program: {
      language: 'typescript',
      code: 'const sum = (a: number, b: number): number => a + b;\nconsole.log(sum(40, 2));',
    },
    sees: { ...SUCCEEDED, stdout: '42\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  compiled_pack: {
    title: 'pack that compiles',
    program: {
      language: 'cpp',
      code: '#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2 << "\\n"; return 0; }',
      stdin: '21\n',
    },
    sees: { ...SUCCEEDED, stdout: '42\n' },
    essential: ['stdout'],
    act: 'nothing',
    needs: 'c',
  },
  built: {
    title: 'program that was built before',
    program: {
      language: 'cpp',
      code: '#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * FACTOR << "\\n"; return 0; }',
      // The program compiles only with its build's options.
      build: { options: ['-DFACTOR=3', '-O1'] },
      stdin: '21\n',
    },
    sees: { ...SUCCEEDED, stdout: '63\n' },
    essential: ['stdout'],
    act: 'nothing',
    needs: 'c',
  },
  library_pack: {
    title: 'pack of libraries',
    program: { ...python('import numpy\nprint(int(numpy.arange(10).sum()))'), runtime: 'python-data' },
    sees: { ...SUCCEEDED, stdout: '45\n' },
    essential: ['stdout'],
    act: 'nothing',
    needs: 'python-data',
  },
  libraries: {
    title: 'libraries of its own',
    program: {
      ...python('import tiny\nprint(tiny.NAME)'),
      packed: archiveOf([{ name: 'tiny/__init__.py', content: 'NAME = "é"\n' }]),
    },
    sees: { ...SUCCEEDED, stdout: 'é\n' },
    essential: ['stdout'],
    act: 'nothing',
  },
  wall_seconds: {
    title: '`wall_seconds` ends it',
    program: { ...bash('echo begun; exec sleep 60'), limits: { wall_seconds: 1 } },
    sees: { status: 'timed_out', terminal_reason: 'wall_limit', stdout: 'begun\n', violations: ['wall_time'] },
    essential: BOTH,
    act: 'nothing',
  },
  cpu_seconds: {
    title: '`cpu_seconds` ends it',
    program: { ...bash('echo begun; while :; do :; done'), limits: { cpu_seconds: 1, wall_seconds: 60 } },
    sees: { status: 'timed_out', terminal_reason: 'cpu_limit', stdout: 'begun\n', violations: ['cpu_time'] },
    essential: BOTH,
    act: 'nothing',
  },
  mem_mb: {
    title: '`mem_mb` ends it',
    program: {
      ...python('print("begun", flush=True)\nx = bytearray(1 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1'),
      limits: { mem_mb: 64 },
    },
    sees: { status: 'oom_killed', terminal_reason: 'memory_limit', stdout: 'begun\n', violations: ['memory'] },
    essential: BOTH,
    act: 'nothing',
  },
  max_pids: {
    title: '`max_pids` refuses a process',
    program: {
      ...python(`import os, time
try:
    for _ in range(40):
        if os.fork() == 0:
            time.sleep(60)
except OSError:
    print('refused', flush=True)
    os._exit(3)`),
      limits: { max_pids: 16 },
    },
    sees: { status: 'failed', terminal_reason: 'exited', exit_code: 3, stdout: 'refused\n', violations: ['pids'] },
    essential: BOTH,
    act: 'nothing',
  },
  max_file_mb: {
    title: '`max_file_mb` ends it',
    program: { ...bash('echo begun; exec head -c 3000000 /dev/zero > output/large'), limits: { max_file_mb: 1 } },
    sees: {
      status: 'failed',
      terminal_reason: 'signaled',
      signal: 'SIGXFSZ',
      stdout: 'begun\n',
      violations: ['file_size'],
    },
    essential: BOTH,
    act: 'nothing',
  },
  failed: {
    title: 'program that fails',
    program: bash('echo out; echo why >&2; exit 3'),
    sees: {
      ...SUCCEEDED,
      status: 'failed',
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'why\n',
    },
    essential: BOTH,
    act: 'nothing',
  },
  compile_failed: {
    title: 'program that does not compile',
    program: { language: 'cpp', code: 'int main() { return missing; }' },
    sees: {
      status: 'failed',
      terminal_reason: 'compile_failed',
      exit_code: null,
      signal: null,
      stdout: '',
      truncated: false,
      violations: ['compile'],
    },
    essential: ['status'],
    act: 'nothing',
    needs: 'c',
  },
  truncated: {
    title: 'truncated output',
    program: python(`print(('x' * 1023 + '\\n') * 1500, end='')`),
    sees: { ...SUCCEEDED, truncated: true, stdout: TRUNCATED },
    essential: ['truncated', 'stdout'],
    act: 'nothing',
  },
  cancelled: {
    title: 'cancelled',
    program: SLEEPS,
    sees: { status: 'cancelled', terminal_reason: 'cancelled', stdout: 'begun\n', exit_code: null },
    essential: ['status'],
    act: 'cancelled',
  },
  crash: {
    title: 'ended by a crash of the service',
    program: SLEEPS,
    sees: { status: 'error', terminal_reason: 'server_restarted', stdout: 'begun\n', exit_code: null },
    essential: ['status'],
    act: 'crash',
  },
  key_rotated: {
    title: 'signing key rotated since',
    program: bash('echo signed'),
    sees: { ...SUCCEEDED, stdout: 'signed\n' },
    essential: BOTH,
    act: 'key_rotated',
  },
  signing_off: {
    title: 'signing off',
    program: bash('echo unsigned'),
    sees: { ...SUCCEEDED, stdout: 'unsigned\n' },
    essential: BOTH,
    act: 'signing_off',
  },
  canaried: {
    title: 'canary beside it',
    program: bash('echo beside a canary'),
    sees: { ...SUCCEEDED, stdout: 'beside a canary\n' },
    essential: BOTH,
    act: 'canaried',
  },
  promised: {
    title: 'promise that the log answers',
    program: { ...bash('echo promised'), promise: true },
    sees: { ...SUCCEEDED, stdout: 'promised\n' },
    essential: BOTH,
    act: 'nothing',
  },
  graded: {
    title: 'graded',
    program: python('print(int(input()) * 2)'),
    tests: DOUBLED,
    sees: { verdicts: ['accepted', 'wrong_answer'], grading: 'finished, 2 of 2 runs' },
    essential: ['verdicts'],
    act: 'graded',
  },
  interactive: {
    title: 'graded by an interactor',
    program: python('print(int(input()) * 2, flush=True)'),
    interactor: {
      language: 'python',
      code: `import sys
print(open('input/stdin').read(), flush=True)
sys.exit(0 if input() == open('input/expected').read() else 1)`,
    },
    tests: DOUBLED,
    sees: { verdicts: ['accepted', 'wrong_answer'], grading: 'finished, 2 of 2 runs' },
    essential: ['verdicts'],
    act: 'graded',
  },
  packaged: {
    title: 'problem package of Kattis',
    program: python('print(int(input()) * 2)'),
    problem: {
      'problem.yaml': 'name: Twice\nvalidation: custom\n',
      'data/sample/1.in': '21\n',
      'data/sample/1.ans': '42\n',
      'data/secret/1.in': '21\n',
      'data/secret/1.ans': '43\n',
      'output_validators/same.py': `import sys
answer = open(sys.argv[2]).read()
sys.exit(42 if sys.stdin.read() == answer else 43)`,
    },
    sees: { verdicts: ['accepted', 'wrong_answer'], grading: 'finished, 2 of 2 runs' },
    essential: ['verdicts'],
    act: 'graded',
  },
  repeated: {
    title: 'repeated with one key',
    program: bash('echo once'),
    sees: { ...SUCCEEDED, stdout: 'once\n', jobs: 1 },
    essential: ['stdout', 'jobs'],
    act: 'repeated',
  },
  links: {
    title: 'links to its result',
    // The output is large enough for the object store.
    program: printsLines(700),
    sees: { ...SUCCEEDED, stdout: linesOf(700), linked: linesOf(700) },
    essential: ['linked'],
    act: 'linked',
  },
  evidence: {
    title: 'page of evidence, saved by the dashboard',
    program: bash('echo é'),
    sees: { ...SUCCEEDED, stdout: 'é\n', evidence: 'é\n' },
    essential: ['evidence'],
    act: 'evidence',
  },
  listed: {
    title: 'first line in the list of jobs',
    program: bash('#!/bin/bash\n\n  # says é\necho listed'),
    sees: { ...SUCCEEDED, stdout: 'listed\n', listed: '# says é' },
    essential: ['listed'],
    act: 'listed',
  },
  counted: {
    title: 'counted in the last hour of the status',
    program: bash('exit 3'),
    sees: { ...SUCCEEDED, status: 'failed', exit_code: 3, stdout: '', counted: 1 },
    essential: ['counted'],
    act: 'counted',
  },
  foreign_names: {
    title: 'names that are not UTF-8',
    program: {
      ...python(`import os
os.makedirs('output', exist_ok=True)
open(b'output/bad-\\xff.txt', 'w').write('bad')
open('output/good.txt', 'w').write('good')`),
      outputs: ['output/**'],
    },
    sees: { ...SUCCEEDED, files: { 'output/good.txt': 'good' }, violations: ['output_path'] },
    essential: ['files'],
    act: 'nothing',
  },
};

/** The packs that scenarios need, each as the name of its recipe. */
export const PACKS: readonly string[] = ['c', 'python-data'];
