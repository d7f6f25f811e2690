/**
 * The log's Merkle tree: its hashes, proofs that a leaf is in it, and proofs that a later tree only added to an earlier one. RFC
 * 6962 § 2.1; proofs are checked as RFC 9162 § 2.1.3.2 and § 2.1.4.2 say. Sizes and positions are safe integers.
 */
import { sha256Bytes } from '#sha256';

/** A SHA-256 digest: 32 bytes. */
export type Hash = Uint8Array<ArrayBuffer>;

/** The subtree over 2^`level` leaves. The first of them is the leaf `index` · 2^`level`. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** The leaves from `start` up to but not including `end`. */
export interface LeafRange {
  readonly start: number;
  readonly end: number;
}

/** Gives the hash of a node. All leaves of the node must be in the tree. */
export type NodeHashes = (node: TreeNode) => Hash;

/** The most hashes that a proof may have. A proof in a tree of 2^53 leaves has fewer. */
export const proofHashesMax = 64;

/** How many hashes a full tile has. One hash at the next level covers all of them. https://c2sp.org/tlog-tiles */
export const tileHashes = 256;

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export function leafHash(body: Uint8Array): Hash {
  return sha256Bytes(LEAF, body);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Hash {
  return sha256Bytes(NODE, left, right);
}

/** The whole nodes that make up a proof's range, from left to right. Each node is smaller than the node before it. */
export function nodesOf({ start, end }: LeafRange): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let at = start; at < end; ) {
    let [level, width] = [0, 1];
    while (at % (width * 2) === 0 && at + width * 2 <= end) [level, width] = [level + 1, width * 2];
    nodes.push({ level, index: at / width });
    at += width;
  }
  return nodes;
}

/** The hash of a range of leaves, for example of a whole tree. An empty range has the SHA-256 of no bytes. */
export function rangeHash(range: LeafRange, hashes: NodeHashes): Hash {
  const last = nodesOf(range).map(hashes);
  return last.length === 0 ? sha256Bytes() : last.reduceRight((right, left) => nodeHash(left, right));
}

/** The ranges whose hashes prove that the leaf at `index` is in the tree of `size`, from the leaf to the root. */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const [, ...beside] = pathTo(index, size, ({ start, end }) => end - start === 1);
  return beside;
}

/** The ranges whose hashes prove that the tree of `size` begins with the tree of `old`. */
export function consistencyRanges(old: number, size: number): LeafRange[] {
  if (old === 0 || old === size) return [];
  const [last, ...beside] = pathTo(old - 1, size, ({ end }) => end === old);
  // If the old tree is a node of the new one, the verifier knows that node's hash as the old root, so the proof leaves it out.
  return last.start === 0 ? beside : [last, ...beside];
}

/** The largest range that has this leaf and satisfies `isEnd`, and the ranges beside the path from there up to the root. */
function pathTo(index: number, size: number, isEnd: (range: LeafRange) => boolean): [LeafRange, ...LeafRange[]] {
  const beside: LeafRange[] = [];
  let range: LeafRange = { start: 0, end: size };
  while (!isEnd(range)) {
    const [left, right] = halves(range);
    const isLeft = index < left.end;
    beside.unshift(isLeft ? right : left);
    range = isLeft ? left : right;
  }
  return [range, ...beside];
}

/** The root to which a proof of inclusion leads; null if the proof has a wrong length. */
export function rootOfInclusion(
  leaf: Hash,
  { index, size, proof }: { readonly index: number; readonly size: number; readonly proof: readonly Hash[] },
): Hash | null {
  if (index >= size) return null;
  const path = new Path(index, size - 1);
  let root = leaf;
  for (const hash of proof) {
    if (path.isAtRoot) return null;
    root = path.isRight() ? nodeHash(hash, root) : nodeHash(root, hash);
    path.rise();
  }
  return path.isAtRoot ? root : null;
}

/** A tree as a head states it. */
export interface TreeHead {
  readonly size: number;
  readonly root: Hash;
}

/** Whether the proof shows that the newer tree only added leaves to the older one. */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Hash[]): boolean {
  if (older.size === newer.size) return proof.length === 0 && equalHashes(older.root, newer.root);
  if (older.size > newer.size || (older.size === 0 && proof.length > 0)) return false;
  if (older.size === 0) return true;
  const [first, ...rest] = isPowerOfTwo(older.size) ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  const path = new Path(older.size - 1, newer.size - 1);
  while (path.isRightChild) path.rise();
  let [old, root] = [first, first];
  for (const hash of rest) {
    if (path.isAtRoot) return false;
    const isRight = path.isRight();
    if (isRight) old = nodeHash(hash, old);
    root = isRight ? nodeHash(hash, root) : nodeHash(root, hash);
    path.rise();
  }
  return path.isAtRoot && equalHashes(old, older.root) && equalHashes(root, newer.root);
}

export function equalHashes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** The path from a leaf to the root, together with the path of the tree's last leaf: `fn` and `sn` in RFC 9162. */
class Path {
  #node: number;
  #last: number;

  constructor(node: number, last: number) {
    this.#node = node;
    this.#last = last;
  }

  get isAtRoot(): boolean {
    return this.#last === 0;
  }

  get isRightChild(): boolean {
    return this.#node % 2 === 1;
  }

  /** Whether the next hash is on the left. First, a last node without a right neighbour rises until it has a left neighbour. */
  isRight(): boolean {
    if (!this.isRightChild && this.#node !== this.#last) return false;
    while (!this.isRightChild && this.#node !== 0) this.rise();
    return true;
  }

  rise(): void {
    this.#node = Math.floor(this.#node / 2);
    this.#last = Math.floor(this.#last / 2);
  }
}

/** Both sides of a range of at least two leaves. The left side's size is the largest power of two below the range's size. */
function halves({ start, end }: LeafRange): [LeafRange, LeafRange] {
  let width = 1;
  while (width * 2 < end - start) width *= 2;
  return [
    { start, end: start + width },
    { start: start + width, end },
  ];
}

function isPowerOfTwo(size: number): boolean {
  let power = 1;
  while (power < size) power *= 2;
  return power === size;
}
