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

/** The process providers, weakest first. `wasm-capability` is not part of this order. */
const PROCESS_ORDER: readonly IsolationClass[] = [
  'none',
  'linux-shared-kernel',
  'gvisor-application-kernel',
  'hardware-vm',
  'confidential-vm',
];

/**
 * Whether an observed class meets a demanded minimum. Among process providers a stronger class satisfies a weaker
 * minimum. `wasm-capability` satisfies only itself or `none`, and nothing else satisfies it.
 */
export function satisfiesIsolation(observed: IsolationClass, minimum: IsolationClass): boolean {
  if (minimum === 'none' || observed === minimum) return true;
  const have = PROCESS_ORDER.indexOf(observed);
  const want = PROCESS_ORDER.indexOf(minimum);
  return have >= 0 && want >= 0 && have >= want;
}
