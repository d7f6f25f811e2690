/** A runtime pack: the read-only trees that a cell sees as its system, and their names and digest. */
import type { RuntimePack } from '@vouchbox/protocol';
import type { MountPoint } from './description.ts';

/** The name of the pack that every host has, which no other pack may take. */
export const SYSTEM_PACK = 'system';

/** A pack's name, which is also its directory and the `runtime` of a submission. */
export const PACK_NAME = /^[a-z0-9][a-z0-9.-]{0,63}$/;
/** The version of a pack, which is also the name of a directory. */
export const PACK_VERSION = /^[0-9A-Za-z][0-9A-Za-z.+~-]{0,63}$/;

/** A pack as reported: without its places on this host. */
export function packView({ name, version, languages, digest, libraries }: RuntimePack): RuntimePack {
  return { name, version, languages, digest, ...(libraries !== undefined && { libraries }) };
}

/** A pack that cells can be made of. */
export interface Pack extends RuntimePack {
  /** Trees and files of the host, and where a cell has them. */
  readonly binds: readonly MountPoint[];
  /** Variables beside the fixed environment of a program, as `NAME=VALUE`. */
  readonly environment: readonly string[];
}
