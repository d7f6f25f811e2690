/**
 * The baseline of the judging benchmark, as a process in its own mount namespace. It follows go-judge's published method: the
 * program is compiled once, and each test gets a copy of the product in a cell of its own. Input and output go through pipes, and
 * the answer is compared here. crun makes the cells, without limits, a queue or a record.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaselineProcess, plainConfiguration, serveOrders } from '../speed/baseline-process.ts';

export interface JudgeOrder {
  readonly code: string;
  readonly tests: readonly { readonly stdin: string; readonly expected: string }[];
  readonly workers: number;
}

export interface JudgeAnswer {
  readonly accepted: number;
  /** The time from the start of the first test to the end of the last test. Compilation does not count. */
  readonly milliseconds: number;
}

/** Starts the process. */
export function startBareJudge(): BaselineProcess<JudgeOrder, JudgeAnswer> {
  return new BaselineProcess(fileURLToPath(import.meta.url));
}

async function judge({ code, tests, workers }: JudgeOrder): Promise<JudgeAnswer> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-judge-'));
  try {
    const product = compiled(directory, code);
    const started = performance.now();
    let accepted = 0;
    const waiting = tests.values();
    const worker = async () => {
      for (const { stdin, expected } of waiting) {
        if ((await printed({ directory, product, stdin })).trimEnd() === expected.trimEnd()) accepted++;
      }
    };
    await Promise.all(Array.from({ length: workers }, worker));
    return { accepted, milliseconds: performance.now() - started };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function compiled(directory: string, code: string): string {
  const [source, product] = [join(directory, 'main.cpp'), join(directory, 'main')];
  writeFileSync(source, code);
  execFileSync('/usr/bin/g++', ['-std=gnu++20', '-O2', '-pthread', '-o', product, source, '-lm']);
  return product;
}

interface Test {
  readonly directory: string;
  readonly product: string;
  readonly stdin: string;
}

/** Makes a bundle with a copy of the product, runs it from a cold start and removes it. Returns what the program printed. */
async function printed({ directory, product, stdin }: Test): Promise<string> {
  const id = `svc-bench-${randomUUID()}`;
  const bundle = join(directory, id);
  for (const name of ['proc', 'dev', 'tmp', 'usr', 'w']) mkdirSync(join(bundle, 'rootfs', name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(bundle, 'rootfs', name));
  copyFileSync(product, join(bundle, 'rootfs/w/main'));
  writeFileSync(join(bundle, 'config.json'), CONFIGURATION);
  const root = `--root=${join(directory, 'state')}`;
  const child = spawn('/usr/bin/crun', ['--cgroup-manager=disabled', root, 'run', '--bundle', bundle, id], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  rmSync(bundle, { recursive: true });
  return text;
}

const CONFIGURATION = plainConfiguration({ args: ['/w/main'], cwd: '/w' });

serveOrders(judge);
