/**
 * How many attacks were tried on each isolated class, and how many of them the class repelled. The attacks are the cases in
 * `test/hostile`; the tests and the threat model are made from the same cases. The bench names the cases that failed.
 */
import { hostileCases } from '../test/hostile/cases.ts';
import {
  appliesTo,
  expectHeld,
  HOSTILE_CLASSES,
  type HostileCase,
  type HostileClass,
} from '../test/hostile/hostile-case.ts';
import { Target } from '../test/hostile/target.ts';
import type { Measurement } from './measurement.ts';

const AT_ONCE = 4;

export async function measure(): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (const hostileClass of HOSTILE_CLASSES) {
    const { tried, held, accepted } = await tryAll(hostileClass);
    const baseline = { what: `tried (${accepted} with an accepted rest)`, value: tried };
    measurements.push({ what: `attacks held, ${hostileClass}`, value: held, unit: 'cases', baseline });
  }
  return measurements;
}

async function tryAll(hostileClass: HostileClass): Promise<{ tried: number; held: number; accepted: number }> {
  await using target = await Target.open(hostileClass);
  const cases = hostileCases.filter((hostileCase) => appliesTo(hostileCase, hostileClass));
  const alone = cases.filter((hostileCase) => hostileCase.alone === true);
  const together = cases.filter((hostileCase) => hostileCase.alone !== true);
  const outcomes = [...(await inTurns(together, target, AT_ONCE)), ...(await inTurns(alone, target, 1))];
  const accepted = cases.filter((hostileCase) => hostileCase.accepted?.[hostileClass] !== undefined).length;
  return { tried: cases.length, held: outcomes.filter(Boolean).length, accepted };
}

/** Tries cases, this many at a time. Returns for each case whether it passed. */
async function inTurns(cases: readonly HostileCase[], target: Target, atOnce: number): Promise<boolean[]> {
  const outcomes: boolean[] = [];
  const rest = cases.values();
  const work = async () => {
    for (const hostileCase of rest) outcomes.push(await isHeld(hostileCase, target));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return outcomes;
}

async function isHeld(hostileCase: HostileCase, target: Target): Promise<boolean> {
  try {
    await expectHeld(hostileCase, target);
    return true;
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    process.stderr.write(`  not held, ${target.hostileClass}: ${hostileCase.id} ${hostileCase.title}: ${reason}\n`);
    return false;
  }
}
