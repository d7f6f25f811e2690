/**
 * `npm run judging -- [--only WORD,…] [--programs N] [--graphs N] [--seed N]`: tries the claims about judging at real services,
 * and prints whether each claim holds, with figures. A WORD chooses the claims whose names begin with it. The command exits
 * with 1 if a claim does not hold.
 */
import { parseArgs } from 'node:util';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { removeDirectories } from '../crossings/service.ts';
import type { Claim, Place, Shown } from './claim.ts';
import { COMPILED_COST } from './compiled-cost.ts';
import { GRAPHS } from './graphs.ts';
import { KNOWN_VERDICTS } from './known-verdicts.ts';
import { REPORTED_CASES } from './reported-cases.ts';

const CLAIMS: readonly Claim[] = [...REPORTED_CASES, COMPILED_COST, KNOWN_VERDICTS, GRAPHS];

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function chosen(only: string | undefined): readonly Claim[] {
  const words = only?.split(',') ?? [''];
  const claims = CLAIMS.filter(({ name }) => words.some((word) => name.startsWith(word)));
  if (claims.length === 0) throw new Error(`--only ${only}: there are ${CLAIMS.map(({ name }) => name).join(', ')}`);
  return claims;
}

async function shown(claim: Claim, place: Place): Promise<Shown> {
  try {
    return await claim.show(place);
  } catch (error) {
    return { problems: [`it could not be tried: ${(error as Error).stack}`], told: [] };
  }
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    programs: { type: 'string', default: '200' },
    graphs: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const claims = chosen(values.only);
const { packs } = await shippedPacks(['c']);
const [programs, graphs, seed] = [Number(values.programs), Number(values.graphs), Number(values.seed)];
let held = 0;
for (const claim of claims) {
  const begun = performance.now();
  const { problems, told } = await shown(claim, { packs, programs, graphs, seed, say });
  const seconds = Math.round((performance.now() - begun) / 1000);
  if (problems.length === 0) held++;
  say(`${problems.length === 0 ? 'held    ' : 'NOT HELD'}  ${claim.name.padEnd(10)}${claim.what} (${seconds} s)`);
  for (const line of told) say(`            ${line}`);
  for (const problem of problems) say(`          ✗ ${problem}`);
}
removeDirectories();
say(`${held} of ${claims.length} claims hold`);
process.exitCode = held === claims.length ? 0 : 1;
