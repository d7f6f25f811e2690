/** A request in docs/API.md and its answer, as the page shows them. The page itself stores them. */
import type { OperationId } from '@vouchbox/protocol';

/** The name under which an exchange is stored: an operation, or `refusal` for the example of a refusal. */
export type ExchangeName = OperationId | 'refusal';

export interface Exchange {
  readonly command: string;
  /** The answer: a status line, headers, an empty line and the body. For a stream, what the command printed. */
  readonly answer: string;
}

export type Exchanges = Readonly<Partial<Record<ExchangeName, Exchange>>>;

/** An exchange as Markdown. Before it comes an invisible comment, from which `exchangesIn` reads the name. */
export function shownExchange(name: ExchangeName, { command, answer }: Exchange): string {
  const kind = answer.startsWith('HTTP/') ? 'http' : 'text';
  return `<!-- ${name} -->\n\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`${kind}\n${answer}\n\`\`\``;
}

/** Every exchange of a page. */
export function exchangesIn(page: string): Exchanges {
  const found = page.matchAll(/^<!-- (\w+) -->\n```sh\n([\s\S]*?)\n```\n\n```(?:http|text)\n([\s\S]*?)\n```$/gm);
  const entries = [...found].map(([, name, command = '', answer = '']) => [name, { command, answer }] as const);
  return Object.fromEntries(entries) as Exchanges;
}
