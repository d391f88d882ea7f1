/** Helm's proxies beside an API server that is not on loopback. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNoProxyFor } from './proxies.ts';

test('the API server is beside every proxy, under both names, and nothing is set where there is none', () => {
  const all = '.example.com,10.0.0.5';
  assert.deepEqual(withNoProxyFor('10.0.0.5', { https_proxy: 'http://p', no_proxy: '.example.com' }), {
    https_proxy: 'http://p',
    NO_PROXY: all,
    no_proxy: all,
  });
  assert.equal(withNoProxyFor('[fd00::5]', { HTTPS_PROXY: 'http://p' })['NO_PROXY'], 'fd00::5');
  assert.deepEqual(withNoProxyFor('10.0.0.5', {}), {});
});
