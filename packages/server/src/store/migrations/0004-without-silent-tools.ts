/** Jobs whose programs may call tools, and their calls. Calls and answers are only in the events. */
import type { Spelling } from './0004-tables.ts';

export function toolTablesIn({ text, long, small }: Spelling): string {
  return `create table job_tools (
  tenant ${text} not null,
  job_id ${text} not null,
  answered_by ${text} not null,
  result_schemas ${text},
  call_bytes ${long} not null,
  bytes_left ${long} not null,
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade
)${small};
create table tool_calls (
  tenant ${text} not null,
  job_id ${text} not null,
  seq ${long} not null,
  call ${long} not null,
  answer_seq ${long},
  primary key (tenant, job_id, seq),
  foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade
)${small};
create index tool_calls_by_answer on tool_calls (tenant, job_id, answer_seq);
`;
}
