/**
 * What the library of the door finds wrong by itself, told in our log. It is given no log of its own: that would make a
 * child of it for every request, which has its one line from the door already.
 */
import { type FastifyRequest, LogController } from 'fastify';
import type { Log } from '../../telemetry/log/log.ts';

export class LibraryLog extends LogController {
  readonly #log: Log;

  constructor(log: Log) {
    super({ disableRequestLogging: true });
    this.#log = log;
  }

  /** A body could not be read to its end. Where it is the client that left, the line of its request says so. */
  override streamError(error: NodeJS.ErrnoException, request: FastifyRequest): void {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#tell(error, request, 'answer broken off');
  }

  override writeHeadError(error: Error, request: FastifyRequest): void {
    this.#tell(error, request, 'answer without a head');
  }

  override serializerError(error: Error, request: FastifyRequest): void {
    this.#tell(error, request, 'answer not spelled');
  }

  #tell(error: Error, request: FastifyRequest, message: string): void {
    this.#log.error({ request_id: request.id, err: error }, message);
  }
}
