/** A new job's id and the time of its acceptance, which together are the job's place in the list. */
import { randomInt, randomUUIDv7 } from 'node:crypto';
import type { ListPlace } from '../../store/records/rows.ts';

/** A UUIDv7 has 12 bits between its time and its random end. A count starts in the lower half of their range. */
const counterMax = 0xfff;
const startMax = 0x7ff;

let last = { time: -1, counter: 0 };

/**
 * The place of a job that is accepted at `time`, in milliseconds. Places made within one millisecond ascend, too: RFC 9562 § 6.2,
 * method 1. Places may fail to ascend after 2,048 places in one millisecond, or after the clock was set back.
 */
export function nextPlace(time: number): ListPlace {
  const counter = time === last.time ? Math.min(last.counter + 1, counterMax) : randomInt(startMax + 1);
  last = { time, counter };
  const head = time.toString(16).padStart(12, '0');
  const tail = randomUUIDv7().slice('xxxxxxxx-xxxx-7xxx'.length);
  const middle = counter.toString(16).padStart(3, '0');
  return {
    created_at: new Date(time).toISOString(),
    job_id: `job_${head.slice(0, 8)}-${head.slice(8)}-7${middle}${tail}`,
  };
}
