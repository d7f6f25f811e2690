/** Which exit code of `vouchbox export` a failure has: whose it is. */
import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { WrongAnswer } from './command-failure.ts';
import { EXPORT_EXIT } from './exit-code.ts';
import { isOperatorError } from './tell-failure.ts';

/** The code of a failure that is not wrong usage. */
export function exportExitCode(error: unknown): number {
  if (error instanceof ServiceFailure || isOperatorError(error)) return EXPORT_EXIT.refused;
  if (error instanceof WrongAnswer) return EXPORT_EXIT.wrongAnswer;
  if (!(error instanceof TransportFailure)) return EXPORT_EXIT.failed;
  const isLost = ['network', 'timeout', 'truncated'].includes(error.reason);
  return isLost ? EXPORT_EXIT.unanswered : EXPORT_EXIT.wrongAnswer;
}
