/**
 * How large the JavaScript heap of a Node program may be. It is smaller than the memory limit, so that a program whose heap is
 * full ends with V8's message before the kernel kills it for lack of memory.
 */

/**
 * The size of V8's heap, both generations together, in MiB, for a memory limit in MiB. The rest is for buffers and
 * code, and for the memory that V8 takes beyond its limit while it moves live objects: at most 24 MiB in a small heap
 * and about a quarter of a large one.
 */
export function heapMb(memMb: number): number {
  return Math.max(16, Math.min(memMb - 32, Math.floor((memMb * 5) / 8)));
}

/**
 * The option that starts Node with that heap. `launch.cjs` starts Node again with this option if a job needs another
 * size.
 */
export function heapOption(memMb: number): string {
  return `--max-heap-size=${heapMb(memMb)}`;
}
