/**
 * A job's arguments, variables and demands, as the texts that a receipt digests: `policy_sha256`, `args_sha256` and `env_sha256`.
 * An auditor can make them again from `requested_spec` in the job's detail, or find them in an export.
 */
import type { StoredSpec } from '@vouchbox/protocol';
import { inputsOf } from '@vouchbox/protocol/vocabulary';
import { canonicalJson } from './canonical-json.ts';

/**
 * What the job demands, in RFC 8785 form. `allow_network` is always false, because nothing else can be requested. `inputs` names
 * the jobs whose outputs are files or standard input of this job. It is absent if there are none. `large_outputs`, `build`,
 * `product`, `reproducible`, `session` and `tools` are there if the submission has them.
 */
export function policyText(spec: StoredSpec): string {
  const { requirements, limits, outputs, large_outputs, build, product, runtime, reproducible, session, tools } = spec;
  const inputs = inputsOf(spec).flatMap((file) => ('from' in file ? [{ path: file.path, from: file.from }] : []));
  const named = {
    ...(inputs.length > 0 && { inputs }),
    ...(large_outputs !== undefined && { large_outputs }),
    ...(build !== undefined && { build }),
    ...(product !== undefined && { product }),
    ...(reproducible !== undefined && { reproducible }),
    ...(session !== undefined && { session }),
    ...(tools !== undefined && { tools }),
  };
  return canonicalJson({ requirements, limits, outputs, runtime, allow_network: false, ...named });
}

/** The arguments in the order in which the program gets them, in RFC 8785 form; null if the job was given none. */
export function argumentsText({ args = [] }: StoredSpec): string | null {
  return args.length === 0 ? null : canonicalJson(args);
}

/** The variables' values, keyed by name, in RFC 8785 form; null if the job was given none. */
export function variablesText({ env = {} }: StoredSpec): string | null {
  return Object.keys(env).length === 0 ? null : canonicalJson(env);
}
