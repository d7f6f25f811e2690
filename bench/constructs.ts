/**
 * What each construct is worth that the code has for its speed alone: the processor time of the service with it, and of one
 * from a copy of the tree in which it was taken out. Rounds take turns. The least of each side's rounds counts: whatever else
 * the machine does only adds to a round.
 */
import { copyOfTree, type TreeCopy } from '../tools/copy-of-tree.ts';
import { CONSTRUCTS, type Construct } from './constructs/without.ts';
import { WORKS } from './constructs/work.ts';
import type { Measurement } from './measurement.ts';

const rounds = 15;

/** Every construct, or those whose names or whose work have `only` in them. */
export async function* measure({ only = '' }: { readonly only?: string | undefined }): AsyncGenerator<Measurement> {
  await using whole = await copyOfTree();
  await using changed = await copyOfTree();
  for (const construct of CONSTRUCTS) {
    if (construct.name.includes(only) || construct.work.includes(only)) yield await worthOf(construct, whole, changed);
  }
}

/** Both from copies, so that neither has been started more often than the other. */
async function worthOf({ name, work, without }: Construct, whole: TreeCopy, changed: TreeCopy): Promise<Measurement> {
  using changes = new DisposableStack();
  for (const change of without) {
    const made = changed.changed(change);
    if (made === null) throw new Error(`${change.file} does not have once: ${change.from}`);
    changes.use(made);
  }
  await using kept = await WORKS[work](whole.path);
  await using taken = await WORKS[work](changed.path);
  const figures: { kept: number[]; taken: number[] } = { kept: [], taken: [] };
  for (let round = 0; round <= rounds; round++) {
    const pair = { kept: await kept.round(), taken: await taken.round() };
    // The first round warms up.
    if (round === 0) continue;
    figures.kept.push(pair.kept);
    figures.taken.push(pair.taken);
  }
  return {
    what: `${name} (${work})`,
    value: Math.min(...figures.kept),
    unit: 'µs',
    spread: [Math.min(...figures.kept), Math.max(...figures.kept)],
    baseline: { what: 'without', value: Math.min(...figures.taken) },
  };
}
