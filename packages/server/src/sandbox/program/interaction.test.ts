/** Two programs that talk through the service, in cells of every class. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProviderChoice } from '../classes/candidate.ts';
import { openProvider } from '../prove/preflight.ts';
import type { Collection, Program, Provider, RunningCell } from '../sandbox.ts';
import { interaction } from './interaction.ts';

interface Talk {
  readonly language?: Language;
  readonly code: string;
  readonly limits?: Partial<Program['limits']>;
  /** What the test does once the program has written a line. */
  readonly atLine?: (running: RunningCell) => void;
}

interface Said extends Collection {
  readonly stdout: string;
}

const EVERY = ['namespace', 'gvisor', 'subprocess'] as const;
const open = new Map<ProviderChoice, Provider>();
const dataDirectory = mkdtempSync(join(tmpdir(), 'svc-interaction-test-'));

beforeAll(async () => {
  for (const choice of EVERY) {
    const options = { packsDirectory: null, workBytes: 64 * 1024 * 1024, hostPostureSha256: null };
    const { provider } = await openProvider({ choice, instance: join(dataDirectory, choice), ...options });
    open.set(choice, provider);
  }
});

afterAll(async () => {
  for (const provider of open.values()) await provider[Symbol.asyncDispose]();
  rmSync(dataDirectory, { recursive: true });
});

