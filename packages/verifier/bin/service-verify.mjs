#!/usr/bin/env node
// Runs service-verify on the Node that runs this file. The script `service-verify` beside this file finds the pinned Node. This
// file is plain JavaScript, so that any Node from 18 on can read it and report that the Node is too old.
import process from 'node:process';

const oldest = [22, 12];

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

/** Exits with 70, a code that no check uses: nothing was verified. */
function fail(reason) {
  process.stderr.write(`service-verify: ${reason}\n`);
  process.exitCode = 70;
}

/** The verdict stays the same if a reader such as `head` stops reading. */
async function run() {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const { serviceVerify } = await import('../src/service-verify.ts');
  const { exitCode, stdout, stderr } = await serviceVerify(process.argv.slice(2));
  process.exitCode = exitCode;
  process.stdout.write(stdout);
  process.stderr.write(stderr);
}

if (isNewEnough()) {
  await run().catch((error) => fail(error.stack));
} else {
  fail(`Node ${process.versions.node} is too old: use Node ${oldest.join('.')} or newer`);
}
