/** Completes answers for tests that state only the members that they are about. */
import { ANSWER_FORMS, type Form } from '../src/answer-forms.ts';

const VALUES: Readonly<Record<string, unknown>> = { s: '', n: 0, i: 0, b: false, z: null, j: 'job_1' };

/** A route's whole answer, with these members. */
export function whole<Members extends object>(route: string, members: Members): Members {
  return filled(ANSWER_FORMS[route] ?? '', members) as Members;
}

/** The given members, and all other members that the form requires. */
function filled(form: Form, given: unknown): unknown {
  if (typeof form === 'string') return given === undefined ? VALUES[form.at(-1) ?? 'z'] : given;
  if (Array.isArray(form)) {
    const [inner, orNull] = form as readonly Form[];
    if (orNull === null) return given ? filled(inner as Form, given) : null;
    return ((given ?? []) as unknown[]).map((item) => filled(inner as Form, item));
  }
  if (given !== undefined && (typeof given !== 'object' || given === null)) return given;
  const members = { ...given } as Record<string, unknown>;
  for (const [name, member] of Object.entries(form as Readonly<Record<string, Form>>)) {
    const at = name.replace('?', '');
    const isRequired = name !== '*' && at === name;
    if (isRequired || Object.hasOwn(members, at)) members[at] = filled(member, members[at]);
  }
  return members;
}
