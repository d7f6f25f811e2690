import { expect, test } from 'vitest';
import { clientEnvironment, proxyEnvironment, serverEnvironment } from './environment.ts';

const environment = { SERVICE_URL: 'http://a', SERVICE_KEY: 'k', SERVICE_PORT: '0', PATH: '/bin' };

test('the address of a service and its key are for clients, and are no settings of a service started here', () => {
  expect(clientEnvironment(environment)).toEqual({ url: 'http://a', key: 'k' });
  expect(serverEnvironment(environment)).toEqual({ SERVICE_PORT: '0', PATH: '/bin' });
});

test('an empty value counts as not given', () => {
  expect(clientEnvironment({ SERVICE_URL: '', SERVICE_KEY: '' })).toEqual({ url: null, key: null });
});

test('a build gets only the proxy variables of the environment', () => {
  expect(proxyEnvironment({ ...environment, http_proxy: 'http://p', no_proxy: '' })).toEqual({
    http_proxy: 'http://p',
  });
});
