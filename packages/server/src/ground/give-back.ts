/**
 * Gives the memory of a large array back at once. V8 knows how much memory lies outside its heap, but lets megabytes of
 * it gather before it collects them.
 */

/** Afterwards, nobody may use the bytes or any other bytes of the same buffer. */
export function giveBack({ buffer, length }: Uint8Array): void {
  // A smaller array may lie in a buffer that Node shares among several arrays.
  if (buffer instanceof ArrayBuffer && length > Buffer.poolSize / 2) buffer.transfer(0);
}
