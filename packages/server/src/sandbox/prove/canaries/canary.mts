import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';

const stdin: Buffer = readFileSync(0);
process.stdout.write(stdin);
writeFileSync('/dev/stderr', 'canary stderr\n');
copyFileSync('input/original', 'output/copy');
process.exitCode = 7 satisfies number;
