/**
 * `npm run bench -- [NAME…]`: measurements, each beside its baseline in the same run, so that a figure means something on
 * a machine nobody knows. Without a name all of them run, one after the other. They are no tests: nothing fails for being
 * slow.
 */
import { availableParallelism, cpus, release } from 'node:os';
import { type Measurement, rowOf } from './measurement.ts';

/** Each name, and the module that measures it. */
const BENCHES: Readonly<Record<string, () => Promise<{ measure(): Promise<readonly Measurement[]> }>>> = {
  jobs: () => import('./jobs.ts'),
  isolation: () => import('./isolation.ts'),
  http: () => import('./http.ts'),
  evidence: () => import('./evidence.ts'),
  speed: () => import('./speed.ts'),
};

function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  process.stderr.write(`bench: ${unknown.join(', ')}: there are ${Object.keys(BENCHES).join(', ')}\n`);
  process.exitCode = 2;
} else {
  say(`Node ${process.version}, ${release()}, ${availableParallelism()} cores: ${cpus()[0]?.model ?? 'unknown'}`);
  for (const [name, load] of Object.entries(BENCHES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    say(`\n${name}`);
    for (const measurement of await (await load()).measure()) say(rowOf(measurement));
  }
}
