/**
 * A value that is known now or later. Most credentials are known now, and a promise for each would cost every request.
 */
export type Soon<Value> = Value | Promise<Value>;

/** Applies `use` to a value as soon as it is known: at once if it is known now. Rejects as the value does. */
export function whenKnown<Value, Made>(value: Soon<Value>, use: (value: Value) => Soon<Made>): Soon<Made> {
  return value instanceof Promise ? value.then(use) : use(value);
}
