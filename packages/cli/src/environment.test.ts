import { expect, test } from 'vitest';
import { clientEnvironment, proxyEnvironment, serverEnvironment } from './environment.ts';

const environment = { SERVICE_URL: 'http://a', SERVICE_KEY: 'k', SERVICE_PORT: '0', PATH: '/bin' };

test('where a service is and its key are for clients, and no settings of a service started here', () => {
  expect(clientEnvironment(environment)).toEqual({ url: 'http://a', key: 'k' });
  expect(serverEnvironment(environment)).toEqual({ SERVICE_PORT: '0', PATH: '/bin' });
});

test('an empty value counts as not given', () => {
  expect(clientEnvironment({ SERVICE_URL: '', SERVICE_KEY: '' })).toEqual({ url: null, key: null });
});

test('of the environment only proxies are passed on to a build', () => {
  expect(proxyEnvironment({ ...environment, http_proxy: 'http://p', no_proxy: '' })).toEqual({
    http_proxy: 'http://p',
  });
});
