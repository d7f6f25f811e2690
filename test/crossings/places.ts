/**
 * The columns of the matrix: the places that submit, run, store or show jobs. The code has lists of such places, and each
 * of their entries has a column here: a new entry without a column does not compile.
 */
import type { AdapterName } from '@vouchbox/adapters';
import type { Backend } from '@vouchbox/protocol';
import type { PreflightOptions } from '../../packages/server/src/sandbox/classes/candidate.ts';
import { crun, fork, gvisor, namespace, ordinaryUser } from './columns/cells.ts';
import { command } from './columns/command.ts';
import { dashboard } from './columns/dashboard.ts';
import { exportByCommand, exportByLibrary, exportByPage } from './columns/exports.ts';
import { grading } from './columns/grading.ts';
import { http } from './columns/http.ts';
import { judge0 } from './columns/judge0.ts';
import { mcp } from './columns/mcp.ts';
import { piston } from './columns/piston.ts';
import { pythonClient } from './columns/python-client.ts';
import { backup, copy, nodes, objects } from './columns/records.ts';
import { sandboxFusion } from './columns/sandbox-fusion.ts';
import { typescriptClient } from './columns/typescript-client.ts';
import type { Place } from './place.ts';

const ADAPTERS: Readonly<Record<AdapterName, Place>> = { piston, judge0, 'sandbox-fusion': sandboxFusion };

/** The classes that isolate. */
const CLASSES: Readonly<Record<Exclude<Backend, 'subprocess'>, Place>> = { namespace, gvisor };

type Launcher = Exclude<NonNullable<PreflightOptions['namespaceLauncher']>, 'auto'>;
const LAUNCHERS: Readonly<Record<Launcher, Place>> = { fork, crun };

/** The columns, keyed by name, in order. */
export const PLACES = {
  http,
  'typescript-client': typescriptClient,
  'python-client': pythonClient,
  command,
  mcp,
  ...ADAPTERS,
  dashboard,
  'export-by-command': exportByCommand,
  'export-by-library': exportByLibrary,
  'export-by-page': exportByPage,
  grading,
  backup,
  copy,
  nodes,
  objects,
  ...CLASSES,
  ...LAUNCHERS,
  'ordinary-user': ordinaryUser,
} as const satisfies Readonly<Record<string, Place>>;
export type PlaceName = keyof typeof PLACES;
export const PLACE_NAMES = Object.keys(PLACES) as PlaceName[];
