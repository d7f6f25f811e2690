export { ADAPTERS, type AdapterName, isLoopback, openAdapter } from './open-adapter.ts';
