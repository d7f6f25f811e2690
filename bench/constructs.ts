/**
 * How much is gained by each construct that exists only for speed: the service's processor time is compared with the time of a
 * service from a copy of the tree without the construct. Rounds are short and take turns, so that other work on the machine
 * affects both sides. The fastest round of each side counts, because other work can only lengthen a round.
 */
import { copyOfTree, type TreeCopy } from '../tools/copy-of-tree.ts';
import { CONSTRUCTS, type Construct } from './constructs/without.ts';
import { WORKS } from './constructs/work.ts';
import { type Measurement, median } from './measurement.ts';

/** Measures every construct whose name or work contains `only`. */
export async function* measure({ only = '' }: { readonly only?: string | undefined }): AsyncGenerator<Measurement> {
  await using whole = await copyOfTree();
  await using changed = await copyOfTree();
  for (const construct of CONSTRUCTS) {
    if (construct.name.includes(only) || construct.work.includes(only)) yield await worthOf(construct, whole, changed);
  }
}

/** Measures one construct. Both services run from copies, so that neither was started more often than the other. */
async function worthOf({ name, work, without }: Construct, whole: TreeCopy, changed: TreeCopy): Promise<Measurement> {
  using changes = new DisposableStack();
  for (const change of without) {
    const made = changed.changed(change);
    if (made === null) throw new Error(`${change.file} must have this text exactly once: ${change.from}`);
    changes.use(made);
  }
  await using kept = await WORKS[work](whole.path);
  await using taken = await WORKS[work](changed.path);
  const figures: { kept: number[]; taken: number[] } = { kept: [], taken: [] };
  // The first round warms up.
  for (const side of [kept, taken]) await side.round();
  for (let round = 0; round < kept.rounds; round++) {
    // The sides take turns at going first.
    const isFirst = round % 2 === 0;
    if (isFirst) figures.kept.push(await kept.round());
    figures.taken.push(await taken.round());
    if (!isFirst) figures.kept.push(await kept.round());
  }
  return {
    what: `${name} (${work})`,
    value: Math.min(...figures.kept),
    unit: 'µs',
    spread: [Math.min(...figures.kept), median(figures.kept)],
    baseline: { what: 'without', value: Math.min(...figures.taken) },
  };
}
