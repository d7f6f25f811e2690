/** Work that is done at the first call. Every call gets the result of the first. */
export function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | null = null;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
