/** Owners whose Python interpreters are copies of a template, as for a tenant who often asks for cells. */
import { vi } from 'vitest';
import type { CellRequest, Provider } from '../../sandbox.ts';

/** A request for which the provider copies a template. Resolves once this owner has a template. */
export async function copiedPython(
  provider: Provider,
  owner: string,
  runtime: string | null = null,
): Promise<CellRequest> {
  const kind = { language: 'python', runtime, owner } as const;
  const started = provider.originOf({ language: 'python', runtime })?.kind;
  await vi.waitFor(
    () => {
      provider.noteAsked(kind);
      if (provider.originOf(kind)?.kind === started) throw new Error(`${owner} has no template`);
    },
    { timeout: 30_000 },
  );
  return kind;
}
