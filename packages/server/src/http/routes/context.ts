/** The parts of the service that handlers use. */
import type { Capabilities, PublicKey, Readiness, ServiceStatus } from '@vouchbox/protocol';
import type { Access } from '../../access/authenticate.ts';
import type { Links } from '../../access/links.ts';
import type { Tickets } from '../../access/tickets.ts';
import type { Blobs } from '../../job/blobs/blobs.ts';
import type { Gradings } from '../../job/gradings.ts';
import type { Jobs } from '../../job/jobs.ts';
import type { Sessions } from '../../job/sessions.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Metrics } from '../answer/metrics.ts';
import type { CallContext } from '../call/call.ts';
import type { Connections } from '../connections/connections.ts';
import type { WebSockets } from '../stream/websocket.ts';

/** What the service states about itself. */
export interface ServiceFacts {
  capabilities(): Capabilities;
  /** The status. Its figures about the last hour cover only this tenant's jobs. */
  status(tenant: string): Promise<ServiceStatus>;
  /** The key that signs now or, if signing is off, signed last; null if there never was a key. */
  publicKey(): PublicKey | null;
  /** The callee caches the answer, so that frequent calls are cheap. */
  readiness(): Readiness | Promise<Readiness>;
}

export interface RouteContext extends CallContext {
  readonly jobs: Jobs;
  readonly gradings: Gradings;
  readonly sessions: Sessions;
  readonly blobs: Blobs;
  readonly access: Pick<Access, 'stands'>;
  readonly tickets: Tickets;
  readonly links: Links;
  /** Whether the operator allows links. */
  readonly allowsLinks: boolean;
  readonly connections: Connections;
  readonly webSockets: WebSockets;
  readonly log: Log;
  readonly service: ServiceFacts;
  /** The exact bytes of the OpenAPI document. */
  readonly openapi: Buffer;
  readonly metrics: Metrics;
}
