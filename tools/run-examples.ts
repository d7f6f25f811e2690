/**
 * `npm run examples`: starts a service, runs every example against it as a reader would, and checks what each example prints.
 * Arguments choose examples by name. Some examples need third-party SDKs. These are first installed beside the examples, from the
 * lock in `examples/`.
 */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedService } from 'vouchbox/embedded-service';

const ROOT = join(import.meta.dirname, '..');
const EXAMPLES = join(ROOT, 'examples');

interface Example {
  readonly file: string;
  /** What a working example prints. */
  readonly prints: readonly RegExp[];
  /** True if the example needs packages that this project does not have. */
  readonly brings?: true;
}

const ALL: readonly Example[] = [
  { file: 'agent-loop.ts', prints: [/ValueError/, /the answer is 42, .*sales\.csv, total\.txt/, /2 steps are whole/] },
  { file: 'grading.ts', prints: [/many: accepted, 3 of 3/, /^accepted with 5 points$/m, /record is whole/] },
  { file: 'mcp-client.ts', prints: [/run_code/, /succeeded: 42, with output\/answer\.txt/] },
  { file: 'ci-gate.ts', prints: [/succeeded: exit code 0/, /was not: exit code 5/] },
  { file: 'plot.ts', prints: [/succeeded: a picture of \d{4,} bytes|^not run: /m] },
  { file: 'ai-sdk-tool.ts', prints: [/42/, /the job of an aborted \w+ was cancelled/], brings: true },
  { file: 'openai-agents-tool.ts', prints: [/42/, /the job of an aborted \w+ was cancelled/], brings: true },
  { file: 'langchain-tool.ts', prints: [/42/, /the job of an aborted \w+ was cancelled/], brings: true },
  { file: 'ai-sdk-own-tools.ts', prints: [/42 no plum is sold/], brings: true },
  { file: 'openai-agents-own-tools.ts', prints: [/42 no plum is sold/], brings: true },
  { file: 'langchain-own-tools.ts', prints: [/42 no plum is sold/], brings: true },
  {
    file: 'code-mode-executor.ts',
    prints: [/"result":42,"logs":\["asked twice"\]/, /^Code execution failed: no plum is sold$/m],
    brings: true,
  },
  {
    file: 'deepagents-backend.ts',
    prints: [
      /ValueError: invalid literal/,
      /execute: 42 /,
      /total\.txt/,
      /\d commands ran, and their records are whole/,
    ],
    brings: true,
  },
];

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Installs exactly what the lock says, unless that was done before. */
function installPackages(): void {
  const [lock, installed] = [
    join(EXAMPLES, 'package-lock.json'),
    join(EXAMPLES, 'node_modules', '.installed-lock.json'),
  ];
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8')) return;
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: EXAMPLES, stdio: ['ignore', 2, 2] });
  copyFileSync(lock, installed);
}

/** Runs an example while this process serves it. Returns why the example did not print what it should; null if it did. */
function problemOf({ file, prints }: Example, environment: NodeJS.ProcessEnv): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const settings = { env: environment, timeout: 120_000 };
  execFile(process.execPath, [join(EXAMPLES, file)], settings, (error, stdout, stderr) => {
    process.stdout.write(stdout.replace(/^(?=.)/gm, '    '));
    const missing = prints.find((pattern) => !pattern.test(stdout));
    if (error !== null) resolve(`it ended with ${error.code ?? error.signal}: ${stderr.slice(-2000)}`);
    else resolve(missing === undefined ? null : `it did not print ${missing}`);
  });
  return promise;
}

const words = process.argv.slice(2);
const chosen = ALL.filter(({ file }) => words.length === 0 || words.some((word) => file.includes(word))).filter(
  ({ file }) => existsSync(join(EXAMPLES, file)),
);
if (chosen.some(({ brings }) => brings)) installPackages();
await using service = await openEmbeddedService({ signing: 'on' });
const { PATH = '' } = process.env;
const bin = join(ROOT, 'node_modules', '.bin');
const environment = { PATH: `${bin}:${PATH}`, SERVICE_URL: service.url, SERVICE_KEY: service.key };
let failed = 0;
for (const example of chosen) {
  say(`\n${example.file}`);
  const problem = await problemOf(example, environment);
  if (problem !== null) failed++;
  say(problem === null ? 'as it should' : `FAILED: ${problem}`);
}
say(`\n${chosen.length - failed} of ${chosen.length} examples work`);
process.exitCode = failed === 0 ? 0 : 1;
