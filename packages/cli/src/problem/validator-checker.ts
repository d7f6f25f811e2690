/**
 * A checker of a grading made of an output validator of a package. Both read a test, what is expected and an output. A validator
 * is told of the files by its arguments, reads the output from stdin and ends with 42 or 43; a checker finds files of fixed
 * names and ends with 0 or 1. The text of the validator stays as it is.
 */
import type { Checker } from '@vouchbox/client';
import type { PackageProgram } from './problem.ts';

const FEEDBACK = '/tmp/feedback';

/** @param flags for the validator, after its files */
export function checkerOf({ language, code }: PackageProgram, flags: readonly string[]): Checker {
  const words = ['input/stdin', 'input/expected', `${FEEDBACK}/`, ...flags];
  return { language, code: language === 'python' ? inPython(code, words) : inC(code, words) };
}

/** Texts go in as Base64: what a quote is differs between the languages. */
function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function inPython(code: string, words: readonly string[]): string {
  return `import base64, os, subprocess, sys
decode = lambda text: base64.b64decode(text).decode()
os.makedirs(${JSON.stringify(FEEDBACK)}, exist_ok=True)
with open("/tmp/validator.py", "w", encoding="utf-8", newline="") as file:
    file.write(decode("${base64(code)}"))
words = [decode(word) for word in "${words.map(base64).join(' ')}".split()]
with open("input/output", "rb") as output:
    ended = subprocess.run([sys.executable, "/tmp/validator.py", *words], stdin=output)
sys.exit({42: 0, 43: 1}.get(ended.returncode, 3))
`;
}

/** Before `main`, the program starts itself again as the validator, waits for it and ends in its place. */
function inC(code: string, words: readonly string[]): string {
  const texts = ['validator', ...words].map((word) => `(char *)"${octal(word)}"`);
  return `${code}
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((constructor(101))) static void vouchbox_start_validator(void)
{
    static char *words[] = { ${texts.join(', ')}, NULL };
    int status = 0, output;
    if (getenv("VOUCHBOX_VALIDATOR")) return;
    mkdir("${FEEDBACK}", 0700);
    setenv("VOUCHBOX_VALIDATOR", "1", 1);
    pid_t validator = fork();
    if (validator == 0) {
        output = open("input/output", O_RDONLY);
        if (output < 0 || dup2(output, 0) < 0) _exit(3);
        execv("/proc/self/exe", words);
        _exit(3);
    }
    if (validator < 0 || waitpid(validator, &status, 0) != validator || !WIFEXITED(status)) _exit(3);
    _exit(WEXITSTATUS(status) == 42 ? 0 : WEXITSTATUS(status) == 43 ? 1 : 3);
}
`;
}

function octal(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
