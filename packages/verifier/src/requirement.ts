/**
 * One requirement on a signed result, such as `isolation>=gvisor-application-kernel`: what may be required, how it is
 * written, and whether a receipt meets it. A value that was not observed meets no requirement.
 */
import type { ExecutionPredicate } from '@vouchbox/evidence';
import type { IsolationClass, LimitName } from '@vouchbox/protocol';
import {
  BACKENDS,
  ISOLATION_CLASSES,
  LIMIT_NAMES,
  NETWORKING,
  SECCOMP_MODES,
  satisfiesIsolation,
  TERMINAL_REASONS,
  TERMINAL_STATUSES,
} from '@vouchbox/protocol/vocabulary';
import type { Beside } from './beside.ts';
import { parseDuration } from './duration.ts';
import { notLogged } from './log-standing.ts';
import { UsageError } from './usage-error.ts';

export interface Requirement {
  /** The requirement as it was written. */
  readonly text: string;
  /** Finds the value that the evidence has for the requirement, and whether that value is enough. */
  readonly judge: (predicate: ExecutionPredicate, beside: Beside) => Judgement;
}

export interface Judgement {
  readonly isMet: boolean;
  readonly found: string;
}

type Operator = '=' | '>=' | '<=';

/** A property of a result that can be required. */
interface Subject {
  /** The text that may follow the name, for a reader. */
  readonly form: string;
  readonly operators: readonly Operator[];
  /** The wanted value; null for a text that names no possible value. */
  readonly parse: (text: string) => unknown;
  /** The observed value: the predicate's, if the predicate repeats it; otherwise that of the receipt, the log or the canary. */
  readonly observe: (predicate: ExecutionPredicate, beside: Beside) => unknown;
  readonly isMet: (found: unknown, wanted: unknown, operator: Operator) => boolean;
}

/** Reads a requirement. A requirement that names an unknown property, or that could never be met, causes a `UsageError`. */
export function parseRequirement(text: string): Requirement {
  const { name, operator, wanted } = PART.exec(text === 'logged' ? 'logged=true' : text)?.groups ?? {};
  const subject = SUBJECTS.get(name ?? '');
  if (subject === undefined) {
    throw new UsageError(
      `unknown requirement ${text}; what can be required: ${Array.from(SUBJECTS.keys()).join(', ')}`,
    );
  }
  const { form, operators, parse, observe, isMet } = subject;
  const by = operators.find((known) => known === operator);
  const value = by === undefined || wanted === '' ? null : parse(wanted as string);
  if (by === undefined || value === null) {
    throw new UsageError(`malformed requirement ${text}; it must be ${name}${form}`);
  }
  const judge = (predicate: ExecutionPredicate, beside: Beside): Judgement => {
    const found = observe(predicate, beside);
    return { isMet: isMet(found, value, by), found: told(found) };
  };
  return { text, judge };
}

const PART = /^(?<name>[a-z0-9_]+)(?:(?<operator>>=|<=|=)(?<wanted>.*))?$/;

/** Every property that can be required, with its form, for the command line's help. */
export function requirementForms(): string[] {
  return Array.from(SUBJECTS, ([name, { form }]) => name + form);
}

type Observe = Subject['observe'];

const ofReceipt =
  (...path: readonly string[]): Observe =>
  ({ receipt }) =>
    path.reduce<unknown>((value, name) => memberOf(value, name), receipt);

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function equal(form: string, parse: Subject['parse'], observe: Observe): Subject {
  return { form, operators: ['='], parse, observe, isMet: (found, wanted) => found === wanted };
}

const oneOf = (values: readonly string[], observe: Observe) =>
  equal(`=${values.join('|')}`, (text) => (values.includes(text) ? text : null), observe);
const anyText = (form: string, observe: Observe) => equal(form, (text) => text, observe);
const yesOrNo = (observe: Observe) =>
  equal('=true|false', (text) => (text === 'true' || text === 'false' ? text === 'true' : null), observe);
const wholeNumber = (observe: Observe) =>
  equal('=N', (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : null), observe);

function atMost(observe: Observe): Subject {
  return {
    form: '<=N',
    operators: ['<='],
    parse: (text) => (/^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : null),
    observe,
    isMet: (found, most) => typeof found === 'number' && found <= (most as number),
  };
}

/** A limit is met if it was read back, is low enough and was in force. */
function limit(name: LimitName): Subject {
  const isEnforced = ofReceipt('limit_enforcement', name);
  const observe = ofReceipt('effective_limits', name);
  return atMost((predicate, beside) => {
    const found = observe(predicate, beside);
    return isEnforced(predicate, beside) === true ? found : `${told(found)}, and not in force`;
  });
}

