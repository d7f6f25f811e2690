import { describe, expect, test } from 'vitest';
import { StartError } from '../ground/start-error.ts';
import { loadConfig } from './config.ts';

const complete = {
  SERVICE_OBJECT_STORE_URL: 'https://s3.example.com/bucket',
  SERVICE_OBJECT_STORE_ACCESS_KEY: 'AKIA-access',
  SERVICE_OBJECT_STORE_SECRET_KEY: 'hunter2-secret',
};

function opened(changes: Record<string, string> = {}) {
  return loadConfig({ ...complete, ...changes }).objectStore;
}

function thrownBy(changes: Record<string, string>): StartError {
  try {
    opened(changes);
  } catch (error) {
    if (error instanceof StartError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

/** The message and the hint of a refusal, after a check that they show no secret from any setting. */
function refusal(changes: Record<string, string>): string {
  const { message, hint } = thrownBy(changes);
  const said = `${message}; ${hint}`;
  expect(said).not.toMatch(/hunter2|AKIA/);
  expect(said).not.toContain('\n');
  return said;
}

describe('the settings of an object store', () => {
  test('turn the object store on if its URL and both keys are set, with defaults for the region and the minimum size', () => {
    expect(loadConfig({}).objectStore).toBeNull();
    expect(opened()).toEqual({
      url: 'https://s3.example.com/bucket',
      region: 'us-east-1',
      accessKey: 'AKIA-access',
      secretKey: 'hunter2-secret',
      bytesMin: 2 ** 20,
    });
    expect(opened({ SERVICE_OBJECT_STORE_REGION: 'eu-west-1' })?.region).toBe('eu-west-1');
  });

  test.each(Object.keys(complete))('settings without %s are refused, and the message names it', (name) => {
    expect(refusal({ [name]: '' })).toMatch(new RegExp(`^${name} is not set`));
  });

  test('turn nothing on if only the region or the minimum size is given', () => {
    const others = { SERVICE_OBJECT_STORE_REGION: 'eu-west-1', SERVICE_OBJECT_STORE_MIN_KB: '64' };
    expect(loadConfig(others).objectStore).toBeNull();
  });

  test.each([
    ['http://127.0.0.1:9000/bucket', 'http://127.0.0.1:9000/bucket'],
    ['http://[::1]:9000/bucket', 'http://[::1]:9000/bucket'],
    ['https://s3.example.com/bucket/some/prefix', 'https://s3.example.com/bucket/some/prefix'],
    ['https://s3.example.com/bucket/prefix//', 'https://s3.example.com/bucket/prefix'],
  ])('the address %s names a bucket', (given, url) => {
    expect(opened({ SERVICE_OBJECT_STORE_URL: given })?.url).toBe(url);
  });

  test.each([
    'https://s3.example.com',
    'https://s3.example.com/',
    's3://bucket',
    'ftp://s3.example.com/bucket',
    'https:///bucket',
    'https://s3.example.com//bucket',
    'https://s3.example.com/bucket//prefix',
    'https://s3.example.com/../bucket',
    'https://s3.example.com/bucket/./prefix',
    'https://s3.example.com/..',
    'https://s3.example.com:99999/bucket',
    'https://[/bucket',
    'https://s3.example.com/bucket?x=1',
    'https://s3.example.com/bucket#x',
    'https://s3.example.com/b%20ucket',
    'https://s3.example.com/b ucket',
    'https://AKIA:hunter2@s3.example.com/bucket',
  ])('the address %s is refused', (url) => {
    expect(refusal({ SERVICE_OBJECT_STORE_URL: url })).toMatch(/^SERVICE_OBJECT_STORE_URL does not take /);
  });

  test.each(['SERVICE_OBJECT_STORE_ACCESS_KEY', 'SERVICE_OBJECT_STORE_SECRET_KEY'])(
    '%s takes 1 to 512 visible characters, and is never shown',
    (name) => {
      for (const value of ['x', 'x'.repeat(512), 'test:tester', '!~/+='])
        expect(opened({ [name]: value })).not.toBeNull();
      for (const value of [
        'hunter2 '.repeat(65).trim(),
        `hunter2${'x'.repeat(506)}`,
        'hunter2 x',
        'hunter2é',
        'hunter2\nx',
      ])
        expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name} does not take this value`));
    },
  );

  test('the region takes 1 to 64 letters, digits and dashes', () => {
    for (const region of ['x', 'x'.repeat(64)]) {
      expect(opened({ SERVICE_OBJECT_STORE_REGION: region })?.region).toBe(region);
    }
    for (const region of ['x'.repeat(65), 'eu west', 'eu_west', 'eu/west', 'é']) {
      expect(refusal({ SERVICE_OBJECT_STORE_REGION: region })).toMatch(/^SERVICE_OBJECT_STORE_REGION does not take /);
    }
  });

  test('the minimum size is a whole number of KiB from 64 to 1000000', () => {
    for (const kb of [64, 65, 999_999, 1_000_000]) {
      expect(opened({ SERVICE_OBJECT_STORE_MIN_KB: String(kb) })?.bytesMin).toBe(kb * 1024);
    }
    for (const kb of ['63', '1000001', '64.5', '-64', '0x40', 'many']) {
      const said = refusal({ SERVICE_OBJECT_STORE_MIN_KB: kb });
      expect(said).toMatch(/^SERVICE_OBJECT_STORE_MIN_KB does not take /);
      expect(said).toContain('a whole number from 64 to 1000000');
    }
  });
});
