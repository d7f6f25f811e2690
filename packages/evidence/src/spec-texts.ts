/**
 * The input and the demands of a job, as texts that a receipt digests: `policy_sha256`, `args_sha256` and `env_sha256`. An
 * auditor makes them again from `requested_spec` in the job's detail, or finds them in an export.
 */
import type { StoredSpec } from '@vouchbox/protocol';
import { inputsOf } from '@vouchbox/protocol/vocabulary';
import { canonicalJson } from './canonical-json.ts';

/**
 * The demands of the job, in RFC 8785 form. `allow_network` is always false: nothing else can be requested. `inputs` is
 * there if files or standard input are outputs of other jobs, and names those jobs. `large_outputs`, `build`,
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

/** Values of the variables by name, in RFC 8785 form; null if the job was given none. */
export function variablesText({ env = {} }: StoredSpec): string | null {
  return Object.keys(env).length === 0 ? null : canonicalJson(env);
}
