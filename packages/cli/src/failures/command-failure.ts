/** The command could not be carried out; the message says why in one line. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/** What a service gave is not what it was asked for. */
export class WrongAnswer extends CommandFailure {}
