/**
 * A job's limits on each process that waits for the job. Process 1 or the launcher gets the limits as rows `NAME=VALUE`, with the
 * names in this table, and sets them. `native/limits.h` has the same table.
 */
export const PROCESS_LIMITS = { fileBytes: 'FSIZE', cpuSeconds: 'CPU', processes: 'NPROC' } as const;

export type ProcessLimits = Readonly<Record<keyof typeof PROCESS_LIMITS, number>>;

const rows = Object.entries(PROCESS_LIMITS) as [keyof ProcessLimits, string][];

export function limitRows(limits: ProcessLimits): string {
  return rows.map(([limit, name]) => `${name}=${limits[limit]}`).join(' ');
}

/** The limits that the kernel enforces, as reported. Throws if one is missing. */
export function parseLimitRows(text: string): ProcessLimits {
  const told = new Map([...text.matchAll(/(\w+)=(\d+)/g)].map(([, name = '', value]) => [name, Number(value)]));
  const held = rows.map(([limit, name]) => {
    const value = told.get(name);
    if (value === undefined) throw new Error('the cell did not say which limits it holds');
    return [limit, value];
  });
  return Object.fromEntries(held) as ProcessLimits;
}
