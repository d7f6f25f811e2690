/**
 * Makes docs/API.md: the contract's operations in the order in which a caller meets them. Everything about an operation comes
 * from the contract's tables, and each example was recorded.
 */
import {
  COMPONENT_SCHEMAS,
  ERROR_CODES,
  ERRORS,
  type ErrorCode,
  OPERATION_IDS,
  type Operation,
  type OperationId,
  operationOf,
} from '@vouchbox/protocol';
import { SECTIONS } from './examples.ts';
import { type Exchange, type ExchangeName, type Exchanges, shownExchange } from './exchange.ts';
import { descriptionOf, type Schema, takes } from './takes.ts';

const COLUMNS = 120;

/** Refusals common to all requests, to those with a credential, or to those with a scope. Operations do not repeat them. */
const OF_ANY = sharedBy(() => true);
const OF_CREDENTIALS = sharedBy(({ access }) => access !== 'public' && access !== 'metrics_token');
const OF_SCOPES = sharedBy(({ access }) => access.includes(':'));

const INTRODUCTION = `# The HTTP API

<!-- \`npm run api-docs\` writes this page: from the contract, with examples that it makes against a service. -->

Every operation of the service, with an example that was really made. \`GET /openapi.json\` says the same to machines, with the schema
of every body. [CLIENTS.md](CLIENTS.md) says when a client saves you the work, and [SPEC.md](SPEC.md) has every promise.

The examples are for bash and curl, and find the service in two variables:

\`\`\`sh
export url=http://127.0.0.1:8080 key=change-this-key    # SERVICE_LEGACY_KEYS=me=change-this-key npm start
\`\`\`

\`$job\` is the \`job_id\` of an answer, \`$grading\` a \`grading_id\`, and \`$stream_url\` is in the answer with a ticket. Ids,
times, durations and digests stand for those that you will see, and \`…\` marks what is left out here. Only the
headers of the operation itself are shown.

## What every request has in common

- **Who you are**: \`Authorization: Bearer …\` with a key or a token. Each operation names the scope that the credential needs.
- **Bodies** are strict JSON with \`Content-Type: application/json\`. A member or a parameter that is not known is refused.
- **Every answer** has \`X-Request-Id\`, which finds the request in the service's log. An answer that is shorter than its
  \`Content-Length\` is not whole: do not read it.
- **Budget**: answers to a known caller have \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`.
- **Refusals** have one form, and \`code\` says why: see [Refusals](#refusals). Wait for \`Retry-After\` seconds where it is sent.
- **HEAD and OPTIONS**: each GET also answers HEAD, and each path OPTIONS. In the path, \`{id}\` is a job id, and \`{grading}\` that of a
  grading.
- **Pages**: \`/\`, \`/dashboard\`, \`/docs\` and what is below them, and \`/verify\` are for people. [SPEC.md](SPEC.md#pages) has their headers.

${commonRefusals()}`;

/** The codes that every one of these operations lists. */
function sharedBy(isMeant: (operation: Operation) => boolean): ErrorCode[] {
  const meant = OPERATION_IDS.map(operationOf).filter(isMeant);
  return ERROR_CODES.filter((code) => meant.every(({ errors }) => errors.includes(code)));
}

function commonRefusals(): string {
  const list = (codes: readonly ErrorCode[]) => codes.map((code) => `${ERRORS[code].status} \`${code}\``).join(', ');
  const credentials = OF_CREDENTIALS.filter((code) => !OF_ANY.includes(code));
  const scopes = OF_SCOPES.filter((code) => !OF_CREDENTIALS.includes(code));
  return wrapped(
    `Any request may be refused with ${list(OF_ANY)}; one that needs a credential also with ${list(credentials)}; and one that ` +
      `needs a scope with ${list(scopes)}. The tables below list what each operation has beside these.`,
  );
}

