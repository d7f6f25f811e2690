/** Thrown if nothing can be logged until an operator changes something. Any caller may read the message, so it names no path. */
export class LogStopped extends Error {
  override readonly name = 'LogStopped';
}
