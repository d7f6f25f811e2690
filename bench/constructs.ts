/**
 * The worth of each construct that the code has for its speed alone: the processor time of the service, and of a service from a
 * copy of the tree without the construct. Rounds take turns and are short, so that whatever else the machine does meets both
 * sides. The least of each side's rounds counts: what others do only adds to a round.
 */
import { copyOfTree, type TreeCopy } from '../tools/copy-of-tree.ts';
import { CONSTRUCTS, type Construct } from './constructs/without.ts';
import { WORKS } from './constructs/work.ts';
import { type Measurement, median } from './measurement.ts';

/** Every construct, or those whose names or whose work have `only` in them. */
export async function* measure({ only = '' }: { readonly only?: string | undefined }): AsyncGenerator<Measurement> {
  await using whole = await copyOfTree();
  await using changed = await copyOfTree();
  for (const construct of CONSTRUCTS) {
    if (construct.name.includes(only) || construct.work.includes(only)) yield await worthOf(construct, whole, changed);
  }
}

/** Both services run from copies, so that neither has been started more often than the other. */
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
  // The first round warms up.
  for (const side of [kept, taken]) await side.round();
  for (let round = 0; round < kept.rounds; round++) {
    // Each side is first as often as the other.
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
