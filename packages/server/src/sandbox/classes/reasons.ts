/** Puts failures and their reasons into one line for the operator. A reason that several failures share is stated once. */

/** `one, other: reason; third: another reason`, in the order given. */
export function sayReasons(failures: readonly (readonly [name: string, reason: string])[]): string {
  const namesByReason = Map.groupBy(failures, ([, reason]) => reason);
  return [...namesByReason]
    .map(([reason, sharing]) => `${sharing.map(([name]) => name).join(', ')}: ${reason}`)
    .join('; ');
}