async function talk(choice: ProviderChoice, ...talks: readonly [Talk, Talk]): Promise<readonly [Said, Said]> {
  const sides = interaction();
  await using cells = new AsyncDisposableStack();
  const provider = open.get(choice) as Provider;
  const loaded = await Promise.all(
    talks.map(async ({ language = 'python', code, limits }, index) => {
      const cell = cells.use(await provider.prepare({ language, runtime: null }));
      const program = { language, code, stdin: null, args: [], env: {}, files: [], outputs: [] };
      const side = sides[index];
      const patient = { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 };
      return await cell.handOver({ ...program, limits: { ...patient, ...limits }, ...(side && { interaction: side }) });
    }),
  );
  const texts = ['', ''];
  const running = loaded.map((cell, index) => {
    const started = cell.release((stream, records) => {
      if (stream !== 'stdout') return;
      for (const record of records) texts[index] += outputText(record);
      talks[index]?.atLine?.(started);
    });
    return started;
  });
  const ended = await Promise.all(
    running.map(async (each, index) => {
      const collection = await each.collect();
      sides[index]?.gone();
      return { ...collection, stdout: texts[index] ?? '' };
    }),
  );
  return ended as unknown as readonly [Said, Said];
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** Expects that everything the other program wrote was delivered unchanged. */
function expectWhole({ interaction: given }: Said, { output, stdout }: Said): void {
  expect(given?.stdin).toEqual({ bytes_delivered: output.stdout.bytes_seen, raw_sha256: output.stdout.raw_sha256 });
  expect(given?.stdin.raw_sha256).toBe(digest(stdout));
}

const GUESSES = `
low, high = 1, 1000
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    answer = input()
    if answer == "right": break
    if answer == "more": low = guess + 1
    else: high = guess - 1
print("done")
`;
const ANSWERS = `
secret = 617
while True:
    guess = int(input())
    if guess == secret: break
    print("more" if guess < secret else "less", flush=True)
print("right", flush=True)
assert input() == "done"
try: input()
except EOFError: print("it has ended")
`;

describe.each(EVERY)('in cells of the class of %s', (choice) => {
  it('each program reads what the other writes, and end-of-file once the other has ended', async () => {
    const [program, interactor] = await talk(choice, { code: GUESSES }, { code: ANSWERS });
    for (const { ending } of [program, interactor]) expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
    expect(program.stdout).toMatch(/^500\n750\n625\n562\n.*617\ndone\n$/s);
    expect(interactor.stdout).toMatch(/^more\nless\n.*right\nit has ended\n$/s);
    expectWhole(interactor, program);
    expect([program, interactor].map(({ interaction: { end } = {} }) => end)).toEqual(['first', 'second']);
  });

  it.each(['node', 'bash'] as const)('a program in %s may also talk with another program', async (language) => {
    const code = {
      node: 'const lines = require("readline").createInterface({ input: process.stdin });\nlines.on("line", (line) => { console.log(line + "!"); if (line === "2") process.exit(0); });',
      bash: 'while read -r line; do echo "$line!"; [ "$line" = 2 ] && exit 0; done',
    }[language];
    const asks = 'for n in range(3):\n    print(n, flush=True)\n    assert input() == f"{n}!"';
    const [program, interactor] = await talk(choice, { language, code }, { code: asks });
    for (const { ending } of [program, interactor]) expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
    expectWhole(program, interactor);
    expectWhole(interactor, program);
  });

  it('megabytes pass in both directions at once, and none is lost', async () => {
    const code = `
import os, sys, threading
def read():
    global n
    n = 0
    while n < 3_000_000: n += len(os.read(0, 1 << 16))
reader = threading.Thread(target=read); reader.start()
line = ("%s" * 999 + "\\n").encode()
for _ in range(3000): sys.stdout.buffer.write(line)
sys.stdout.flush(); reader.join()
`;
    const [one, other] = await talk(choice, { code: code.replace('%s', 'a') }, { code: code.replace('%s', 'b') });
    for (const [here, there] of [[one, other] as const, [other, one] as const]) {
      expect(here.ending).toEqual({ kind: 'exited', exit_code: 0 });
      expect(here.interaction?.stdin).toEqual({
        bytes_delivered: 3_000_000,
        raw_sha256: there.output.stdout.raw_sha256,
      });
    }
  });

  it('a program whose output the other program never reads is blocked, and ends at its own limit', async () => {
    const flood = { code: 'while True: print("x" * 1000)', limits: { wall_seconds: 2 } };
    const [program, interactor] = await talk(choice, flood, { code: 'import time; time.sleep(4)' });
    expect(program.ending).toEqual({ kind: 'wall_limit' });
    expect(program.output.stdout.bytes_seen).toBeLessThan(4 * 1024 * 1024);
    expect(interactor.ending).toEqual({ kind: 'exited', exit_code: 0 });
    expect(interactor.interaction?.stdin.bytes_delivered).toBeLessThan(program.output.stdout.bytes_seen);
    expect(program.interaction?.end).toBe('first');
  });

  it('if one program ends at once, the other reads end-of-file, and the service drops what the other writes later', async () => {
    const writes = { code: 'import sys\nfor _ in range(5000): print("x" * 1000)\nprint(sys.stdin.read() == "")' };
    const [program, interactor] = await talk(choice, { code: 'raise SystemExit(7)' }, writes);
    expect(program.ending).toEqual({ kind: 'exited', exit_code: 7 });
    expect(interactor.ending).toEqual({ kind: 'exited', exit_code: 0 });
    expect(interactor.output.stdout.bytes_seen).toBe(5_005_005);
    expect([program, interactor].map(({ interaction: { end } = {} }) => end)).toEqual(['first', 'second']);
  });

  it('if one program is stopped, the other reads end-of-file', async () => {
    const stopped = {
      code: 'print("here", flush=True)\ninput()',
      atLine: (running: RunningCell) => running.stop('cancelled'),
    };
    const [program, interactor] = await talk(choice, stopped, {
      code: 'print(input())\ntry: input()\nexcept EOFError: print("gone")',
    });
    expect(program.ending).toEqual({ kind: 'stopped', cause: 'cancelled' });
    expect(interactor.stdout).toBe('here\ngone\n');
  });
});

// In gVisor the pipe stays open until the program ends.
it.each(['namespace', 'subprocess'] as const)(
  'if one program closes its output, the other reads end-of-file: %s',
  async (choice) => {
    const closes = { code: 'import os, sys\nprint("all", flush=True); os.close(1)\nassert input() == "read"' };
    const [program, interactor] = await talk(choice, closes, {
      code: 'import sys\nassert sys.stdin.read() == "all\\n"\nprint("read")',
    });
    for (const { ending } of [program, interactor]) expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
  },
);

describe.each(['namespace', 'gvisor'] as const)('in the class of %s', (choice) => {
  const waits = 'print("hello", flush=True)\ninput(); input()';

  it.each([
    ['both reach it', 1.5],
    ['the other has more time', 30],
  ])('a wall limit that is reached while both programs wait for input is a deadlock: %s', async (_, wall_seconds) => {
    const [program, interactor] = await talk(
      choice,
      { code: waits, limits: { wall_seconds: 1.5 } },
      { code: waits, limits: { wall_seconds } },
    );
    expect(program.ending).toEqual({ kind: 'wall_limit' });
    expect([program, interactor].map(({ interaction: { end } = {} }) => end)).toEqual(['deadlock', 'deadlock']);
  });

  it.each([
    ['computes', 'input()\nwhile True: pass', 'first'],
    ['leaves its input unread', 'import time; time.sleep(4)', 'first'],
  ])('a wall limit that is reached while the other program %s is not a deadlock', async (_, code, end) => {
    const [program, interactor] = await talk(
      choice,
      { code: waits, limits: { wall_seconds: 1.5 } },
      { code, limits: { wall_seconds: 5 } },
    );
    expect(program.ending).toEqual({ kind: 'wall_limit' });
    expect([program, interactor].map(({ interaction: said }) => said?.end)).toEqual([end, 'second']);
  });
});
