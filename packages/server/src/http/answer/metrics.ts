/** The metrics that HTTP serves. Spec § Other routes. */
import type { MediaTypeOf } from '@vouchbox/protocol';

/** Metrics as text, in the negotiated format. */
export interface MetricsText {
  readonly mediaType: MediaTypeOf<'getMetrics'>;
  readonly text: string;
}

export interface Metrics {
  /** Metrics about the tenant's current jobs. `accept` is the unchanged header. */
  ofTenant(tenant: string, accept: string | undefined): Promise<MetricsText>;
  /** Metrics of the whole service. */
  ofService(accept: string | undefined): Promise<MetricsText>;
}
