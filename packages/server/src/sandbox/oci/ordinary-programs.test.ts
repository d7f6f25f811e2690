/** What programs expect of any Linux, and find in a cell of either class. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CellsFixture, CLASSES } from './cells.fixture.ts';

let cells: CellsFixture;
beforeAll(async () => {
  cells = await CellsFixture.open();
});
afterAll(() => cells[Symbol.asyncDispose]());

describe.each(CLASSES)('an ordinary program in the %s class', (choice) => {
  it('lists and examines files and symbolic links without an error', async () => {
    const code = 'ln -s main.sh link; ls -la / /work > /dev/null && stat /usr /bin link > /dev/null && cp -a link copy';
    expect(await cells.run(choice, 'bash', code)).toMatchObject({ stderr: '', ending: { exit_code: 0 } });
  });

  it('waits for input with a time limit', async () => {
    const bash = await cells.run(choice, 'bash', 'echo x | { read -t 5 word; echo "$word $?"; }');
    expect(bash).toMatchObject({ stdout: 'x 0\n', stderr: '' });
    const code =
      'import os, select\nr, w = os.pipe()\nos.write(w, b"x")\nprint(select.select([r], [], [], 5)[0] == [r])';
    expect(await cells.run(choice, 'python', code)).toMatchObject({ stdout: 'True\n', stderr: '' });
  });
});
