/**
 * Programs with known verdicts for each test: right, wrong, slow and greedy programs, and some that try to cheat the judge. Each
 * program shows its kind in a tenth of the tests, or in all of them, and is right in the other tests.
 */
import type { TestVerdict2 } from '@vouchbox/protocol/grading-steps';

/** The limits of all these programs. */
export const LIMITS = { cpu_seconds: 1, mem_mb: 128 };

export const KINDS = ['right', 'wrong', 'slow', 'greedy', 'crashing', 'flooding', 'forging', 'reading'] as const;
type Kind = (typeof KINDS)[number];

export interface KnownProgram {
  readonly name: string;
  readonly language: string;
  readonly code: string;
  /** The right verdict on the test at this position. */
  verdictOf(test: number): TestVerdict2;
}

export interface KnownTest {
  readonly name: string;
  readonly stdin: string;
  readonly expected: string;
}

/** Tests with different answers. */
export function knownTests(count: number, seed: number): readonly KnownTest[] {
  return Array.from({ length: count }, (_, at) => {
    const [one, other] = [(seed * 31 + at * 977) % 99_991, (seed * 17 + at * 1009) % 99_989];
    const answer = (one * 7919 + other * 104_729) % 1_000_003;
    return { name: `test ${at}`, stdin: `${at} ${one} ${other}\n`, expected: `${answer}\n` };
  });
}

interface Variant {
  readonly language: 'python' | 'bash' | 'c';
  /** Code that runs in the chosen tests, before the answer is printed. */
  readonly does: string;
  readonly verdict: TestVerdict2;
  /** True if the program does this in every test, and not only in a tenth of them. */
  readonly always?: true;
}

const python = (verdict: TestVerdict2, does: string): Variant => ({ language: 'python', does, verdict });
const bash = (verdict: TestVerdict2, does: string): Variant => ({ language: 'bash', does, verdict });
const c = (verdict: TestVerdict2, does: string): Variant => ({ language: 'c', does, verdict });
const always = (verdict: TestVerdict2, does: string): Variant => ({ ...python(verdict, does), always: true });
/** A cheat: prints the answer only if it finds the answer in a place where it must not be. */
const reading = (finds: string): Variant =>
  always('wrong_answer', `found = False\n${finds}\nprint(answer if found else "nothing")\nraise SystemExit`);

const FORGED = '{"schema": "urn:svc:verdict:v2", "accepted": true, "points": 30, "tests": [{"verdict": "accepted"}]}';

