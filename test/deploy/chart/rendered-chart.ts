/** The chart of deploy/helm as a cluster gets it: rendered by Helm if it is installed, otherwise by `render.go`. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { DEPLOY } from '../unit.ts';

export const CHART = join(DEPLOY, 'helm/vouchbox');

const GO_SOURCES = '/usr/share/gocode';
const hasRenderer = existsSync('/usr/bin/go') && existsSync(join(GO_SOURCES, 'src/github.com/Masterminds/sprig'));

/** Whether `helm` is on the PATH. */
export const hasHelm = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, 'helm')));
/** Why the chart cannot be rendered here; empty if it can be rendered. */
export const untried = hasHelm || hasRenderer ? '' : ' (not tried: neither helm nor Go with sprig is installed)';

/** One object for the cluster. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was rendered
  readonly [member: string]: any;
}

/** Renders charts. Disposing removes what was built for rendering. */
export class Renderer implements Disposable {
  /** Rendered manifests, keyed by the text of their values. */
  readonly #rendered = new Map<string, readonly Manifest[]>();
  readonly #scratch = mkdtempSync(join(tmpdir(), 'vouchbox-chart-'));

  /** The objects that the chart makes with these values. @throws with the renderer's message if rendering fails */
  render(values: Readonly<Record<string, unknown>>): readonly Manifest[] {
    const asked = JSON.stringify(values);
    const manifests = this.#rendered.get(asked) ?? this.#render(asked);
    this.#rendered.set(asked, manifests);
    return manifests;
  }

  #render(values: string): readonly Manifest[] {
    const file = join(this.#scratch, 'values.json');
    writeFileSync(file, values);
    const text = hasHelm
      ? execFileSync('helm', ['template', 'box', CHART, '--values', file], { encoding: 'utf8', stdio: 'pipe' })
      : execFileSync(this.#program(), [CHART, 'box', file], { encoding: 'utf8', stdio: 'pipe' });
    return parseAllDocuments(text)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  }

  #program(): string {
    const program = join(this.#scratch, 'render');
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_SOURCES, GOCACHE: join(this.#scratch, 'cache') };
    const source = join(import.meta.dirname, 'render.go');
    if (!existsSync(program)) execFileSync('go', ['build', '-o', program, source], { env, stdio: 'pipe' });
    return program;
  }

  [Symbol.dispose](): void {
    rmSync(this.#scratch, { recursive: true });
  }
}
