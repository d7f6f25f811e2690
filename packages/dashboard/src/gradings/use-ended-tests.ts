/** The test runs that have ended so far, kept up to date while a view shows the grading. */
import type { GradingEvent, ServiceClient } from '@vouchbox/client';
import { useEffect, useState } from 'react';
import { keepFollowing } from '../job/keep-following.ts';
import { noticeRefusal, useCaller } from '../session/session.ts';

export interface EndedTest {
  readonly name: string;
  readonly job_id: string;
  readonly terminal_reason: string | null;
}

/** Ended tests, keyed by the program's place and the test's name, in the order in which they ended. */
export type EndedTests = ReadonlyMap<number, ReadonlyMap<string, EndedTest>>;

/** Milliseconds between two updates of the view. */
const tellMilliseconds = 250;

/**
 * The ended tests, and why the service refused to send more events; null if it did not refuse.
 * @param isWanted whether the runs are shown. The runs of a judged program are read from its verdict instead
 */
export function useEndedTests(grading_id: string, isWanted: boolean): readonly [EndedTests, refusal: unknown] {
  const { client, isLive } = useCaller();
  const [ended, setEnded] = useState<EndedTests>(new Map());
  const [refusal, setRefusal] = useState<unknown>(null);
  useEffect(() => {
    if (!isLive || !isWanted) return;
    const abort = new AbortController();
    setRefusal(null);
    follow(client, grading_id, { signal: abort.signal, tell: setEnded }).catch((error: unknown) => {
      noticeRefusal(error);
      setRefusal(error);
    });
    return () => abort.abort();
  }, [client, isLive, grading_id, isWanted]);
  return [ended, refusal];
}

interface Listener {
  readonly signal: AbortSignal;
  readonly tell: (ended: EndedTests) => void;
}

async function follow(client: ServiceClient, grading_id: string, { signal, tell }: Listener): Promise<void> {
  const ended = new Map<number, Map<string, EndedTest>>();
  let isTelling = false;
  let after = 0;
  const tryOnce = async (tried: AbortSignal) => {
    for await (const event of client.gradingEvents(grading_id, { after, signal: tried })) {
      after = event.seq;
      const test = testOf(event);
      if (test === null) continue;
      const { program = 0 } = event.data;
      // A repeated test counts once, by its last run.
      ended.set(program, (ended.get(program) ?? new Map<string, EndedTest>()).set(test.name, test));
      if (isTelling) continue;
      isTelling = true;
      setTimeout(() => {
        isTelling = false;
        if (!signal.aborted) tell(new Map(ended));
      }, tellMilliseconds);
    }
  };
  await keepFollowing(tryOnce, { signal });
}

/** The test that ran; null if the event is not about a test run. */
function testOf({ kind, data }: GradingEvent): EndedTest | null {
  const { name, test, job_id, terminal_reason = null } = data;
  const isRun = kind === 'job' && name?.startsWith('test ') === true;
  return isRun && test != null && job_id !== undefined ? { name: test, job_id, terminal_reason } : null;
}
