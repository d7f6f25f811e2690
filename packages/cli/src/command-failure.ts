/** What was asked of the command line could not be done, for a reason that one line says. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
