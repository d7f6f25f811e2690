/**
 * Logs the errors that the HTTP library itself finds. The library gets no logger of its own, because it would make a child logger
 * for every request, and each request already has its one line.
 */
import { type FastifyRequest, LogController } from 'fastify';
import type { Log } from '../../telemetry/log/log.ts';

export class LibraryLog extends LogController {
  readonly #log: Log;

  constructor(log: Log) {
    super({ disableRequestLogging: true });
    this.#log = log;
  }

  /** Logs that a body could not be read to its end. If the client left, the request's own line says so. */
  override streamError(error: NodeJS.ErrnoException, request: FastifyRequest): void {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#tell(error, request, 'an answer was broken off');
  }

  override writeHeadError(error: Error, request: FastifyRequest): void {
    this.#tell(error, request, 'an answer has no head');
  }

  override serializerError(error: Error, request: FastifyRequest): void {
    this.#tell(error, request, 'an answer could not be serialized');
  }

  #tell(error: Error, request: FastifyRequest, message: string): void {
    this.#log.error({ request_id: request.id, err: error }, message);
  }
}
