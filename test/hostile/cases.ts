/** Every case, in the order of the rows in docs/ATTACKS.md. */
import { artifactCases } from './artifact.ts';
import { bootstrapCases } from './escape-bootstrap.ts';
import { bundleCases } from './escape-bundle.ts';
import { fileCases } from './escape-files.ts';
import { kernelCases } from './escape-kernel.ts';
import { networkCases } from './escape-network.ts';
import { processCases } from './escape-process.ts';
import { prologueCases } from './escape-prologue.ts';
import type { HostileCase } from './hostile-case.ts';
import { neighbourCases } from './neighbours.ts';
import { leakCases } from './resource-leaks.ts';
import { memoryCases } from './resource-memory.ts';
import { outputCases } from './resource-output.ts';
import { processLimitCases } from './resource-processes.ts';
import { syncCases } from './resource-sync.ts';
import { serviceCases } from './service-cases.ts';

const ORDER = ['ESC', 'RES', 'ART', 'NEXT'];

export const hostileCases: readonly HostileCase[] = [
  ...kernelCases,
  ...processCases,
  ...fileCases,
  ...networkCases,
  ...prologueCases,
  ...bootstrapCases,
  ...bundleCases,
  ...processLimitCases,
  ...memoryCases,
  ...outputCases,
  ...syncCases,
  ...leakCases,
  ...artifactCases,
  ...neighbourCases,
  ...serviceCases,
].toSorted((one, other) => rank(one) - rank(other));

/** Sections in their order, and rows by number within each section. */
function rank({ id }: HostileCase): number {
  const [section, number] = id.split('-');
  return ORDER.indexOf(section as string) * 1000 + Number(number);
}
