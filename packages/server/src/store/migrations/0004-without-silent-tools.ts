/** Jobs whose programs may call tools, and their calls. Calls and answers are only in the events. */
import { ofJob, referToJob } from './0004-tables.ts';

export const toolTables = `create table job_tools (
  ${ofJob},
  answered_by {text} not null,
  result_schemas {text},
  call_bytes {long} not null,
  bytes_left {long} not null,
  primary key (tenant, job_id),
  ${referToJob}
){small};
create table tool_calls (
  ${ofJob},
  seq {long} not null,
  call {long} not null,
  answer_seq {long},
  primary key (tenant, job_id, seq),
  ${referToJob}
){small};
create index tool_calls_by_answer on tool_calls (tenant, job_id, answer_seq);
`;
