/** The result of offering the packs that were built since the service started. */
import type { RuntimePack } from '@vouchbox/protocol';
import type { PackLeftOut } from './load-packs.ts';

export interface TakenPacks {
  /** All that is offered now, each with the languages that passed their canaries. */
  readonly offered: readonly RuntimePack[];
  /** New, and not offered, or not with every language. */
  readonly leftOut: readonly PackLeftOut[];
}
