/**
 * The messages between nodes. PostgreSQL passes a message on to the sessions that listen to the message's channel. Each node has
 * a channel, and so has each topic that a node follows.
 */
import { sha256Hex } from '@vouchbox/evidence';
import type { Added, Message } from '../records/answers.ts';
import type { Session } from './connection.ts';
import { sealed, unsealed } from './sealed.ts';

const COMMON = `select 'vouchbox_' || md5(current_schema()) as name, message_key as key from schema_state`;
const NOTIFY = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as told (channel, payload)';
/** Sends nothing if, for whatever reason, the change is not committed. */
const NOTIFY_OF_CHANGE = `${NOTIFY} where exists (select from node_changes where node = $3 and number = $4)`;
/** The bound on a payload. PostgreSQL requires a payload to be shorter than 8000 bytes. */
const payloadCharsMax = 7000;
/** The bound on the bytes of additions. Sealing makes them a third longer. */
const addedBytesMax = 5000;
/** The beginning of a line with sealed additions. No topic begins with this character, and older code ignores such a line. */
const SEALED = '=';
const EVERYTHING = '*';

/** A change that a node made, named by the change's number. */
interface Change {
  readonly node: number;
  readonly change: number | null;
}

/** Sends the messages about a change, one payload per channel, if the change is committed. Nobody waits for the answer. */
export function sendMessages(session: Session, messages: readonly Message[], about: Change): void {
  const told = Map.groupBy(messages, ({ channel }) => channel);
  notify(session, new Map([...told].map(([channel, some]) => [channel, withAdditions(some)])), about);
}

/** The payload for messages about one topic, with their additions if all of these fit. */
function withAdditions(messages: readonly Message[]): string {
  const [{ payload, key } = { payload: '', key: '' }] = messages;
  const all = messages.map(({ added }) => added);
  if (all.some((one) => one == null)) return payload;
  const text = JSON.stringify(all);
  return Buffer.byteLength(text) > addedBytesMax ? payload : `${payload}\n${SEALED}${sealed(text, key)}`;
}

function notify(session: Session, payloads: ReadonlyMap<string, string>, about: Change | null): void {
  const parameters = [[...payloads.keys()], [...payloads.values()], ...(about ? [about.node, about.change] : [])];
  // Nobody needs the error.
  session.execute({ sql: about ? NOTIFY_OF_CHANGE : NOTIFY, parameters }).catch(() => {});
}

export class Messages {
  readonly #node: number;
  readonly #hear: (topics: readonly string[] | null, added: readonly Added[]) => void;
  /** The topics to report, by channel. Topics reported in the same turn are sent together. */
  readonly #untold = new Map<string, Set<string>>();
  /** How many followers each topic has, for all topics that the session listens to. Topics without followers stay for a while. */
  readonly #followers = new Map<string, number>();
  #session: Session | null = null;
  #common = '';
  #key = '';
  #isTelling = false;

  constructor(node: number, hear: (topics: readonly string[] | null, added: readonly Added[]) => void) {
    this.#node = node;
    this.#hear = hear;
  }

  /** From now on, sends and receives messages in this session, in place of a lost session if there was one. */
  async listenIn(session: Session): Promise<void> {
    const { rows } = await session.execute<{ name: string; key: string }>({ sql: COMMON, parameters: [] });
    ({ name: this.#common, key: this.#key } = rows[0] ?? { name: '', key: '' });
    // From here on, `follow` listens to a new topic in this session.
    this.#session = session;
    session.onMessage((payload) => this.#heard(payload));
    const topics = [...this.#followers.keys()];
    const channels = [this.#channelOf(this.#node), ...topics.map((topic) => this.#channelOf(topic))];
    await Promise.all(channels.map((channel) => session.listen(channel)));
    if (topics.length > 0) this.#hear(topics, []);
  }

  tell(topic: string, to: number | 'followers'): void {
    if (to === this.#node) return;
    const channel = this.#channelOf(to === 'followers' ? topic : to);
    const topics = this.#untold.get(channel) ?? new Set();
    this.#untold.set(channel, topics.add(topic));
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => this.#tellAll());
  }

  /** The message to the followers of a topic. */
  toFollowers(topic: string): Message {
    return { channel: this.#channelOf(topic), payload: this.#payloadOf([topic]), key: this.#key };
  }

  follow(topic: string): Disposable {
    const followers = this.#followers.get(topic);
    this.#followers.set(topic, (followers ?? 0) + 1);
    // If the session is lost, the next session listens.
    if (followers === undefined) {
      const listening = this.#session?.listen(this.#channelOf(topic));
      void listening?.then(() => this.#hear([topic], [])).catch(() => {});
    }
    return { [Symbol.dispose]: () => this.#followers.set(topic, (this.#followers.get(topic) ?? 1) - 1) };
  }

  /** Stops listening to topics that nobody follows any more. Only beats call this, because a topic is often followed again. */
  forgetUnfollowed(): void {
    for (const [topic, followers] of this.#followers) {
      if (followers > 0) continue;
      this.#followers.delete(topic);
      this.#session?.unlisten(this.#channelOf(topic));
    }
  }

  #channelOf(name: string | number): string {
    if (typeof name === 'number') return `${this.#common}_n${name}`;
    // Names of channels have at most 63 bytes.
    return `${this.#common}_${sha256Hex(name).slice(0, 20)}`;
  }

  #tellAll(): void {
    this.#isTelling = false;
    const told = [...this.#untold];
    this.#untold.clear();
    if (this.#session === null || this.#session.isLost) return;
    notify(this.#session, new Map(told.map(([channel, topics]) => [channel, this.#payloadOf(topics)])), null);
  }

  #payloadOf(topics: Iterable<string>): string {
    const payload = [this.#node, ...topics].join('\n');
    return payload.length > payloadCharsMax ? `${this.#node}\n${EVERYTHING}` : payload;
  }

  #heard(payload: string): void {
    const [sender, ...lines] = payload.split('\n');
    if (sender === String(this.#node)) return;
    const [additions] = lines.filter((line) => line.startsWith(SEALED));
    const text = additions === undefined ? null : unsealed(additions.slice(SEALED.length), this.#key);
    const topics = lines.filter((line) => !line.startsWith(SEALED));
    this.#hear(topics.includes(EVERYTHING) ? null : topics, text === null ? [] : (JSON.parse(text) as Added[]));
  }
}
