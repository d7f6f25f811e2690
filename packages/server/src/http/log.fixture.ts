/** A log whose answers are the same every time. */
import type { PublicLog } from '../job/log/read-log.ts';

export const MEMORY_LOG: PublicLog = {
  checkpoint: async () => 'a head',
  tile: async ({ width }) => new Uint8Array(32 * width),
  proof: async () => 'a proof',
  consistency: async () => 'a proof',
  keys: async () => ({ origin: 'log.example/log/1', log_key: 'key', opening: {} }),
};