const isolation: Subject = {
  form: '>=CLASS or =CLASS',
  operators: ['>=', '='],
  parse: (text) => (isIsolationClass(text) ? text : null),
  observe: ({ isolationClass }) => isolationClass,
  isMet: (found, wanted, operator) =>
    operator === '='
      ? found === wanted
      : isIsolationClass(found) && satisfiesIsolation(found, wanted as IsolationClass),
};

function isIsolationClass(value: unknown): value is IsolationClass {
  return (ISOLATION_CLASSES as readonly unknown[]).includes(value);
}

const UNLABELLED = { word: 'not in the receipt, which has no labels: only `run --sign-labels` signs them' };

/** A label that is in the signed receipt, because the submission asked for that. */
const label: Subject = {
  ...anyText('=TEXT', (predicate, beside) => ofReceipt('labels')(predicate, beside) ?? UNLABELLED),
  isMet: (found, wanted) => Array.isArray(found) && found.includes(wanted),
};

/** A runtime pack: `NAME@VERSION`, or only the name if the receipt states no version. */
const runtimePack: Subject = {
  ...anyText('=NAME or =NAME@VERSION', (predicate, beside) => {
    const [name, version] = ['name', 'version'].map((member) => ofReceipt('runtime_pack', member)(predicate, beside));
    return typeof name === 'string' && typeof version === 'string' ? `${name}@${version}` : name;
  }),
  isMet: (found, wanted) => found === wanted || (typeof found === 'string' && found.split('@')[0] === wanted),
};

/** Whether the log has the statement. The value comes from the log. */
const logged: Subject = {
  form: '',
  operators: ['='],
  parse: (text) => (text === 'true' ? true : null),
  observe: (_predicate, { log }) => log.word,
  isMet: (found) => !String(found).startsWith(notLogged.word),
};

const witnesses: Subject = {
  form: '>=N',
  operators: ['>='],
  parse: (text) => (/^\d{1,3}$/.test(text) ? Number(text) : null),
  observe: (_predicate, { log }) => log.witnessed.length,
  isMet: (found, least) => (found as number) >= (least as number),
};

/** The time from the end of the canary to the end of the job. A canary has an age only if its cell refused every attempt. */
const canaryAge: Subject = {
  form: '<=DURATION',
  operators: ['<='],
  parse: (text) => (/^\d{1,9}[smhd]$/.test(text) ? parseDuration(text) : null),
  observe: (_predicate, { canary }) => canary,
  isMet: (found, most) => {
    const { ageMilliseconds } = found as Beside['canary'];
    return ageMilliseconds !== null && ageMilliseconds <= (most as number);
  },
};

const SUBJECTS: ReadonlyMap<string, Subject> = new Map([
  ['status', oneOf(TERMINAL_STATUSES, ({ status }) => status)],
  ['exit_code', wholeNumber(({ exitCode }) => exitCode)],
  ['terminal_reason', oneOf(TERMINAL_REASONS, ofReceipt('terminal_reason'))],
  ['isolation', isolation],
  ['networking', oneOf(NETWORKING, ({ networking }) => networking)],
  ['seccomp', oneOf(SECCOMP_MODES, ofReceipt('seccomp'))],
  ['backend', oneOf(BACKENDS, ofReceipt('backend'))],
  ['private_rootfs', yesOrNo(ofReceipt('private_rootfs'))],
  ['no_new_privileges', yesOrNo(ofReceipt('no_new_privileges'))],
  ['truncated', yesOrNo(ofReceipt('truncated'))],
  ['chain_complete', yesOrNo(ofReceipt('event_chain', 'complete'))],
  ['label', label],
  ['language', anyText('=NAME', ofReceipt('language'))],
  ['runtime_pack', runtimePack],
  ['runtime_pack_digest', anyText('=DIGEST', ofReceipt('runtime_pack', 'digest'))],
  ['duration_ms', atMost(ofReceipt('duration_ms'))],
  ['logged', logged],
  ['witnesses', witnesses],
  ['canary_age', canaryAge],
  ...LIMIT_NAMES.map((name) => [name, limit(name)] as const),
]);

function told(found: unknown): string {
  if (found === undefined || found === null) return 'not observed';
  if (typeof found === 'object' && 'word' in found) return String(found.word);
  return typeof found === 'string' ? found : JSON.stringify(found);
}
