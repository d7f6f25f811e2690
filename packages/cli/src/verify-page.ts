/** `vouchbox verify-page`: writes the page that checks an exported job in a browser. The page needs no service and no network. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CommandFailure } from './failures/command-failure.ts';
import { writeNew } from './files/new-file.ts';
import { type JsonOption, note, printResult } from './terminal/print.ts';

/** Writes the page to a new file and prints the file's name. */
export async function writeVerifyPage(file: string, options: JsonOption): Promise<void> {
  const page = builtPage();
  writeNew(file, page);
  printResult(options, `${file}\n`, { file, size_bytes: page.length });
  if (!options.json) note('open it in a browser of 2025 or later; it needs no service and no network');
}

function builtPage(): Buffer {
  try {
    return readFileSync(fileURLToPath(import.meta.resolve('@vouchbox/server/verify.html')));
  } catch (error) {
    throw new CommandFailure('the page was not built: run `npm run setup` in the checkout', { cause: error });
  }
}
