import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** The folders of slow tests: first the tests of whole services, then the tests of cells. */
const SLOWEST_FIRST = [/\/test\//, /\/server\/src\/sandbox\//];

/**
 * Starts slow files before quick files, so that no worker is left with a long file at the end. The order follows the times of
 * earlier runs. In a fresh clone, folders decide, because the sizes of files would mislead.
 */
export default class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isTimed = files.every((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined);
    return isTimed ? sorted : sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = SLOWEST_FIRST.findIndex((folder) => folder.test(moduleId));
  return rank < 0 ? SLOWEST_FIRST.length : rank;
}
