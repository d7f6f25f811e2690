/** The command could not be carried out; the message says why in one line. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/** The service's answer does not fit the request. */
export class WrongAnswer extends CommandFailure {}
