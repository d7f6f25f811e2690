/**
 * A node's work for the other nodes on its store. It wakes nodes that wait for a change made here, stops jobs that were
 * cancelled on other nodes, and ends the jobs of dead nodes. Messages only make this faster: each beat reads the store.
 */
import type { Fleet } from '../../store/fleet.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import type { About, Nudges, Topic } from '../nudges.ts';
import type { Dispatcher } from './dispatcher.ts';
import { recover } from './recover.ts';

/** The other node to tell about a change; null if none needs to know. */
type Addressing = (topic: Topic, about: About) => number | 'followers' | null;

/** How many nodes without a free slot may pass on the same wake-up. */
const passedOnMax = 3;

/** Nudges that also reach other nodes. */
export function nudgesOfFleet(nudges: Nudges, fleet: Pick<Fleet, 'tell'>, addresseeOf: Addressing): Nudges {
  return {
    ...nudges,
    send(topic, about = {}) {
      nudges.send(topic);
      const addressee = addresseeOf(topic, about);
      if (addressee !== null) fleet.tell(topic === 'queue' ? `queue ${passedOnMax}` : topic, addressee);
    },
  };
}

export interface FleetWorkOptions {
  readonly fleet: Fleet;
  readonly store: Pick<Store, 'runningJobs'>;
  readonly history: Pick<History, 'finish'>;
  /** Nudges that stay in this process, so that a message from another node is not repeated to other nodes. */
  readonly nudges: Nudges;
  readonly dispatcher: Pick<Dispatcher, 'lookAgain' | 'stop' | 'isFull'>;
  /** Another node to wake; null if none needs to be woken. */
  readonly anotherExecutor: () => number | null;
  readonly log: Log;
  /** Gets the number of the lost nodes' jobs that were ended or given back to the queue. */
  readonly onRecovered: (jobs: number) => void;
}

const STOP = 'stop ';
/** A message about the queue, with the number of nodes that passed it on. Nodes that run earlier code send no number. */
const QUEUE = /^queue(?: (\d))?$/;

/** Begins to listen to the other nodes. */
export function workInFleet(options: FleetWorkOptions): void {
  const { fleet, nudges, dispatcher } = options;
  let isRecovering = false;
  fleet.listen({
    heard(topics) {
      if (topics === null) {
        nudges.sendAll();
        dispatcher.lookAgain();
        fleet.look();
        return;
      }
      for (const topic of topics) {
        const woken = QUEUE.exec(topic);
        if (woken !== null) lookOrPassOn(options, Number(woken[1] ?? 0));
        else if (topic.startsWith(STOP)) dispatcher.stop(topic.slice(STOP.length), 'cancelled');
        else nudges.send(topic as Topic);
      }
    },
    beat({ isQueued, hasOrphans, cancelled }) {
      for (const job_id of cancelled) dispatcher.stop(job_id, 'cancelled');
      if (isQueued) dispatcher.lookAgain();
      if (!hasOrphans || isRecovering) return;
      isRecovering = true;
      void takeOver(options).finally(() => {
        isRecovering = false;
      });
    },
  });
}

/** Looks at the queue once a slot is free. If none is free, also tells a node that may have one. A beat finds missed jobs. */
function lookOrPassOn({ dispatcher, fleet, anotherExecutor }: FleetWorkOptions, passedOn: number): void {
  const isFull = dispatcher.isFull;
  dispatcher.lookAgain();
  const other = isFull && passedOn > 0 ? anotherExecutor() : null;
  if (other !== null) fleet.tell(`queue ${passedOn - 1}`, other);
}

/** Ends running jobs whose nodes are gone, and gives back jobs that had not started. Another node may do the same meanwhile. */
async function takeOver({ fleet, store, history, dispatcher, log, onRecovered }: FleetWorkOptions): Promise<void> {
  try {
    onRecovered(await recover({ store, history, log }));
    const released = await fleet.releaseOrphans();
    onRecovered(released);
    if (released > 0) dispatcher.lookAgain();
  } catch (error) {
    log.error({ err: error }, 'jobs of a node that is gone could not be taken over: the next beat tries again');
  }
}
