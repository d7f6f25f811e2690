/**
 * The forms of the service's answers, made from the schemas of the contract: what a client checks before it believes an
 * answer. `packages/client/src/answer-check.ts` says how a form is read. A list of words is any text, since a newer service
 * may have more words. A receipt and the data of an event are stored, and older versions stored fewer members: of these
 * all may be missing.
 */
import { AnyReceipt, AwaitedSubmission, EVENT_DATA, JobEvent, JobId, OPERATIONS } from '@vouchbox/protocol';

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

type Form = string | readonly [Form] | readonly [Form, null] | { readonly [member: string]: Form };

const LETTERS: Readonly<Record<string, string>> = {
  string: 's',
  number: 'n',
  integer: 'i',
  boolean: 'b',
  null: 'z',
};

const plain = (schema: unknown): Schema => JSON.parse(JSON.stringify(schema)) as Schema;
const isSame = (schema: Schema, other: unknown) => JSON.stringify(schema) === JSON.stringify(other);
/** Members that older servers and older versions have, too. Of other schemas, the contract says what is required. */
const REQUIRED: readonly (readonly [schema: unknown, members: readonly string[]])[] = [
  [AnyReceipt, []],
  [JobEvent, ['job_id', 'seq', 'kind']],
  [AwaitedSubmission, ['job_id', 'status']],
];

/** The form of each JSON answer by its method and path, and of the data of each kind of event. */
export function answerForms(): { readonly answers: Record<string, Form>; readonly events: Record<string, Form> } {
  const answers: [string, Form][] = [];
  for (const { method, path, answers: given } of Object.values(OPERATIONS)) {
    const bodies = Object.values(given as object) as { readonly content?: Readonly<Record<string, unknown>> }[];
    const schema = bodies.map(({ content }) => content?.['application/json']).find(Boolean);
    if (schema !== undefined) answers.push([`${method} ${path}`, formOf(plain(schema))]);
  }
  const events = Object.entries(EVENT_DATA).map(([kind, schema]) => [kind, formOf({ ...plain(schema), required: [] })]);
  return { answers: Object.fromEntries(answers), events: Object.fromEntries(events) as Record<string, Form> };
}

/** The forms as the module of the TypeScript client. */
export function answerFormsModule(): string {
  const { answers, events } = answerForms();
  return `/** The forms of the service's answers. \`npm run openapi\` writes this file from the tables of the contract. */

/** \`answer-check.ts\` says how it is read. */
export type Form = string | readonly [Form] | readonly [Form, null] | { readonly [member: string]: Form };

/** By method and path. */
export const ANSWER_FORMS: Readonly<Record<string, Form>> = ${JSON.stringify(answers)};

/** The data of an event, by its kind. */
export const EVENT_FORMS: Readonly<Record<string, Form>> = ${JSON.stringify(events)};
`;
}

function formOf(schema: Schema): Form {
  if (isSame(schema, JobId)) return 'j';
  // A server of v0.3 says null where a job has none.
  if (isSame(schema, AnyReceipt)) return [membersOf(schema, schema.properties ?? {}), null];
  if (schema.enum !== undefined) return 's';
  if (schema.anyOf !== undefined) return anyOf(schema.anyOf);
  if (schema.items !== undefined) return [formOf(schema.items)];
  if (schema.properties !== undefined) return membersOf(schema, schema.properties);
  const [every] = Object.values(schema.patternProperties ?? {});
  if (every !== undefined) return { '*': formOf(every) };
  return LETTERS[schema.type ?? ''] ?? '';
}

/** One of several, or null. Several objects are one with the members of each, which may be missing. */
function anyOf(schemas: readonly Schema[]): Form {
  const others = schemas.filter(({ type }) => type !== 'null');
  const objects = others.map(({ properties = {} }) => properties);
  const form =
    others.length > 1 && others.every(({ properties }) => properties !== undefined)
      ? formOf({ type: 'object', properties: Object.assign({}, ...objects) as Record<string, Schema>, required: [] })
      : others
          .map(formOf)
          .reduce((one, other) => (typeof one === 'string' && typeof other === 'string' ? one + other : one));
  if (others.length === schemas.length) return form;
  return typeof form === 'string' ? `${form}z` : [form, null];
}

function membersOf(schema: Schema, properties: Readonly<Record<string, Schema>>): Form {
  const required = REQUIRED.find(([known]) => isSame(schema, known))?.[1] ?? schema.required;
  const members = Object.entries(properties).map(([name, member]) => [
    required?.includes(name) ? name : `${name}?`,
    formOf(member),
  ]);
  return Object.fromEntries(members) as Form;
}
