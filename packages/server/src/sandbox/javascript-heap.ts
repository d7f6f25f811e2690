/**
 * How large the JavaScript heap of a Node program may be: below its memory limit, so that a program whose heap is full
 * fails by V8's own hand, and says so, before the kernel ends it for want of memory.
 */

/**
 * What a program may have in V8's heap, both generations together, in MiB, for a memory limit in MiB. The rest is for
 * buffers and code, and for what V8 takes beyond its limit while it moves what lives: at most 24 MiB in a small heap
 * and about a quarter of a large one.
 */
export function heapMb(memMb: number): number {
  return Math.max(16, Math.min(memMb - 32, Math.floor((memMb * 5) / 8)));
}

/** The option that starts Node with that heap. `launch.cjs` starts anew with the same option where a job has another. */
export function heapOption(memMb: number): string {
  return `--max-heap-size=${heapMb(memMb)}`;
}
