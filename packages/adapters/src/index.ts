export { AdapterError } from './adapter-error.ts';
export type { Runtimes } from './languages.ts';
export { type AdapterName, isLoopback, openAdapter } from './open-adapter.ts';
