/**
 * Only this folder knows HTTP. It turns requests into calls to the folders below, and their answers and refusals into
 * responses. Every operation in the contract has its route here.
 */
import type { Socket } from 'node:net';
import { type ErrorCode, OPERATION_IDS, type OperationId, operationOf } from '@vouchbox/protocol';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Access } from '../access/authenticate.ts';
import type { RateBound, RateBudget } from '../capacity/rate.ts';
import { ServiceError } from '../ground/service-error.ts';
import type { PublicLog } from '../job/log/read-log.ts';
import { type Log, logAtAnyLevel } from '../telemetry/log/log.ts';
import type { Observer } from '../telemetry/observer.ts';
import { LibraryLog } from './answer/library-log.ts';
import { createAnswerWatch, observeRequests } from './answer/observe.ts';
import { serviceErrorOf } from './answer/refusal.ts';
import { ClientGone } from './call/body.ts';
import { Call, type Handlers } from './call/call.ts';
import { sendRefusal } from './call/respond.ts';
import { Connections } from './connections/connections.ts';
import { Crowd } from './connections/crowd.ts';
import { createHttpServer } from './connections/listener.ts';
import { TRANSPORT_BOUNDS, type TransportBounds } from './connections/transport.ts';
import { entryHook } from './entry.ts';
import { answerUnrouted, type Beside } from './methods.ts';
import { listBuiltPages, type Page } from './pages/built-pages.ts';
import { newRequestId } from './request/request-id.ts';
import { attestationHandlers } from './routes/attestations.ts';
import { blobHandlers } from './routes/blobs.ts';
import type { RouteContext, ServiceFacts } from './routes/context.ts';
import { addFrontPage } from './routes/front-page.ts';
import { gradingHandlers } from './routes/gradings.ts';
import { jobHandlers } from './routes/jobs.ts';
import { addLinks, linkHandlers } from './routes/links.ts';
import { addLog } from './routes/log.ts';
import { addPages } from './routes/pages.ts';
import { PROBES, refuseApi } from './routes/probes.ts';
import { publicHandlers } from './routes/public.ts';
import { serviceHandlers } from './routes/service.ts';
import { sessionHandlers } from './routes/sessions.ts';
import { toolHandlers } from './routes/tools.ts';
import { AuthorityWatch } from './stream/authority.ts';
import { WebSockets } from './stream/websocket.ts';

/** The parts of the service that handlers use, except those that `createApp` makes. */
type Given = Omit<RouteContext, 'access' | 'authority' | 'bounds' | 'connections' | 'webSockets'>;

export interface AppOptions extends Given {
  readonly access: Access;
  readonly rate: RateBudget;
  readonly observer: Observer;
  /** Null if no log is kept. */
  readonly publicLog?: PublicLog | null;
  /** The rate for all readers of a tenant's links together. Only tests set it, to lower it. */
  readonly linkRate?: RateBound;
  /** The rate for all readers of the log together. Only tests set it, to lower it. */
  readonly logRate?: RateBound;
  /** Static pages beside the operations. By default, the built pages, or none if a command starts the service for itself. */
  readonly pages?: readonly Page[];
  /** Null if the operator set none. */
  readonly metricsToken: string | null;
  /** Other origins whose pages may open a stream, beside pages from the service's own host. */
  readonly allowedOrigins: readonly string[];
  /** Whether a command starts the service for itself. The bounds are then not logged. */
  readonly isEmbedded: boolean;
  /** False for a node that answers only probes and requests for its metrics. */
  readonly servesApi: boolean;
  /** The most connections that one peer may have without a live credential. */
  readonly connectionsOfPeer: number;
  /** Only tests set these, to shorten them. */
  readonly bounds?: Partial<TransportBounds>;
}

/** No route has a Fastify schema, so the schema compiler is not loaded. */
const NO_COMPILERS = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new Error('bodies and queries are checked by the contract, not by Fastify');
}

/** How often authorities are checked. All that a caller holds open ends within five seconds after the authority expires. */
const authorityCheckMilliseconds = 2000;

