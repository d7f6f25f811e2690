/** The metrics that HTTP serves. Spec § Other routes. */
import type { MediaTypeOf } from '@vouchbox/protocol';

/** Metrics as text, in the format that was negotiated. */
export interface MetricsText {
  readonly mediaType: MediaTypeOf<'getMetrics'>;
  readonly text: string;
}

export interface Metrics {
  /** Metrics of the tenant's current jobs. `accept` is the header as it was sent. */
  ofTenant(tenant: string, accept: string | undefined): Promise<MetricsText>;
  /** Metrics of the whole service. */
  ofService(accept: string | undefined): Promise<MetricsText>;
}
