/** A runtime pack: the read-only trees that a cell sees as its system, and their names and digest. */
import type { RuntimePack } from '@vouchbox/protocol';
import type { MountPoint } from './description.ts';

/** The name of the pack that every host has. No other pack may take this name. */
export const SYSTEM_PACK = 'system';

/** A pack's name. It is also the pack's directory and the `runtime` of a submission. */
export const PACK_NAME = /^[a-z0-9][a-z0-9.-]{0,63}$/;
/** A pack's version. It is also the name of a directory. */
export const PACK_VERSION = /^[0-9A-Za-z][0-9A-Za-z.+~-]{0,63}$/;

/** A pack as reported, without its paths on this host. */
export function packView({ name, version, languages, digest, libraries }: RuntimePack): RuntimePack {
  return { name, version, languages, digest, ...(libraries !== undefined && { libraries }) };
}

/** A pack from which cells can be made. */
export interface Pack extends RuntimePack {
  /** Trees and files of the host, and their places in a cell. */
  readonly binds: readonly MountPoint[];
  /** Variables in addition to a program's fixed environment, as `NAME=VALUE`. */
  readonly environment: readonly string[];
}
