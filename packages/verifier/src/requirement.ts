/**
 * One requirement of a signed result, such as `isolation>=gvisor-application-kernel`: what may be required, how it is
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
import { UsageError } from './usage-error.ts';

export interface Requirement {
  /** As it was written. */
  readonly text: string;
  /** What the evidence says about it, and whether that is enough. */
  readonly judge: (predicate: ExecutionPredicate) => Judgement;
}

export interface Judgement {
  readonly isMet: boolean;
  readonly found: string;
}

type Operator = '=' | '>=' | '<=';
type Judge = Requirement['judge'];

/** How the requirement of one thing is read. Null if it makes no sense. */
interface Subject {
  /** What may follow the name, for a reader. */
  readonly form: string;
  readonly read: (operator: Operator, wanted: string) => Judge | null;
}

/** Reads a requirement. One that names an unknown thing, or that could never be met, is a `UsageError`. */
export function parseRequirement(text: string): Requirement {
  const { name, operator, wanted } = /^(?<name>[a-z0-9_]+)(?<operator>>=|<=|=)(?<wanted>.+)$/.exec(text)?.groups ?? {};
  const subject = SUBJECTS.get(name ?? '');
  if (subject === undefined) {
    throw new UsageError(
      `unknown requirement ${text}; what can be required: ${Array.from(SUBJECTS.keys()).join(', ')}`,
    );
  }
  const judge = subject.read(operator as Operator, wanted as string);
  if (judge === null) throw new UsageError(`malformed requirement ${text}; it must be ${name}${subject.form}`);
  return { text, judge };
}

/** Everything that can be required, with its form, for the command line's help. */
export function requirementForms(): string[] {
  return Array.from(SUBJECTS, ([name, { form }]) => name + form);
}

/** An observed value: from the predicate if it repeats it, otherwise from the signed receipt. */
type Observe = (predicate: ExecutionPredicate) => unknown;

const ofReceipt =
  (...path: readonly string[]): Observe =>
  ({ receipt }) =>
    path.reduce<unknown>((value, name) => memberOf(value, name), receipt);

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function oneOf(values: readonly string[], observe: Observe): Subject {
  return {
    form: `=${values.join('|')}`,
    read: (operator, wanted) => (operator === '=' && values.includes(wanted) ? equals(wanted, observe) : null),
  };
}

function anyText(form: string, observe: Observe): Subject {
  return { form, read: (operator, wanted) => (operator === '=' ? equals(wanted, observe) : null) };
}

function yesOrNo(observe: Observe): Subject {
  const isBoolean = (wanted: string) => wanted === 'true' || wanted === 'false';
  return {
    form: '=true|false',
    read: (operator, wanted) => (operator === '=' && isBoolean(wanted) ? equals(wanted === 'true', observe) : null),
  };
}

function equals(wanted: unknown, observe: Observe): Judge {
  return (predicate) => {
    const found = observe(predicate);
    return { isMet: found === wanted, found: told(found) };
  };
}

function wholeNumber(observe: Observe): Subject {
  return {
    form: '=N',
    read: (operator, wanted) =>
      operator === '=' && /^-?\d{1,15}$/.test(wanted) ? equals(Number(wanted), observe) : null,
  };
}

function atMost(observe: Observe): Subject {
  return {
    form: '<=N',
    read: (operator, wanted) => {
      const most = decimal(wanted);
      if (operator !== '<=' || most === null) return null;
      return (predicate) => {
        const found = observe(predicate);
        return { isMet: typeof found === 'number' && found <= most, found: told(found) };
      };
    },
  };
}

function decimal(text: string): number | null {
  return /^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}

/** A limit is met if it was read back, is low enough and was in force. */
function limit(name: LimitName): Subject {
  const isEnforced = ofReceipt('limit_enforcement', name);
  const { form, read } = atMost(ofReceipt('effective_limits', name));
  return {
    form,
    read: (operator, wanted) => {
      const judgeValue = read(operator, wanted);
      if (judgeValue === null) return null;
      return (predicate) => {
        const { isMet, found } = judgeValue(predicate);
        if (isEnforced(predicate) === true) return { isMet, found };
        return { isMet: false, found: `${found}, and not in force` };
      };
    },
  };
}

const isolation: Subject = {
  form: '>=CLASS or =CLASS',
  read: (operator, wanted) => {
    if (operator === '<=' || !isIsolationClass(wanted)) return null;
    if (operator === '=') return equals(wanted, ({ isolationClass }) => isolationClass);
    return ({ isolationClass: found }) => ({
      isMet: isIsolationClass(found) && satisfiesIsolation(found, wanted),
      found: told(found),
    });
  },
};

function isIsolationClass(value: unknown): value is IsolationClass {
  return (ISOLATION_CLASSES as readonly unknown[]).includes(value);
}

/** `NAME`, or `NAME@VERSION`. */
function packName(predicate: ExecutionPredicate): { name: unknown; version: unknown } {
  const pack = ofReceipt('runtime_pack')(predicate);
  return { name: memberOf(pack, 'name'), version: memberOf(pack, 'version') };
}

const runtimePack: Subject = {
  form: '=NAME or =NAME@VERSION',
  read: (operator, wanted) => {
    if (operator !== '=') return null;
    return (predicate) => {
      const { name, version } = packName(predicate);
      if (typeof name !== 'string') return { isMet: false, found: told(undefined) };
      const found = `${name}@${told(version)}`;
      return { isMet: wanted === name || (typeof version === 'string' && wanted === found), found };
    };
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
  ['language', anyText('=NAME', ofReceipt('language'))],
  ['runtime_pack', runtimePack],
  ['runtime_pack_digest', anyText('=DIGEST', ofReceipt('runtime_pack', 'digest'))],
  ['duration_ms', atMost(ofReceipt('duration_ms'))],
  ...LIMIT_NAMES.map((name) => [name, limit(name)] as const),
]);

function told(found: unknown): string {
  if (found === undefined || found === null) return 'not observed';
  return typeof found === 'string' ? found : JSON.stringify(found);
}
