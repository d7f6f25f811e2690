export { AdapterError } from './adapter-error.ts';
export type { Runtimes } from './languages.ts';
export { type AdapterName, type AdapterOptions, isLoopback, openAdapter } from './open-adapter.ts';