/** The page with these examples. @throws Error if an example is missing */
export function apiPage(exchanges: Exchanges): string {
  const sections = SECTIONS.map(({ title, text, operations }) => {
    const parts = Object.entries(operations).map(([id, example]) =>
      operationPart(id as OperationId, example.title, of(exchanges, id as OperationId)),
    );
    return `## ${title}\n\n${wrapped(text)}\n\n${parts.join('\n\n')}`;
  });
  return `${[INTRODUCTION.trim(), contents(), ...sections, refusals(of(exchanges, 'refusal'))].join('\n\n')}\n`;
}

function of(exchanges: Exchanges, name: ExchangeName): Exchange {
  const exchange = exchanges[name];
  if (exchange === undefined) throw new Error(`docs/API.md has no example of ${name}: run npm run api-docs`);
  return exchange;
}

/** One line for each operation. */
function contents(): string {
  const rows = SECTIONS.flatMap(({ operations }) =>
    Object.entries(operations).map(([id, { title }]) => {
      const { method, path } = operationOf(id as OperationId);
      return `| [${title}](#${anchor(title)}) | \`${method} ${path}\` |`;
    }),
  );
  return table(['you want to', 'call'], rows);
}

function anchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z ]/g, '')
    .replaceAll(' ', '-');
}

function operationPart(id: OperationId, title: string, exchange: Exchange): string {
  const operation = operationOf(id);
  const { method, path, summary, description } = operation;
  return [
    `### ${title}`,
    `\`${method} ${path}\` · operation \`${id}\` · ${permit(operation)}`,
    wrapped([summary, description].filter(Boolean).join(' ')),
    ...parameters(operation),
    ...body(operation),
    answers(operation),
    shownExchange(id, exchange),
  ].join('\n\n');
}

function permit({ access, alsoAccess, ticket }: Operation): string {
  if (access === 'public') return 'open to everyone';
  if (access === 'credential') return 'any credential';
  if (access === 'metrics_token') return "the operator's metrics token";
  if (alsoAccess !== undefined) return `scopes \`${access}\` and \`${alsoAccess}\``;
  return `scope \`${access}\`${ticket ? ', or a ticket in the query' : ''}`;
}

function parameters({ query, headers }: Operation): string[] {
  const rows = Object.entries({ query, header: headers }).flatMap(([place, schemas]) =>
    Object.entries((schemas?.properties ?? {}) as Record<string, Schema>).map(([name, schema]) => {
      const list = schema.type === 'array' ? ', separated by commas' : '';
      return `| \`${name}\` | ${place} | ${takes(schema)}${list}${fallback(schema)} | ${descriptionOf(schema)} |`;
    }),
  );
  return rows.length === 0 ? [] : [table(['parameter', 'in', 'takes', 'meaning'], rows)];
}

function fallback({ default: value }: Schema): string {
  return value === undefined ? '' : `; ${String(value) || 'none'} if left out`;
}

function body({ body: taken }: Operation): string[] {
  if (taken === undefined) return [];
  const need = taken.mediaType ?? (taken.isOptional ? 'may be left out, or be `{}`' : 'JSON');
  const rows = members(JSON.parse(JSON.stringify(taken.schema)) as Schema, '');
  const bound = `**Body**: ${need}; at most ${sizeOf(taken.bytesMax)}.`;
  return rows.length === 0 ? [bound] : [bound, table(['member', 'takes', 'meaning'], rows)];
}

function sizeOf(bytes: number): string {
  return bytes % 1024 ** 2 === 0 ? `${bytes / 1024 ** 2} MiB` : `${bytes / 1024} KiB`;
}

/** Merges several possible objects into one. A member is required only if all of them require it. */
function merged({ anyOf = [], ...schema }: Schema): Schema {
  const objects = anyOf.filter(({ properties }) => properties !== undefined);
  if (objects.length < 2) return { ...schema, anyOf };
  const names = [...new Set(objects.flatMap((each) => Object.keys(each.properties ?? {})))];
  const required = names.filter((name) => objects.every((each) => each.required?.includes(name)));
  const properties = Object.fromEntries(
    names.map((name) => [name, shared(objects.flatMap((each) => each.properties?.[name] ?? []))]),
  );
  return { ...schema, type: 'object', properties, required };
}

