/** Finds an output by its digest, for the jobs that name it as an input. */
export const findOutputs = `create index artifacts_by_digest on artifacts (tenant, sha256, job_id);
`;
