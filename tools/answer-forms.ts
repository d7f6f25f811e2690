/**
 * Makes the forms of the service's answers from the contract's schemas. A client checks an answer's form before it believes the
 * answer. `packages/client/src/answer-check.ts` says how to read a form. Where a schema lists words, the form accepts any text,
 * since a newer service may have more words. Any member of a receipt or of an event's data may be missing, because older versions
 * stored fewer members.
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
/** For these schemas, the required members: older servers and versions have them, too. For others, the contract decides. */
const REQUIRED: readonly (readonly [schema: unknown, members: readonly string[]])[] = [
  [AnyReceipt, []],
  [JobEvent, ['job_id', 'seq', 'kind']],
  [AwaitedSubmission, ['job_id', 'status']],
];

/** The form of each JSON answer, keyed by method and path, and the form of each kind of event's data. */
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

/** The TypeScript client's module with the forms. Members that occur in several places get a name and are written once. */
export function answerFormsModule(): string {
  const { answers, events } = answerForms();
  const repeated = repeatedMembers({ ...answers, ...events });
  const constants = Array.from(
    repeated,
    ([text, name]) => `const ${name} = ${membersSpelled(JSON.parse(text) as object, repeated)} as const;\n`,
  );
  return `/** The forms of the service's answers. \`npm run openapi\` writes this file from the tables of the contract. */

/** \`answer-check.ts\` says how it is read. */
export type Form = string | readonly [Form] | readonly [Form, null] | { readonly [member: string]: Form };

${constants.join('')}
/** The form of each answer, by method and path. */
export const ANSWER_FORMS: Readonly<Record<string, Form>> = ${spelled(answers, repeated)};

/** The data of an event, by its kind. */
export const EVENT_FORMS: Readonly<Record<string, Form>> = ${spelled(events, repeated)};
`;
}

/** Members whose text is shorter than this are written out wherever they occur. */
const repeatedCharactersMin = 60;

/** Objects that occur in several places, as JSON, inner objects first. Each has the name of the first member that has it. */
function repeatedMembers(forms: Readonly<Record<string, Form>>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const repeated = new Set<string>();
  const visit = (form: Form | null, name: string): void => {
    if (form === null || typeof form === 'string') return;
    if (isList(form)) {
      for (const item of form) visit(item, name);
      return;
    }
    const text = JSON.stringify(form);
    if (names.has(text)) {
      repeated.add(text);
      return;
    }
    names.set(text, name.replace('?', '').toUpperCase());
    for (const [member, inner] of Object.entries(form)) visit(inner, member);
  };
  visit(forms, '');
  const long = [...repeated].filter((text) => text.length >= repeatedCharactersMin);
  return new Map(long.sort((one, other) => one.length - other.length).map((text) => [text, names.get(text) ?? '']));
}

/** A form as source text, with names for repeated objects. */
function spelled(form: Form | null, names: ReadonlyMap<string, string>): string {
  if (form === null || typeof form === 'string') return JSON.stringify(form);
  if (isList(form)) return `[${form.map((item) => spelled(item, names)).join()}]`;
  return names.get(JSON.stringify(form)) ?? membersSpelled(form, names);
}

function membersSpelled(form: object, names: ReadonlyMap<string, string>): string {
  const members = Object.entries(form as Readonly<Record<string, Form>>);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${spelled(member, names)}`).join()}}`;
}

function isList(form: Form): form is readonly [Form] | readonly [Form, null] {
  return Array.isArray(form);
}

/** @throws Error for a schema that no form can express */
export function formOf(schema: Schema): Form {
  if (isSame(schema, JobId)) return 'j';
  // A server with v0.3 says null if a job has no receipt.
  if (isSame(schema, AnyReceipt)) return [membersOf(schema, schema.properties ?? {}), null];
  if (schema.enum !== undefined) return 's';
  if (schema.anyOf !== undefined) return anyOf(schema.anyOf);
  if (schema.items !== undefined) return [formOf(schema.items)];
  if (schema.properties !== undefined) return membersOf(schema, schema.properties);
  const [every] = Object.values(schema.patternProperties ?? {});
  if (every !== undefined) return { '*': formOf(every) };
  return LETTERS[schema.type ?? ''] ?? '';
}

/**
 * The form of alternatives. One of them may be null. Several objects become one object with all their members, and each member
 * may be missing. @throws Error for alternatives that one form cannot express together
 */
function anyOf(schemas: readonly Schema[]): Form {
  const others = schemas.filter(({ type }) => type !== 'null');
  const form = alternatives(others);
  if (others.length === schemas.length) return form;
  return typeof form === 'string' ? `${form}z` : [form, null];
}

function alternatives(schemas: readonly Schema[]): Form {
  const [only] = schemas;
  if (only !== undefined && schemas.length === 1) return formOf(only);
  if (schemas.every(({ properties }) => properties !== undefined)) {
    const properties = Object.fromEntries(schemas.flatMap((schema) => Object.entries(schema.properties ?? {})));
    return formOf({ type: 'object', properties, required: [] });
  }
  const forms = schemas.map(formOf);
  if (forms.every((form) => typeof form === 'string')) return forms.join('');
  throw new Error(`no form says all of these alternatives: ${JSON.stringify(schemas)}`);
}

function membersOf(schema: Schema, properties: Readonly<Record<string, Schema>>): Form {
  const required = REQUIRED.find(([known]) => isSame(schema, known))?.[1] ?? schema.required;
  const members = Object.entries(properties).map(([name, member]) => [
    required?.includes(name) ? name : `${name}?`,
    formOf(member),
  ]);
  return Object.fromEntries(members) as Form;
}
