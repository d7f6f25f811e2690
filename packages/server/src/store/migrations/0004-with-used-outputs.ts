/** The index that finds an output by its digest, for the jobs that name this output as an input. */
export const findOutputs = `create index artifacts_by_digest on artifacts (tenant, sha256, job_id);
`;
