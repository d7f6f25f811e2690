import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clientEnvironment, configDirectory, proxyEnvironment, serverEnvironment } from './environment.ts';

const environment = {
  SERVICE_URL: 'http://a',
  SERVICE_KEY: 'k',
  SERVICE_PROFILE: 'p',
  SERVICE_PORT: '0',
  PATH: '/bin',
};

test("a service that the command starts does not get a client's address and key", () => {
  expect(clientEnvironment(environment)).toEqual({ url: 'http://a', key: 'k', profile: 'p' });
  expect(serverEnvironment(environment)).toEqual({ SERVICE_PORT: '0', PATH: '/bin' });
});

test('an empty environment variable counts as one that is not set', () => {
  expect(clientEnvironment({ SERVICE_URL: '', SERVICE_KEY: '', SERVICE_PROFILE: '' })).toEqual({
    url: null,
    key: null,
    profile: null,
  });
});

test('the build of a pack gets only the proxy variables from the environment', () => {
  expect(proxyEnvironment({ ...environment, http_proxy: 'http://p', no_proxy: '' })).toEqual({
    http_proxy: 'http://p',
  });
});

test("a user's settings are below XDG_CONFIG_HOME if that path is absolute, and otherwise in ~/.config", () => {
  expect(configDirectory({ XDG_CONFIG_HOME: '/a' })).toBe('/a/vouchbox');
  for (const XDG_CONFIG_HOME of ['', 'relative']) {
    expect(configDirectory({ XDG_CONFIG_HOME, HOME: '/b' })).toBe('/b/.config/vouchbox');
  }
});

test("without an absolute HOME, a user's settings are in the home directory from the user database", () => {
  const expected = join(userInfo().homedir, '.config/vouchbox');
  for (const environment of [{}, { HOME: '' }, { HOME: '.' }]) expect(configDirectory(environment)).toBe(expected);
});
