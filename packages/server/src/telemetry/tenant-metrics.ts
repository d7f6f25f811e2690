/** Metrics about one tenant's current jobs, made on request. They are not a billing ledger. Spec § Other routes. */
import { Gauge, Registry } from '@prometheus-io/client';
import type { Language } from '@vouchbox/protocol';
import { METRICS_MEDIA_TYPES, type MetricsFormat } from './metrics-format.ts';

/** A tenant's current jobs, and the bounds that apply to them. */
export interface TenantJobs {
  /** Every language once, even without a job, so that the series do not depend on a tenant's jobs. */
  readonly languages: readonly { readonly language: Language; readonly queued: number; readonly running: number }[];
  /** How many of the tenant's jobs may wait. */
  readonly queueCapacity: number;
}

/** The metrics as text. They do not name the tenant, because the caller knows its own. */
export async function renderTenantMetrics(jobs: TenantJobs, format: MetricsFormat): Promise<string> {
  const registry = new Registry(METRICS_MEDIA_TYPES[format]);
  const registers = [registry];
  const current = new Gauge({
    name: 'svc_tenant_jobs',
    help: 'Current jobs of the tenant.',
    labelNames: ['language', 'status'],
    registers,
  });
  for (const { language, queued, running } of jobs.languages) {
    current.set({ language, status: 'queued' }, queued);
    current.set({ language, status: 'running' }, running);
  }
  const capacity = new Gauge({
    name: 'svc_tenant_queue_capacity',
    help: 'Jobs of the tenant that may wait for a slot.',
    registers,
  });
  capacity.set(jobs.queueCapacity);
  return await registry.metrics();
}