/** Merges a member whose meaning differs between several objects. */
function shared(schemas: readonly Schema[]): Schema {
  const description = [...new Set(schemas.map(descriptionOf))].filter(Boolean).join(' ');
  return { ...schemas[0], ...(description !== '' && { description }) };
}

/** A row for each member, and for each member inside it, such as `files[].path`. */
function members({ properties = {}, required = [] }: Schema, before: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const need = required.includes(name) ? ', required' : '';
    const items = schema.items === undefined ? undefined : merged(schema.items);
    const inside = items === undefined ? [] : members(items, `${before}${name}[].`);
    const meaning = [descriptionOf(schema), items?.description].filter(Boolean).join(' Each: ');
    const row = `| \`${before}${name}\` | ${takes(items === undefined ? schema : { ...schema, items })}${need} | ${meaning} |`;
    return [row, ...inside, ...members(schema, `${before}${name}.`)];
  });
}

/** The successes, then the operation's own refusals ordered by status. */
function answers({ answers: successes, errors, access }: Operation): string {
  const rows = Object.entries(successes).map(([status, { description, content, headers }]) => {
    const bodies = Object.entries(content).map(([mediaType, schema]) => `\`${mediaType}\`${nameOf(schema)}`);
    const also = headers.length === 0 ? '' : ` With ${headers.map((name) => `\`${name}\``).join(' and ')}.`;
    return `| ${status} | ${description}${also} | ${bodies.join('; ') || 'none'} |`;
  });
  const common = access.includes(':') ? OF_SCOPES : access === 'credential' ? OF_CREDENTIALS : OF_ANY;
  const own = errors.filter((code) => !common.includes(code));
  const refused = statusesOf(own).map((status) => {
    const codes = own.filter((code) => ERRORS[code].status === status);
    return `| ${status} | ${codes.map((code) => `\`${code}\``).join(', ')} | a refusal |`;
  });
  return table(['status', 'meaning', 'body'], [...rows, ...refused]);
}

function nameOf(schema: unknown): string {
  const found = Object.entries(COMPONENT_SCHEMAS).find(([, each]) => JSON.stringify(each) === JSON.stringify(schema));
  return found === undefined ? '' : `, \`${found[0]}\``;
}

function statusesOf(codes: readonly ErrorCode[]): number[] {
  return [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
}

function refusals(exchange: Exchange): string {
  const rows = ERROR_CODES.map((code) => {
    const { status, retryable, meaning } = ERRORS[code];
    return `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`;
  });
  return [
    '## Refusals',
    wrapped(
      'A refusal says what is wrong in `message`, and `code` says it to programs. Where `retryable` is true, the same request ' +
        'may succeed later. Send a submission again only with the same `Idempotency-Key`, so that it makes no second job.',
    ),
    shownExchange('refusal', exchange),
    table(['code', 'status', 'meaning', 'may succeed later'], rows),
    wrapped(
      'An address that no operation has is answered `route_not_found`, and a method that a path does not take ' +
        '`method_not_allowed`. Under `/v1` a credential is checked first.',
    ),
  ].join('\n\n');
}

function table(titles: readonly string[], rows: readonly string[]): string {
  return [`| ${titles.join(' | ')} |`, `|${titles.map(() => '---').join('|')}|`, ...rows].join('\n');
}

/** Paragraphs in lines of at most 120 characters. */
function wrapped(text: string): string {
  return text.split('\n\n').map(paragraph).join('\n\n');
}

function paragraph(text: string): string {
  return (text.match(new RegExp(`.{1,${COLUMNS}}(?= |$)`, 'g')) ?? []).map((line) => line.trim()).join('\n');
}
