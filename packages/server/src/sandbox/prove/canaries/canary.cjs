const fs = require('node:fs');

process.stdout.write(fs.readFileSync(0));
fs.writeFileSync('/dev/stderr', 'canary stderr\n');
fs.copyFileSync('input/original', 'output/copy');
process.exitCode = 7;
