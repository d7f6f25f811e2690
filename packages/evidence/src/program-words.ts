/**
 * A job's arguments and environment variables, each as one text, which a receipt's `args_sha256` and `env_sha256` are
 * the digests of. An auditor makes them again from `requested_spec` in the job's detail, or finds them in an export.
 */
import type { StoredSpec } from '@vouchbox/protocol';
import { canonicalJson } from './canonical-json.ts';

/** The list in the order in which the program gets it, in RFC 8785 form; null if the job was given none. */
export function argumentsText({ args = [] }: StoredSpec): string | null {
  return args.length === 0 ? null : canonicalJson(args);
}

/** Values by name, in RFC 8785 form; null if the job was given none. */
export function variablesText({ env = {} }: StoredSpec): string | null {
  return Object.keys(env).length === 0 ? null : canonicalJson(env);
}
