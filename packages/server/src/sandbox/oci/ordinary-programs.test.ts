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
});
