export { ADAPTERS, type AdapterName, openAdapter } from './open-adapter.ts';