/** Builds the app. It does not listen yet: see `listen`. Closing the app ends idle connections first, and then all others. */
export function createApp(options: AppOptions): FastifyInstance {
  const { log, access, tickets, rate, metricsToken, stopping, observer, isEmbedded, servesApi } = options;
  const beside = besideOf(options);
  const bounds = boundsOf(options);
  const crowd = new Crowd(log, observer);
  const connections = new Connections(bounds, () => crowd.turnedAway());
  const webSockets = new WebSockets(connections);
  const isIdle = (connection: Socket) => connections.answersOn(connection).length === 0;
  const authority = new AuthorityWatch({ access, log, checkMilliseconds: authorityCheckMilliseconds, isIdle });
  const watchAnswer = createAnswerWatch(log, observer);
  if (!isEmbedded) logAtAnyLevel(log, { bounds }, 'transport bounds');
  const app = fastify({
    logController: new LibraryLog(log),
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: bounds.headBytes },
    schemaController: { compilersFactory: NO_COMPILERS },
    serverFactory: (handler) =>
      createHttpServer(handler, { bounds, connections, crowd, upgrades: webSockets.upgrades, log, observer }),
    // The router refused the request before any hook could run.
    frameworkErrors: (error, request, reply) => {
      watchAnswer(request, reply);
      void refuse(error, request, reply, log);
    },
    // The listener answers parser errors. Fastify would write its own answer after the listener's.
    clientErrorHandler: () => undefined,
  });
  app.decorateRequest('caller', null);
  leaveBodiesUnread(app);
  observeRequests(app, watchAnswer, observer);
  if (!servesApi) app.addHook('onRequest', refuseApi);
  app.addHook(
    'onRequest',
    entryHook({
      access,
      tickets,
      rate,
      metricsToken,
      allowedOrigins: new Set(options.allowedOrigins),
      bodyMilliseconds: bounds.bodyMilliseconds,
      authority,
      stopping,
      connections,
    }),
  );
  // Later requests are refused by `entry.ts`.
  stopping.addEventListener('abort', () => connections.closeAfterAnswers(), { once: true });
  app.addHook('onClose', async () => {
    authority[Symbol.dispose]();
    connections[Symbol.dispose]();
  });
  app.setErrorHandler((error: Error, request, reply) => answerError(error, request, reply, { log, beside }));
  app.setNotFoundHandler((request, reply) => answerUnrouted(request, reply, beside));
  const context = { ...options, bounds, connections, authority, webSockets };
  addRoutes(app, context);
  addBeside(app, beside, { ...options, ...context });
  return app;
}

/** Leaves bodies unread. A handler that takes a body reads it, after all other checks. */
function leaveBodiesUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

function addBeside(app: FastifyInstance, { pages, log, servesApi }: Beside, options: AppOptions & RouteContext): void {
  addPages(app, pages);
  if (log !== null) addLog(app, log, options.logRate);
  if (!servesApi) return;
  addFrontPage(app, pages);
  addLinks(app, options, options.linkRate);
}

function boundsOf({ connectionsOfPeer, bounds }: AppOptions): TransportBounds {
  return { ...TRANSPORT_BOUNDS, connectionsOfPeer, ...bounds };
}

/** This node's routes beside the operations. */
function besideOf({ isEmbedded, servesApi, pages, publicLog = null, metricsToken }: AppOptions): Beside {
  const hasMetrics = metricsToken !== null;
  if (!servesApi) return { pages: [], log: null, servesApi, hasMetrics };
  return { pages: pages ?? (isEmbedded ? [] : listBuiltPages()), log: publicLog, servesApi, hasMetrics };
}

function addRoutes(app: FastifyInstance, context: RouteContext & Pick<AppOptions, 'servesApi'>): void {
  const { servesApi } = context;
  const handlers: Handlers = {
    ...publicHandlers(context),
    ...serviceHandlers(context),
    ...attestationHandlers(context),
    ...jobHandlers(context),
    ...blobHandlers(context),
    ...toolHandlers(context),
    ...linkHandlers(context),
    ...gradingHandlers(context),
    ...sessionHandlers(context),
  };
  const routeOf = <Id extends OperationId>(id: Id) => {
    const operation = operationOf(id);
    const url = operation.path.replaceAll(/\{([a-z0-9]+)\}/g, ':$1');
    const handler = (_request: FastifyRequest, reply: FastifyReply) => handlers[id](new Call(id, reply, context));
    return { method: operation.method, url, config: { operation }, handler };
  };
  for (const id of servesApi ? OPERATION_IDS : PROBES) if (id !== 'streamEvents') app.route(routeOf(id));
  // The stream's route has a scope of its own, so that its hooks do not run for other requests.
  app.register(async (scope) => {
    context.webSockets.addTo(scope);
    if (servesApi) scope.route(routeOf('streamEvents'));
  });
}

function answerError(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, beside }: { readonly log: Log; readonly beside: Beside },
): FastifyReply {
  if (error instanceof ClientGone || reply.raw.destroyed) return reply.hijack();
  // Fastify checks the body of some methods before it finds that there is no such route.
  if (request.is404 && !(error instanceof ServiceError)) return answerUnrouted(request, reply, beside);
  return refuse(error, request, reply, log);
}

function refuse(cause: Error, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const error = serviceErrorOf(cause);
  if (error.code === 'internal') {
    log.error({ request_id: request.id, err: error.cause ?? error }, 'request failed');
  } else if (!isListed(error.code, request)) {
    log.error({ request_id: request.id, err: error }, UNLISTED_REFUSAL);
  }
  return sendRefusal(request, reply, { error });
}

/** Logged if an operation is refused with a code that the contract does not list for it, which is a bug in this service. */
export const UNLISTED_REFUSAL = 'refused with a code that the contract does not list for this operation';

function isListed(code: ErrorCode, { routeOptions }: FastifyRequest): boolean {
  const { operation } = routeOptions.config;
  return operation === undefined || code === 'route_not_found' || operation.errors.includes(code);
}

export type { ServiceFacts };
