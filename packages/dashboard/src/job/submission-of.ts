/** The submission that repeats a job. */
import type { JobDetail, JobSubmission } from '@vouchbox/client';
import { LIBRARIES_FILE, PRODUCT_FILES, SESSION_FILES } from '@vouchbox/protocol/vocabulary';

/**
 * The submission; null if the service no longer knows the program, or if it withholds an input. The copy is no step of a
 * session, because the session has moved on.
 */
export function submissionOf({ requested_spec }: Pick<JobDetail, 'requested_spec'>): JobSubmission | null {
  const { language, code, interaction: _pair, session: _session, build, ...others } = requested_spec;
  const {
    stdin: text,
    named_stdin: named,
    args,
    env,
    outputs,
    large_outputs: large,
    product,
    tools,
    ...asked
  } = others;
  const files = (others.files ?? []).filter(({ path }) => isSubmitted(path));
  const given = files.filter((file) => !('held' in file));
  if (language === undefined || code === undefined || given.length < files.length) return null;
  const libraries = others.files?.find(({ path }) => path === LIBRARIES_FILE);
  const program = {
    ...asked,
    files: given,
    language,
    code,
    ...(libraries !== undefined && 'blob' in libraries && { libraries: { blob: libraries.blob } }),
  };
  if (build !== undefined) return { ...program, build };
  const stdin = named ?? text;
  const paths = large?.paths.filter(isSubmitted) ?? [];
  return {
    ...program,
    ...(stdin !== undefined && { stdin }),
    ...(args && { args }),
    ...(env && { env }),
    ...(outputs && { outputs: outputs.filter(isSubmitted) }),
    ...(large && (paths.length > 0 || large.stdout !== null) && { large_outputs: { ...large, paths } }),
    ...(product && { product: { job_id: product.job_id } }),
    ...(tools && { tools: tools.tools, tool_limits: tools.limits, tool_principals: tools.answered_by.slice(1) }),
  };
}

const OF_THE_SERVICE: readonly string[] = [
  ...[SESSION_FILES.kept, SESSION_FILES.newState, PRODUCT_FILES.input, LIBRARIES_FILE],
];

/** Whether a submission may name the file. The service itself adds the files of sessions, libraries and products. */
function isSubmitted(path: string): boolean {
  return !OF_THE_SERVICE.includes(path) && !path.startsWith(`${SESSION_FILES.inputs}/`);
}
