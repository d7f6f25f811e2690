/**
 * Makes cells under one OCI runtime. It owns what all cells share: the directory on the host, the group root and the empty root.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimePack } from '@vouchbox/protocol';
import type { GroupRoot } from '../kernel/cgroup/cgroup.ts';
import { fileStamp } from '../kernel/host/file-stamp.ts';
import { hasOneUser, usersOfCells } from '../kernel/user-namespace/mapped-users.ts';
import {
  BootstrapError,
  type CellKind,
  type CellOrigin,
  type CellRequest,
  type PreparedCell,
  unreadyPosture,
} from '../sandbox.ts';
import { ConfinedCell } from './cell.ts';
import { type Pack, packView, SYSTEM_PACK } from './pack.ts';
import { processOneFiles } from './process-one.ts';
import { buildRootfs, type RootFiles } from './rootfs.ts';
import type { CellOptions, ReservedCell, Runtime } from './runtime.ts';
import { toolFiles } from './tool-files.ts';

export interface ConfinedCellsOptions {
  readonly runtime: Runtime;
  readonly packs: readonly Pack[];
  readonly groups: GroupRoot;
  /** The service's own directory on the host, accessible to root only. */
  readonly directory: string;
  readonly workBytes: number;
  readonly hostPostureSha256: (() => string | null) | null;
  readonly loopback: boolean;
  /** How long a cell may take to be ready, unless its request says otherwise. */
  readonly readyMilliseconds: number;
}

/** Prepares cells of one runtime and remembers each until it is gone. Disposing ends all cells. */
export class ConfinedCells implements AsyncDisposable {
  readonly #options: ConfinedCellsOptions;
  /** Two empty roots: one for ordinary cells, and one for cells whose programs may call tools. */
  readonly #roots: { readonly usual: string; readonly withTools: string };
  readonly #cells = new Map<string, ConfinedCell>();
  readonly #preparing = new Set<Promise<unknown>>();
  #packs: Pack[];
  #isClosed = false;
  readonly #uids = new Set<number>();

