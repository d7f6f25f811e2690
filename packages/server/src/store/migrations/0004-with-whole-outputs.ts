/** Outputs that are returned by their digests. Their bytes are blobs, and a blob is kept as long as one of these outputs is. */
import { ofJob, referToJob } from './0004-tables.ts';

export const largeOutputs = `create table large_outputs (
  ${ofJob},
  position integer not null,
  path {text} not null,
  size_bytes {long} not null,
  sha256 {text} not null,
  blob_id {text} not null,
  primary key (tenant, job_id, position),
  ${referToJob},
  foreign key (tenant, blob_id) references blobs (tenant, blob_id)
){large};
create index large_outputs_by_blob on large_outputs (tenant, blob_id);
create index large_outputs_by_digest on large_outputs (tenant, sha256, job_id);
`;
