/** Addresses of webhooks are joined as client-go joins them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOfClientConfig } from './webhook-target.ts';

/** Path as configured, and as Go's path.Join writes it. */
const PATHS: readonly [string, string][] = [
  ['/validate', '/validate'],
  ['//validate', '/validate'],
  ['/a//b', '/a/b'],
  ['/a/', '/a'],
  ['/a/./b/../c', '/a/c'],
  ['/../a', '/a'],
  ['//', '/'],
  ['/', '/'],
];

test('doubled, last and relative slashes of a webhook path are cleaned, by URL and by service', async () => {
  const resolve = () => ({ host: '10.0.0.1', port: 8443 });
  for (const [path, clean] of PATHS) {
    const byUrl = targetOfClientConfig({ url: `https://hook.example:9443${path}` }, resolve);
    assert.equal((await byUrl.destination()).url, `https://hook.example:9443${clean}`, path);
    assert.equal(byUrl.url, `https://hook.example:9443${clean}`);
    const byService = targetOfClientConfig({ service: { namespace: 'n', name: 's', path } }, resolve);
    assert.equal((await byService.destination()).url, `https://10.0.0.1:8443${clean}`, path);
  }
  const bare = targetOfClientConfig({ url: 'https://hook.example' }, resolve);
  assert.equal((await bare.destination()).url, 'https://hook.example');
});
