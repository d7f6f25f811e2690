import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { fits, misfitOf } from './misfit.ts';
import { JobSubmission } from './submission.ts';
import { type TSchema, Type } from './type.ts';

const seed = Number(process.env['PROPERTY_SEED'] ?? Date.now() % 1_000_000);

/** Numbers from 0 to 1, the same for the same seed. */
function* numbers(start: number): Generator<number, never> {
  for (let state = start; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const draws = numbers(seed);
const draw = () => draws.next().value;
const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(draw() * items.length)] as Item;

const NAMES = ['language', 'code', 'stdin', 'files', 'args', 'env', 'outputs', 'runtime', 'limits', 'path', 'a/b', '~'];
const SCALARS = [null, true, 0, 1, -1, 0.5, '', 'x', 'A', '😀😀', 'input/a', '__proto__', 'none', Number.NaN];

/** A JSON value with a few levels of objects and lists. */
function anything(depth: number): unknown {
  const kind = draw();
  if (depth === 0 || kind < 0.4) return oneOf(SCALARS);
  if (kind < 0.6) return Array.from({ length: Math.floor(draw() * 3) }, () => anything(depth - 1));
  return Object.fromEntries(Array.from({ length: Math.floor(draw() * 4) }, () => [oneOf(NAMES), anything(depth - 1)]));
}

/** A valid submission with a member or two changed. */
function nearly(): unknown {
  const right: Record<string, unknown> = {
    language: 'python',
    code: 'x',
    stdin: null,
    files: [{ path: 'input/a', content_base64: '' }],
    env: { A: '1' },
    limits: { wall_seconds: 1 },
    requirements: { minimum_isolation: 'none' },
  };
  for (let changes = Math.floor(draw() * 3); changes >= 0; changes--) {
    const target = oneOf([right, right, right['limits'], right['env'], right['requirements']]);
    const name = oneOf([...NAMES, 'A', 'wall_seconds', 'minimum_isolation', 'mem_mb']);
    if (typeof target === 'object' && target !== null) Object.assign(target, { [name]: anything(2) });
  }
  return right;
}

describe('the search for the first error of a value', () => {
  const other = Schema.Compile(JobSubmission);

  test('finds no error in exactly those values that another validator accepts', () => {
    for (let round = 0; round < 5000; round++) {
      const value = round % 2 === 0 ? nearly() : anything(3);
      expect(misfitOf(JobSubmission, value) === null, `seed ${seed}: ${JSON.stringify(value)}`).toBe(
        other.Check(value),
      );
    }
  });

  test('names a place where another validator also finds an error', () => {
    for (let round = 0; round < 5000; round++) {
      const value = nearly();
      const misfit = misfitOf(JobSubmission, value);
      if (misfit === null) continue;
      const [, errors] = other.Errors(value);
      const places = errors.flatMap(({ keyword, instancePath, params }) =>
        keyword === 'required'
          ? (params as { requiredProperties: string[] }).requiredProperties.map((name) => `${instancePath}/${name}`)
          : [instancePath],
      );
      expect(places, `seed ${seed}: ${JSON.stringify(value)}`).toContain(misfit.pointer);
    }
  });

  const text = Type.String({ minLength: 2, maxLength: 3 });
  test.each<[string, TSchema, unknown, string | null]>([
    ['counts characters, not UTF-16 halves', text, '😀😀😀', null],
    ['refuses one character too many', text, '😀😀😀😀', ' maxLength'],
    ['refuses one character too few', text, '😀', ' minLength'],
    ['accepts the bound itself', Type.Number({ minimum: 1, maximum: 1 }), 1, null],
    ['excludes an exclusive bound', Type.Number({ exclusiveMinimum: 1 }), 1, ' exclusiveMinimum'],
    ['ignores names that every object inherits', Type.Object({ toString: Type.String() }), {}, '/toString required'],
    ['names an unknown member', Type.Object({}, { additionalProperties: false }), { 'a/b~c': 1 }, '/a~1b~0c unknown'],
    ['reports the error of the first alternative', Type.Union([Type.Array(Type.Null()), Type.Null()]), [1], '/0 type'],
    ['reports a list instead of an object', Type.Object({}), [], ' type'],
    ['reports an infinite number', Type.Number(), Number.POSITIVE_INFINITY, ' type'],
  ])('%s', (_name, schema, value, expected) => {
    const misfit = misfitOf(schema, value);
    expect(misfit === null ? null : `${misfit.pointer} ${misfit.keyword}`).toBe(expected);
    expect(fits(schema, value)).toBe(expected === null);
  });

  test('names an unknown member together with a missing member if the schema refuses unknown members', () => {
    const strict = Type.Object({ code: Type.String() }, { additionalProperties: false });
    expect(misfitOf(strict, { cod: 'x' })).toMatchObject({ pointer: '/code', keyword: 'required', unknown: 'cod' });
    expect(misfitOf(strict, {})).not.toHaveProperty('unknown');
    expect(misfitOf(Type.Object({ code: Type.String() }), { cod: 'x' })).not.toHaveProperty('unknown');
  });

  test('throws for a schema with an unsupported keyword', () => {
    expect(() => misfitOf(Type.String({ format: 'email' }), 'x')).toThrow('format');
  });
});
