/**
 * One attack and its required outcome. The tests, the benchmark and the table in docs/THREATS.md are all made from these
 * cases, so the document lists exactly what is tried.
 */
import type { RequestedLimits } from '@vouchbox/protocol';
import type { Collection, HeldLimits, Posture, Program } from '../../packages/server/src/sandbox/sandbox.ts';
import type { Target } from './target.ts';

/** The two classes that promise isolation, each as the name of its provider. */
export const HOSTILE_CLASSES = ['namespace', 'gvisor'] as const;
export type HostileClass = (typeof HOSTILE_CLASSES)[number];

/** A program from `programs/` and its input. The file extension gives the language. */
export interface Attack {
  readonly program: string;
  /** Values that replace `@NAME@` in the program's source, keyed by name. */
  readonly values?: Readonly<Record<string, string | number>>;
  readonly stdin?: string;
  readonly files?: Program['files'];
  readonly outputs?: readonly string[];
  readonly limits?: Partial<RequestedLimits>;
  /** `once`: the attack runs once against a target, and all cases that name this attack share the run. */
  readonly runs?: 'once';
}

/** Everything observed about an attack that ran to its end. */
export interface Seen extends Collection {
  readonly posture: Posture;
  readonly held: HeldLimits;
  /** The recorded output, folded as a client would read it. */
  readonly stdout: string;
  readonly stderr: string;
  readonly recordCounts: { readonly stdout: number; readonly stderr: number };
}

interface CommonCase {
  /** The id of the row in docs/ATTACKS.md. The test has this id as a tag. */
  readonly id: string;
  /** A sentence about what must hold. */
  readonly title: string;
  /** The protection that makes the title true, in a few words. */
  readonly holds: string;
  /** Why a class may fulfil the title only partly or not at all. The test requires exactly this weakness. */
  readonly accepted?: Partial<Readonly<Record<HostileClass, string>>>;
  /**
   * Why a cell may fulfil the title only partly if programs run as the service's own user. The test requires exactly this
   * weakness.
   */
  readonly ofOneUser?: string;
  /** Only the host's root tries this case, because only root can prepare the host for it. */
  readonly needsRoot?: true;
  /** Classes to which the attack applies; both if absent. */
  readonly classes?: readonly HostileClass[];
  /** The architecture to which the attack applies, as Node names it; all if absent. */
  readonly architecture?: 'x64';
  /** True if the case measures or loads the machine, so that no other case may run at the same time. */
  readonly alone?: true;
}

/** One program and its expected outcome. */
interface AttackCase extends CommonCase {
  readonly attack: Attack;
  readonly expect: (seen: Seen, target: Target) => void | Promise<void>;
}

/** A case with several programs, or with actions on the host. */
interface ScenarioCase extends CommonCase {
  readonly scenario: (target: Target) => Promise<void>;
}

export type HostileCase = AttackCase | ScenarioCase;

/** Tries a case against a target. Rejects with an assertion's error if the case fails. */
export async function expectHeld(hostileCase: HostileCase, target: Target): Promise<void> {
  if ('scenario' in hostileCase) return await hostileCase.scenario(target);
  await hostileCase.expect(await target.attack(hostileCase.attack), target);
}

/** Whether a case is tried against a class on this machine. */
export function appliesTo({ classes, architecture }: HostileCase, hostileClass: HostileClass): boolean {
  if (architecture !== undefined && architecture !== process.arch) return false;
  return classes === undefined || classes.includes(hostileClass);
}