const VARIANTS: Readonly<Record<Kind, (port: number) => readonly Variant[]>> = {
  right: () => [
    python('accepted', 'burn(0.5)'),
    c('accepted', 'burn(0.5);'),
    bash('accepted', 'head -c 2000000 /dev/zero >&2'),
    python('accepted', 'kept = b"x" * (56 << 20)'),
  ],
  wrong: () => [
    python('wrong_answer', 'answer += 1'),
    c('wrong_answer', 'printf("%ld\\n", answer);'),
    bash('wrong_answer', 'exit 0'),
    python('wrong_answer', 'print(end="-")'),
  ],
  slow: () => [
    python('time_limit', 'burn(2)'),
    c('time_limit', 'burn(2);'),
    bash('time_limit', 'for half in 1 2; do (while :; do :; done) & done; wait'),
    // A test in which a program sleeps is repeated, so it takes twice its wall limit. Hence the program sleeps in one test only.
    python('time_limit', 'if at < 10 and shift < 10: time.sleep(600)\nburn(2)'),
  ],
  greedy: () => [
    python('memory_limit', 'kept = b"x" * (512 << 20)'),
    c('memory_limit', 'memset(malloc(512 << 20), 1, 512 << 20);'),
    python('memory_limit', 'kept = []\nwhile True: kept.append(b"x" * 100000)'),
  ],
  crashing: () => [
    python('runtime_error', 'sys.exit(3)'),
    c('runtime_error', '*(volatile int *)0 = 1;'),
    bash('runtime_error', 'kill -ABRT $$'),
    python('runtime_error', 'print(answer, flush=True)\nraise KeyError(at)'),
  ],
  flooding: () => [
    python('output_limit', 'for _ in range(12): sys.stdout.write("x" * (1 << 20))'),
    bash('output_limit', 'head -c 12582912 /dev/zero'),
    python('output_limit', 'print(answer)\nsys.stdout.write("1\\n" * (6 << 20))'),
    c('output_limit', 'for (int kib = 0; kib < 12288; kib++) printf("%01024d", 0);'),
  ],
  forging: () => [
    always(
      'wrong_answer',
      `os.makedirs("output", exist_ok=True)\nopen("output/verdict.json", "w").write('${FORGED}')\nprint('${FORGED}')\nraise SystemExit`,
    ),
    always(
      'wrong_answer',
      `for fd in range(3, 256):\n    try: os.write(fd, b'${FORGED}\\n')\n    except OSError: pass\nprint("accepted")\nraise SystemExit`,
    ),
    always('wrong_answer', `print('0","verdict":"accepted","points":1},{"stdout":"')\nraise SystemExit`),
    always('runtime_error', 'print("points 1", file=sys.stderr)\nsys.exit(7)'),
    always('runtime_error', 'print("accepted", flush=True)\nsys.exit(42)'),
  ],
  reading: (port) => [
    reading(`notes = [f"{place}/note" for place in ["/tmp", "/dev/shm", "/work", "/work/output", "/var/tmp", "/run", "/home"]]
found = any(map(os.path.exists, notes))
for note in notes:
    try: open(note, "w").write(str(answer))
    except OSError: pass`),
    reading(`for top in ["/work", "/tmp", "/run", "/var", "/home", "/opt", "/mnt", "/srv", "/root", "/dev/shm"]:
    for folder, _, names in os.walk(top):
        for name in names:
            try: found = found or str(answer) in open(os.path.join(folder, name), errors="replace").read(1 << 20)
            except OSError: pass`),
    reading(`for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ["cmdline", "environ", "root/work/input/expected", "root/work/input/grading.json", "fd/0"]:
        try: found = found or (int(pid) != os.getpid() and str(answer) in open(f"/proc/{pid}/{name}").read(1 << 20))
        except OSError: pass`),
    reading(`import socket
note = socket.socket(socket.AF_UNIX)
try:
    note.connect("\\0note")
    found = True
except OSError:
    note.bind("\\0note")
    note.listen()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        time.sleep(600)`),
    reading(`import socket
for host in ["127.0.0.1", "10.0.0.1", "192.168.0.1"]:
    try:
        socket.create_connection((host, ${port}), 0.2)
        found = True
    except OSError: pass`),
  ],
};

/** Programs of all kinds in turn. `port` is where the service listens. */
export function knownPrograms(count: number, port: number): readonly KnownProgram[] {
  return Array.from({ length: count }, (_, at) => {
    const kind = KINDS[at % KINDS.length] as Kind;
    const turn = Math.floor(at / KINDS.length);
    const variants = VARIANTS[kind](port);
    const variant = variants[turn % variants.length] as Variant;
    const { language, verdict } = variant;
    const shift = turn;
    return {
      name: `${at}: ${kind}, ${language}`,
      language,
      code: CODES[language](variant, shift),
      verdictOf: (test) => (variant.always || (test + shift) % 10 === 3 ? verdict : 'accepted'),
    };
  });
}

const CODES: Readonly<Record<Variant['language'], (variant: Variant, shift: number) => string>> = {
  python: ({ does, always = false }, shift) => `import os, sys, time
def burn(seconds):
    while time.process_time() < seconds: pass
at, one, other = map(int, input().split())
shift = ${shift}
answer = (one * 7919 + other * 104729) % 1000003
chosen = ${always ? 'True' : '(at + shift) % 10 == 3'}
if chosen:
${does.replaceAll(/^/gm, '    ')}
print(answer)
`,
  bash: ({ does }, shift) => `read at one other
answer=$(( (one * 7919 + other * 104729) % 1000003 ))
if (( (at + ${shift}) % 10 == 3 )); then
${does}
fi
echo $answer
`,
  c: ({ does }, shift) => `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void burn(double seconds) {
    while (clock() < seconds * CLOCKS_PER_SEC) {}
}
int main(void) {
    long at, one, other;
    if (scanf("%ld %ld %ld", &at, &one, &other) != 3) return 1;
    long answer = (one * 7919 + other * 104729) % 1000003;
    if ((at + ${shift}) % 10 == 3) {
        ${does}
    }
    printf("%ld\\n", answer);
    if (at < 0) burn(0);
    return 0;
}
`,
};
