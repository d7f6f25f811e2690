/** Isolation classes and their order. Spec § Job submission, isolation table. */

export const ISOLATION_CLASSES = [
  'none',
  'linux-shared-kernel',
  'gvisor-application-kernel',
  'hardware-vm',
  'confidential-vm',
  'wasm-capability',
] as const;
export type IsolationClass = (typeof ISOLATION_CLASSES)[number];

/** The process-provider order, weakest first. `wasm-capability` is a branch of its own and stands nowhere in it. */
const PROCESS_ORDER: readonly IsolationClass[] = [
  'none',
  'linux-shared-kernel',
  'gvisor-application-kernel',
  'hardware-vm',
  'confidential-vm',
];

/**
 * Whether an observed class meets a demanded minimum: in the process-provider order a stronger class satisfies a weaker
 * minimum; `wasm-capability` satisfies only itself or `none`, and nothing else satisfies it.
 */
export function satisfiesIsolation(observed: IsolationClass, minimum: IsolationClass): boolean {
  if (minimum === 'none' || observed === minimum) return true;
  const have = PROCESS_ORDER.indexOf(observed);
  const want = PROCESS_ORDER.indexOf(minimum);
  return have >= 0 && want >= 0 && have >= want;
}
