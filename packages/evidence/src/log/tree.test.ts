/** RFC 6962's tree: its reference implementation's vectors, and every proof in every tree up to 100 leaves (long: 600). */
import { describe, expect, test } from 'vitest';
import { isLongForm } from '../../../../test/rig/form.ts';
import {
  consistencyRanges,
  type Hash,
  inclusionRanges,
  isConsistent,
  leafHash,
  type NodeHashes,
  nodeHash,
  nodesOf,
  rangeHash,
  rootOfInclusion,
} from './tree.ts';

const LARGEST = isLongForm ? 600 : 100;
const VECTORS = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

function treeOf(leaves: readonly Hash[]): NodeHashes {
  const levels = [[...leaves]];
  for (let row = leaves; row.length > 1; ) {
    const next: Hash[] = [];
    for (let at = 0; at + 1 < row.length; at += 2) next.push(nodeHash(row[at] as Hash, row[at + 1] as Hash));
    levels.push(next);
    row = next;
  }
  return ({ level, index }) => {
    const hash = levels[level]?.[index];
    if (hash === undefined) throw new Error(`node ${index} of level ${level} has leaves that are not in the tree`);
    return hash;
  };
}

const leaves = Array.from({ length: LARGEST }, (_, at) => leafHash(new TextEncoder().encode(`leaf ${at}`)));
const tree = treeOf(leaves);
const roots = Array.from({ length: LARGEST + 1 }, (_, size) => rangeHash({ start: 0, end: size }, tree));
const hex = (hash: Hash | null) => hash && Buffer.from(hash).toString('hex');
const proofOf = (ranges: readonly { start: number; end: number }[]) => ranges.map((range) => rangeHash(range, tree));
const root = (size: number) => roots[size] as Hash;

test.each(ROOTS.map((wanted, size) => ({ size, wanted })))(
  'a tree of the first $size vectors has the root that RFC 6962 gives',
  (row) => {
    const hashes = treeOf(VECTORS.map((text) => leafHash(Buffer.from(text, 'hex'))));
    expect(hex(rangeHash({ start: 0, end: row.size }, hashes))).toBe(row.wanted);
  },
);

describe(`in every tree up to ${LARGEST} leaves`, () => {
  test('the proof of each leaf leads to the root', () => {
    const wrong: string[] = [];
    for (let size = 1; size <= LARGEST; size++) {
      for (let index = 0; index < size; index++) {
        const proof = proofOf(inclusionRanges(index, size));
        const found = rootOfInclusion(leaves[index] as Hash, { index, size, proof });
        if (hex(found) !== hex(root(size))) wrong.push(`${index} of ${size}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('the tree is proved to extend each smaller tree', () => {
    const wrong: string[] = [];
    for (let size = 1; size <= LARGEST; size++) {
      for (let old = 0; old <= size; old++) {
        const proof = proofOf(consistencyRanges(old, size));
        if (!isConsistent({ size: old, root: root(old) }, { size, root: root(size) }, proof))
          wrong.push(`${old} ${size}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('a changed proof', () => {
  const size = 11;
  const cases = Array.from({ length: size }, (_, index) => ({ index, proof: proofOf(inclusionRanges(index, size)) }));
  const flipped = (hash: Hash) => Uint8Array.from(hash, (byte, at) => (at === 7 ? byte ^ 1 : byte));

  test.each(cases)('is refused as a proof that the tree has leaf $index', ({ index, proof }) => {
    const leaf = leaves[index] as Hash;
    const leadsTo = (changed: Partial<{ index: number; size: number; proof: Hash[] }>, from = leaf) =>
      hex(rootOfInclusion(from, { index, size, proof, ...changed }));
    expect(leadsTo({})).toBe(hex(root(size)));
    for (const at of proof.keys())
      expect(leadsTo({ proof: proof.map((hash, each) => (each === at ? flipped(hash) : hash)) })).not.toBe(
        hex(root(size)),
      );
    expect(leadsTo({ proof: proof.slice(1) })).toBeNull();
    expect(leadsTo({ proof: [...proof, leaf] })).toBeNull();
    expect(leadsTo({ index: size })).toBeNull();
    expect(leadsTo({}, flipped(leaf))).not.toBe(hex(root(size)));
    const others = [...cases.keys()].filter((other) => other !== index).map((other) => leadsTo({ index: other }));
    expect(others).not.toContain(hex(root(size)));
  });

  test.each([1, 2, 3, 4, 7, 8, 10])('is refused as a proof that the tree extends its first %i leaves', (old) => {
    const [older, newer] = [
      { size: old, root: root(old) },
      { size, root: root(size) },
    ];
    const proof = proofOf(consistencyRanges(old, size));
    expect(isConsistent(older, newer, proof)).toBe(true);
    for (const at of proof.keys())
      expect(
        isConsistent(
          older,
          newer,
          proof.map((hash, each) => (each === at ? flipped(hash) : hash)),
        ),
      ).toBe(false);
    expect(isConsistent(older, newer, proof.slice(1))).toBe(false);
    expect(isConsistent(older, newer, [...proof, root(3)])).toBe(false);
    expect(isConsistent({ ...older, root: root(old - 1) }, newer, proof)).toBe(false);
    expect(isConsistent(older, { ...newer, root: root(12) }, proof)).toBe(false);
    expect(isConsistent({ ...older, size: old + 1 }, newer, proof)).toBe(false);
    expect(isConsistent(newer, older, proof)).toBe(false);
  });

  test('is refused as a proof that the tree extends the empty tree, because that proof must be empty', () => {
    expect(isConsistent({ size: 0, root: root(0) }, { size, root: root(size) }, [root(1)])).toBe(false);
  });
});

test('positions above 2^32 are computed exactly', () => {
  const start = 2 ** 40;
  expect(nodesOf({ start, end: start + 5 })).toEqual([
    { level: 2, index: 2 ** 38 },
    { level: 0, index: start + 4 },
  ]);
  expect(inclusionRanges(start, start + 1)).toEqual([{ start: 0, end: start }]);
});
