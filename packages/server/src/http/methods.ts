/** The answer if no route fits: which methods the path takes, or that there is no such path. RFC 9110 § 15.5.6. */
import { OPERATIONS, type Operation, PAGES } from '@vouchbox/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../ground/service-error.ts';
import type { PublicLog } from '../job/log/read-log.ts';
import { sendRefusal } from './call/respond.ts';
import type { Page } from './pages/built-pages.ts';
import { noSuchRoute } from './request/target.ts';
import { FRONT_PATH } from './routes/front-page.ts';
import { isPagePath } from './routes/pages.ts';

const PATHS: readonly { readonly path: RegExp; readonly method: string }[] = [
  ...Object.values<Operation>(OPERATIONS),
  { path: FRONT_PATH, method: 'GET' },
].map(({ path, method }) => ({ path: matching(path, '[^/]+'), method }));

const LOG_PATHS = Object.values(PAGES).flatMap(({ kind, path }) => (kind === 'log' ? [matching(path, '.+')] : []));
const LINK_PATHS = Object.values(PAGES).flatMap(({ kind, path }) => (kind === 'link' ? [matching(path, '[^/]+')] : []));

/** A pattern that matches a template's paths, whatever the value of the template's parameter is. */
function matching(path: string, parameter: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[a-z0-9]+\}/g, parameter)}$`);
}

/** The routes beside the operations. */
export interface Beside {
  readonly pages: readonly Page[];
  /** Null if the service keeps no log. */
  readonly log: PublicLog | null;
  /** Whether this node serves more than probes and its metrics. */
  readonly servesApi: boolean;
  /** Whether the operator set a token for the metrics of the whole service. */
  readonly hasMetrics: boolean;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** The methods that a path takes, in a fixed order; none if there is no such path. `*` stands for the whole server. */
function methodsOf(path: string, { pages, log, servesApi, hasMetrics }: Beside): readonly string[] {
  if (path === '*') return METHODS;
  if (path === OPERATIONS.getMetrics.path && !hasMetrics) return [];
  const methods = PATHS.filter((entry) => entry.path.test(path)).map(({ method }) => method);
  const others = [...(log === null ? [] : LOG_PATHS), ...(servesApi ? LINK_PATHS : [])];
  if (isPagePath(path, pages) || others.some((other) => other.test(path))) methods.push('GET');
  if (methods.length === 0) return [];
  return METHODS.filter((method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method));
}

/** Answers OPTIONS, or refuses with 405 or 404. No header of these answers allows requests from another origin. */
export function answerUnrouted(request: FastifyRequest, reply: FastifyReply, beside: Beside): FastifyReply {
  const path = request.url.split('?', 1)[0] ?? '';
  const methods = methodsOf(path, beside);
  if (methods.length === 0) return sendRefusal(request, reply, { error: noSuchRoute() });
  const allow = methods.join(', ');
  if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send();
  const error = new ServiceError('method_not_allowed', `This route takes ${allow}.`);
  return sendRefusal(request, reply, { error, headers: { allow } });
}
