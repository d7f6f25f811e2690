/** One rule of a system call filter, in the form of an OCI configuration (runtime specification, config-linux § Seccomp). */

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_NE' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
}

export interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  /** Conditions on the arguments, all of which must hold. No runtime accepts two conditions on the same argument. */
  readonly args?: readonly Argument[];
}

const EPERM = 1;

export function allow(names: readonly string[], ...args: readonly Argument[]): Rule {
  return { names, action: 'SCMP_ACT_ALLOW', ...(args.length > 0 && { args }) };
}

export function refuse(names: readonly string[], ...args: readonly Argument[]): Rule {
  return { names, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM, ...(args.length > 0 && { args }) };
}

/** The argument at `index` is `value`. */
export function equals(index: number, value: number): Argument {
  return { index, value, op: 'SCMP_CMP_EQ' };
}

/** The argument at `index` is more than `value`. */
export function exceeds(index: number, value: number): Argument {
  return { index, value, op: 'SCMP_CMP_GT' };
}

/** The argument at `index` equals `value` in the bits of `mask`. Numbers of 32 bits are also compared this way. */
export function matches(index: number, mask: number, value: number): Argument {
  return { index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' };
}

/** The mask and the value for a condition made by `matches`. */
export interface Pattern {
  readonly mask: number;
  readonly value: number;
}

/**
 * All numbers of `bits` bits except these, as prefixes, because a filter has no "none of". The kernel reads such a number
 * from the low half of an argument, so a rule must compare only that half.
 */
export function allBut(numbers: readonly number[], bits = 32, value = 0, left = bits): readonly Pattern[] {
  if (numbers.length === 0) return [{ mask: 2 ** bits - 2 ** left, value }];
  if (left === 0) return [];
  const half = value + 2 ** (left - 1);
  const [low, high] = [numbers.filter((number) => number < half), numbers.filter((number) => number >= half)];
  return [...allBut(low, bits, value, left - 1), ...allBut(high, bits, half, left - 1)];
}

/** `rule NAMES<tab>allow|ERRNO [INDEX OPERATOR VALUE SECOND]...`: a line as the compiled programs read it. */
export function ruleLine({ names, action, errnoRet, args = [] }: Rule): string {
  const verdict = action === 'SCMP_ACT_ALLOW' ? 'allow' : errnoRet;
  const comparisons = args.map(
    ({ index, op, value, valueTwo = 0 }) => ` ${index} ${op.slice('SCMP_CMP_'.length)} ${value} ${valueTwo}`,
  );
  return `rule ${names.join(' ')}\t${verdict}${comparisons.join('')}`;
}
