/** Reads the log that a running service serves. */
import { expect, vi } from 'vitest';
import type { Rig } from '../rig/rig.ts';

/** A job's proof, once the log has the job. */
export async function proofOf({ alpha }: Rig, job_id: string): Promise<string> {
  const { bytes } = await vi.waitFor(() => alpha.client.logProof(job_id), { timeout: 20_000, interval: 50 });
  return new TextDecoder().decode(bytes);
}

/** The log's key in the form that readers pin, once the log has a head. */
export async function keyOfLog(rig: Rig): Promise<string> {
  const keys = async () => {
    const { status, json } = await rig.request('/log/keys', { key: null });
    expect(status).toBe(200);
    return json as { readonly log_key: string };
  };
  return (await vi.waitFor(keys, { timeout: 20_000, interval: 50 })).log_key;
}

export async function servedLog(rig: Rig, path: string): Promise<string> {
  return (await rig.request(`/log/${path}`, { key: null })).text;
}
