/** Each shell reads its script and completes words as it would for a person who types there. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const command = fileURLToPath(new URL('../../bin/vouchbox', import.meta.url));
const hasShell = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;
let directory: string;
const script = (shell: string) => join(directory, shell);

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-completion-'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = spawnSync(command, ['completion', shell], { encoding: 'utf8' });
    expect(status).toBe(0);
    writeFileSync(script(shell), stdout);
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs a text in a shell without the user's settings. The words are `$1`, `$2` and so on. */
function shellOutput(shell: string, flags: readonly string[], text: string, words: readonly string[]): string {
  const given = shell === 'fish' ? words : [shell, ...words];
  const { stdout, stderr } = spawnSync(shell, [...flags, '-c', text, ...given], { encoding: 'utf8', cwd: directory });
  expect(stderr).toBe('');
  return stdout;
}

const BASH = `source "$1"; shift
COMP_WORDS=(vouchbox "$@"); COMP_CWORD=$#
$(complete -p vouchbox | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p')
printf '%s\\n' "\${COMPREPLY[@]}"`;

/** The words that a shell offers after the given words. The last given word is still being typed. */
const OFFERS: Readonly<Record<'bash' | 'fish', (words: readonly string[]) => string[]>> = {
  bash: (words) =>
    shellOutput('bash', ['--norc'], BASH, [script('bash'), ...words])
      .split('\n')
      .filter(Boolean),
  fish: (words) =>
    shellOutput('fish', ['--no-config'], 'source $argv[1]; complete -C "vouchbox $argv[2]"', [
      script('fish'),
      words.join(' '),
    ])
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t')[0] ?? ''),
};

describe.each(['bash', 'fish'] as const)('the completion in %s offers', (shell) => {
  const offers = OFFERS[shell];
  const cases: [string, string[], string[]][] = [
    ['commands', ['jo'], ['jobs']],
    ['the verbs of a command', ['jobs', ''], ['list', 'show', 'cancel']],
    ['options of the command that was typed', ['keys', 'create', '--ten'], ['--tenant']],
    ['settings of the service', ['serve', '--data'], ['--data-dir', '--database-url']],
    ['languages', ['run', 'a.py', '--language', 'py'], ['python']],
    ['isolation classes, also after other options', ['run', '--raw', '--minimum-isolation', 'hard'], ['hardware-vm']],
    ['shells', ['completion', 'z'], ['zsh']],
    ['interfaces of other systems', ['adapter', 'ju'], ['judge0']],
  ];
  test.skipIf(!hasShell(shell)).each(cases)('%s', (_what, words, expected) => {
    expect(offers(words).toSorted()).toEqual(expected.toSorted());
  });
});

describe('completion of file names', () => {
  test.skipIf(!hasShell('bash'))('bash completes file names with its default completion', () => {
    const registered = shellOutput('bash', ['--norc'], 'source "$1"; complete -p svc', [script('bash')]);
    expect(registered).toContain('-o default');
    expect(OFFERS.bash(['run', 'ba'])).toEqual([]);
  });

  test.skipIf(!hasShell('fish'))('fish completes file names with its default completion', () => {
    expect(OFFERS.fish(['run', 'ba'])).toEqual(['bash']);
  });
});

/** A zsh with its own terminal. There, `vouchbox` prints the words with which it was called. */
const ZSH = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; vouchbox() { print -r -- called:\\$* }; source $1; print read-y"
zpty -r shell out '*read-y*read-y*'
zpty -w -n shell "vouchbox $2"$'\\t\\n'
zpty -r shell out '*called:*'
zpty -r shell line
print -r -- \${out##*called:}\${line%%$'\\r'*}
zpty -d shell`;

describe('zsh completes', () => {
  test.skipIf(!hasShell('zsh')).each([
    ['jo', 'jobs'],
    ['jobs can', 'jobs cancel'],
    ['keys create --ten', 'keys create --tenant'],
    ['run a.py --language py', 'run a.py --language python'],
    ['run fis', 'run fish'],
  ])('%s to %s', (typed, completed) => {
    expect(shellOutput('zsh', ['-f'], ZSH, [script('zsh'), typed]).trim()).toBe(completed);
  });
});
