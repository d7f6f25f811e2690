/**
 * The contract's words and numbers without its schemas. The store, the evidence, the verifier and the client need no
 * other part of it. A thread or a tool that loads only this module starts in a fraction of the time.
 */
export * from './build-options.ts';
export * from './endpoints.ts';
export * from './errors.ts';
export * from './first-line.ts';
export * from './isolation.ts';
export * from './languages.ts';
export * from './libraries.ts';
export * from './limits.ts';
export * from './link-parts.ts';
export * from './media-types.ts';
export * from './missing-module.ts';
export * from './named-inputs.ts';
export * from './output-text.ts';
export * from './paths.ts';
export * from './posture.ts';
export * from './printable.ts';
export * from './receipt-format.ts';
export * from './roles.ts';
export * from './scopes.ts';
export * from './session-files.ts';
export * from './size-text.ts';
export * from './status.ts';
export * from './stream.ts';
export * from './variables.ts';