  constructor(options: ConfinedCellsOptions) {
    this.#options = options;
    this.#packs = [...options.packs];
    mkdirSync(join(options.directory, 'cells'), { recursive: true, mode: 0o711 });
    const { sharesHostKernel } = options.runtime;
    const files = processOneFiles({ sharesHostKernel, loopback: options.loopback });
    this.#roots = {
      usual: this.#root('', files),
      withTools: this.#root('-tools', { ...files, ...toolFiles() }),
    };
  }

  #root(name: string, files: RootFiles): string {
    const path = join(this.#options.directory, `rootfs-${this.#options.runtime.name}${name}`);
    if (!existsSync(path)) buildRootfs(path, files);
    return path;
  }

  get runtime(): Runtime {
    return this.#options.runtime;
  }

  get packs(): readonly RuntimePack[] {
    return this.#packs.map(packView);
  }

  /** Makes cells of a pack from now on. The pack's name must be new. */
  addPack(pack: Pack): void {
    this.#packs.push(pack);
  }

  /** Makes no more cells of a pack. */
  forgetPack(name: string): void {
    this.#packs = this.#packs.filter((pack) => pack.name !== name);
  }

  prepare(request: CellRequest): Promise<PreparedCell> {
    const prepared = this.#prepare(request);
    const settled = prepared.catch(() => {});
    this.#preparing.add(settled);
    return prepared.finally(() => this.#preparing.delete(settled));
  }

  /** See `Provider`. */
  originOf(kind: CellKind): CellOrigin | null {
    const pack = this.#findPack(kind.runtime);
    if (pack === undefined || kind.hasTools === true || kind.hasLibraries === true) return null;
    const files = [this.#options.runtime.path, ...pack.binds.map(({ source }) => source)];
    const template = this.#templateOf(kind, pack, false);
    return {
      kind: [kind.language, pack.name, kind.stage ?? '', kind.reproducible ? 'reproducible' : (template ?? '')]
        .join(' ')
        .trimEnd(),
      madeOf: () => [pack.digest, ...files.map(fileStamp)].join(' '),
    };
  }

  /** See `Provider`. */
  noteAsked(kind: CellKind): void {
    const pack = this.#findPack(kind.runtime);
    if (pack !== undefined && !this.#isClosed) this.#templateOf(kind, pack, true);
  }

  /** Ends every cell, including cells that are still being made, and makes no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#preparing);
    await Promise.all([...this.#cells.values()].map((cell) => cell[Symbol.asyncDispose]()));
    await this.#options.runtime[Symbol.asyncDispose]();
  }

  async #prepare(request: CellRequest): Promise<PreparedCell> {
    const id = randomUUID();
    const rootUid = this.#takeUid();
    const forget = (isGone: boolean) => {
      this.#cells.delete(id);
      if (isGone) this.#uids.delete(rootUid);
    };
    try {
      if (this.#isClosed) throw new Error('no more cells are made: the service is stopping');
      const cell = await ConfinedCell.prepare(
        this.#cellOptions(request, this.#pack(request.runtime), { id, rootUid }),
        forget,
      );
      this.#cells.set(id, cell);
      return cell;
    } catch (error) {
      throw error instanceof BootstrapError ? error : this.#unprepared(error, forget);
    }
  }

  #cellOptions(request: CellRequest, pack: Pack, { id, rootUid }: Pick<CellOptions, 'id' | 'rootUid'>): CellOptions {
    const { runtime, groups, directory, workBytes, hostPostureSha256, loopback, readyMilliseconds } = this.#options;
    return {
      id,
      runtime,
      pack,
      language: request.language,
      stage: request.stage,
      reproducible: request.reproducible,
      hasTools: request.hasTools ?? false,
      hasLibraries: request.hasLibraries ?? false,
      // Only a cell with an owner can be a copy of a template. A cell with tools or libraries gets no owner, because a copy has
      // no descriptors for tools and no place for libraries.
      owner: request.reproducible || request.hasTools || request.hasLibraries ? undefined : request.owner,
      group: groups.open(id),
      directory: join(directory, 'cells', id),
      rootfs: request.hasTools ? this.#roots.withTools : this.#roots.usual,
      rootUid,
      hybridMount: groups.hybridMount,
      workBytes,
      hostPostureSha256: hostPostureSha256?.() ?? null,
      loopback,
      readyMilliseconds: request.readyMilliseconds ?? readyMilliseconds,
      reserve: () => this.#reserve(),
      aheadUntil: request.aheadUntil,
    };
  }

  #templateOf({ language, runtime, owner, reproducible }: CellKind, pack: Pack, isAsked: boolean): string | null {
    if (owner === undefined || reproducible) return null;
    const cell = () => this.#cellOptions({ language, runtime, owner }, pack, { id: randomUUID(), rootUid: 0 });
    return this.#options.runtime.templateOf({ language, pack, owner, isAsked, cell });
  }

  #reserve(): ReservedCell {
    const id = randomUUID();
    const rootUid = this.#takeUid();
    const group = this.#options.groups.open(id);
    return {
      id,
      rootUid,
      group,
      [Symbol.asyncDispose]: async () => {
        await group.remove();
        this.#uids.delete(rootUid);
      },
    };
  }

  #pack(name: string | null): Pack {
    const pack = this.#findPack(name);
    if (pack === undefined) throw new Error(`there is no runtime pack ${name}`);
    return pack;
  }

  #findPack(name: string | null): Pack | undefined {
    return this.#packs.find((candidate) => candidate.name === (name ?? SYSTEM_PACK));
  }

  #unprepared(error: unknown, forget: (isGone: boolean) => void): BootstrapError {
    forget(true);
    const { backend, identity } = this.#options.runtime;
    return new BootstrapError('cgroup', (error as Error).message, unreadyPosture(backend, identity), { cause: error });
  }

  /** Takes two unused users for a cell, so that no two jobs share a user. If only root is mapped, every cell gets root. */
  #takeUid(): number {
    // Every program is then root of this namespace.
    if (hasOneUser()) return 0;
    const { first, count } = usersOfCells();
    for (;;) {
      if (this.#uids.size >= count / 2) throw new Error('every subordinate user is taken');
      const uid = first + 2 * randomInt(count / 2);
      if (this.#uids.has(uid)) continue;
      this.#uids.add(uid);
      return uid;
    }
  }
}
