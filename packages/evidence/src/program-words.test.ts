import { describe, expect, test } from 'vitest';
import { argumentsText, variablesText } from './program-words.ts';

describe('the text of the arguments', () => {
  test('lists them in their order', () => {
    expect(argumentsText({ args: ['b', 'a'] })).toBe('["b","a"]');
    expect(argumentsText({ args: ['b'] })).toBe('["b"]');
  });

  test('is null where the job was given none', () => {
    expect(argumentsText({})).toBeNull();
    expect(argumentsText({ args: [] })).toBeNull();
  });
});

describe('the text of the variables', () => {
  test('orders them by name', () => {
    expect(variablesText({ env: { B: '1', A: '2' } })).toBe('{"A":"2","B":"1"}');
    expect(variablesText({ env: { B: '1' } })).toBe('{"B":"1"}');
  });

  test('is null where the job was given none', () => {
    expect(variablesText({})).toBeNull();
    expect(variablesText({ env: {} })).toBeNull();
  });
});
