/**
 * What is known now or will be. Most credentials are known now: whoever waits for a promise all the same pays for it with
 * every request.
 */
export type Soon<Value> = Value | Promise<Value>;

/** What `use` makes of a value, as soon as the value is known: at once where it is. Rejects as the value does. */
export function whenKnown<Value, Made>(value: Soon<Value>, use: (value: Value) => Soon<Made>): Soon<Made> {
  return value instanceof Promise ? value.then(use) : use(value);
}
