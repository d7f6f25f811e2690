/** A value that views share in the page's memory. When the value changes, the views are drawn again. */
import { useSyncExternalStore } from 'react';

export interface Kept<Value> {
  readonly get: () => Value;
  readonly set: (next: Value) => void;
  /** The current value, for a view that is drawn again when the value changes. */
  readonly use: () => Value;
}

export function kept<Value>(first: Value): Kept<Value> {
  let value = first;
  const listeners = new Set<() => void>();
  const get = () => value;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const set = (next: Value) => {
    value = next;
    for (const listener of listeners) listener();
  };
  return { get, set, use: () => useSyncExternalStore(subscribe, get) };
}
