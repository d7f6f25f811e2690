/** How an event is written as JSON wherever it is served: in a page of the history and in a frame of a stream. */
import type { JobEvent } from '@vouchbox/protocol';
import { type JsonText, jsonText, type Members } from '../../ground/json-text.ts';

/** The JSON text of an event. The data may be given as stored text. */
export function eventText(event: Members<JobEvent>): JsonText<JobEvent> {
  const { job_id, seq, timestamp, kind, data, hash_version, prev_hash, event_hash } = event;
  return jsonText<JobEvent>({ job_id, seq, timestamp, kind, data, hash_version, prev_hash, event_hash });
}
