/**
 * Chooses a provider by trying each candidate: every language runs its canary, and is offered only if the result is
 * exact. `auto` takes the strongest class that passes and never the subprocess. Spec § What the service does 2.
 */
import { availableParallelism } from 'node:os';
import { type Backend, LANGUAGES, type Language, LIMIT_NAMES, type RuntimePack } from '@vouchbox/protocol';
import { Turns } from '../../ground/waiting/turns.ts';
import { packView, SYSTEM_PACK } from '../cell/pack.ts';
import type { Candidate, PreflightOptions } from '../classes/candidate.ts';
import { openGvisorCells, openNamespaceCells } from '../classes/open-cells.ts';
import { sayReasons } from '../classes/reasons.ts';
import { openHostCells } from '../classes/subprocess/host-cells.ts';
import type { PackLeftOut, TakenPacks } from '../packs/load-packs.ts';
import { SYSTEM_LANGUAGES } from '../program/language-runs.ts';
import type { PreparedCell, Provider } from '../sandbox.ts';
import { runCanaries, runLateAgain } from './canary.ts';
import { proveCellsApart } from './cells-apart.ts';
import { provePacks } from './prove-packs.ts';

/** Why a candidate cannot be used, for an operator. */
export interface Rejection {
  readonly candidate: string;
  readonly problem: string;
}

/** No provider passed. The message is one line that names every candidate and the three ways out. */
export class NoProviderError extends Error {
  override readonly name = 'NoProviderError';
  readonly rejections: readonly Rejection[];
  constructor(rejections: readonly Rejection[]) {
    super(
      `no cells can be made here: ${sayReasons(rejections.map(({ candidate, problem }) => [candidate, oneLine(problem)]))}` +
        ' (`vouchbox doctor` tries every control. Three ways out: run the service on Linux as root, with at least the rights of' +
        ' deploy/vouchbox.service; in a container, give it what docs/operating/containers.md names; or, for development alone, set' +
        ' SERVICE_PROVIDER=subprocess, which isolates nothing)',
    );
    this.rejections = rejections;
  }
}

/** A provider that passed, the stronger ones that did not, and the runtime packs that cannot be offered. */
export interface Opened {
  readonly provider: Provider;
  readonly rejections: readonly Rejection[];
  readonly packsLeftOut: readonly PackLeftOut[];
  readonly runtimeDefects: string | null;
  /** Loads and proves packs built since the start or last call, and makes the provider offer them. One call runs at a time. */
  takeNewPacks(): Promise<TakenPacks>;
}

/** How many cells are prepared at once. Each bootstrap keeps a processor busy: more would be no faster, and all would be late. */
const PREPARED_AT_ONCE = 2 * availableParallelism();

type Opener = (options: PreflightOptions) => Promise<Candidate>;

const CANDIDATES: Readonly<Record<Backend, Opener>> = {
  gvisor: openGvisorCells,
  namespace: openNamespaceCells,
  subprocess: openHostCells,
};
const STRONGEST_FIRST = ['gvisor', 'namespace'] as const;

/** Opens the chosen provider, or the strongest that passes. Rejects with `NoProviderError`. */
export async function openProvider(options: PreflightOptions): Promise<Opened> {
  const candidates = options.choice === 'auto' ? STRONGEST_FIRST : [options.choice];
  const rejections: Rejection[] = [];
  for (const candidate of candidates) {
    try {
      return { ...(await prove(await CANDIDATES[candidate](options))), rejections };
    } catch (error) {
      rejections.push({ candidate, problem: (error as Error).message });
    }
  }
  throw new NoProviderError(rejections);
}

/**
 * Runs every language's canary, and the late ones once more. If no language passes, this function disposes of the cells and
 * rejects: `auto` then takes a weaker class, and a class that was chosen by name does not start.
 */
export async function prove(cells: Candidate): Promise<Omit<Opened, 'rejections'>> {
  const prepareFor = (language: Language) => (readyMilliseconds: number) =>
    cells.prepare({ language, runtime: null, readyMilliseconds });
  const results = await runLateAgain(await runCanaries(SYSTEM_LANGUAGES, prepareFor), prepareFor);
  const passed = results.filter((result) => 'posture' in result);
  const isolation = passed[0]?.posture.isolation_class ?? null;
  if (isolation === null) {
    await cells[Symbol.asyncDispose]();
    throw new Error(
      sayReasons(results.map((result) => [result.language, 'problem' in result ? result.problem : 'passed'])),
    );
  }
  // Without groups, cells must show that their process limits are separate. The subprocess claims no such limit.
  if (!cells.hasGroups && isolation !== 'none') await orNone(proveCellsApart(cells), cells);
  const systemLanguages: readonly Language[] = passed.map(({ language }) => language);
  const system = cells.runtime_packs.filter(isSystem);
  const others = cells.runtime_packs.filter((pack) => !isSystem(pack));
  const proven = await provePacks(others, cells);
  const offered: RuntimePack[] = [
    ...system.map((pack) => ({ ...pack, languages: [...systemLanguages] })),
    ...proven.packs,
  ];
  /** The default pack of a language: the host's own pack if that has the language, else the first pack that has it. */
  const usualPack = (language: Language): string | null =>
    systemLanguages.includes(language)
      ? null
      : (offered.find(({ languages }) => languages.includes(language))?.name ?? null);
  const turns = new Turns(PREPARED_AT_ONCE);
  const provider: Provider = {
    backend: cells.backend,
    isolation_class: isolation,
    get languages() {
      return LANGUAGES.filter((language) => systemLanguages.includes(language) || usualPack(language) !== null);
    },
    get runtime_packs() {
      return offered;
    },
    hasLoopback: cells.hasLoopback,
    enforced: LIMIT_NAMES.filter((name) => passed.every(({ held }) => held[name])),
    ownMemMb: cells.ownMemMb,
    prepare(request): Promise<PreparedCell> {
      const runtime = request.runtime ?? usualPack(request.language);
      return turns.take(() => cells.prepare({ ...request, runtime }), request.signal);
    },
    originOf: (kind) => cells.originOf({ ...kind, runtime: kind.runtime ?? usualPack(kind.language) }),
    noteAsked: (kind) => cells.noteAsked({ ...kind, runtime: kind.runtime ?? usualPack(kind.language) }),
    [Symbol.asyncDispose]: () => cells[Symbol.asyncDispose](),
  };
  const offers = new Turns(1);
  return {
    provider,
    packsLeftOut: [...cells.packsLeftOut, ...proven.leftOut],
    runtimeDefects: cells.runtimeDefects,
    takeNewPacks: () => offers.take(() => takeNewPacks(cells, offered)),
  };
}

/** Disposes of the cells if their proof fails. */
async function orNone(proof: Promise<void>, cells: Candidate): Promise<void> {
  try {
    await proof;
  } catch (error) {
    await cells[Symbol.asyncDispose]();
    throw error;
  }
}

/** Loads and proves new packs. A pack without a proven language is forgotten, so that the next call tries it again. */
async function takeNewPacks(cells: Candidate, offered: RuntimePack[]): Promise<TakenPacks> {
  const loaded = cells.loadNewPacks();
  const views = loaded.packs.map(packView);
  const proven = await provePacks(views, cells);
  for (const { name } of views) if (proven.packs.every((pack) => pack.name !== name)) cells.forgetPack(name);
  offered.push(...proven.packs);
  return { offered: [...offered], leftOut: [...loaded.leftOut, ...proven.leftOut] };
}

/** The `system` pack, whose languages were already proven. */
function isSystem({ name }: RuntimePack): boolean {
  return name === SYSTEM_PACK;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
