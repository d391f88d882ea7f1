import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defined } from '../base/defined-fixture.ts';
import type { Net } from '../platform/net.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { loadKubeconfig, parseKubeconfig } from './kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const text = `
apiVersion: v1
kind: Config
current-context: main
contexts:
- {name: main, context: {cluster: c, user: u, namespace: team}}
- {name: broken, context: {cluster: nowhere, user: u}}
- {name: plugin, context: {cluster: c, user: p}}
clusters:
- {name: c, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: ${base64('CA')}, tls-server-name: api}}
users:
- {name: u, user: {client-certificate: client.crt, client-key-data: ${base64('KEY')}}}
- {name: p, user: {exec: {command: aws}}}
`;

describe('kubeconfig', () => {
  it('resolves the current context with data and files', async () => {
    const deps = {
      files: { readText: (path: string) => Promise.resolve(path === '/etc/k/config' ? text : `<${path}>`) },
      net: {} as Net,
      clock: new VirtualClock(),
      userAgent: 'x',
    };
    const config = await loadKubeconfig(deps, '/etc/k/config');
    assert.equal(config.server, 'https://10.0.0.1:6443');
    assert.equal(config.namespace, 'team');
    assert.deepEqual(defined(config.tls), {
      caPem: 'CA',
      certPem: '</etc/k/client.crt>',
      keyPem: 'KEY',
      serverName: 'api',
    });
  });

  const cases: [string, string, string | undefined, RegExp][] = [
    ['unknown context', text, 'other', /context "other" does not exist/],
    ['unknown cluster', text, 'broken', /cluster "nowhere" does not exist/],
    ['credential plugin', text, 'plugin', /\(exec\) are not supported/],
    ['no context', 'kind: Config', undefined, /no current-context/],
    ['not YAML', '{', undefined, /not valid YAML/],
    ['empty', '', undefined, /kubeconfig is empty/],
    ['a word', 'hello', undefined, /kubeconfig is not an object/],
    ['impersonation of a uid', text.replace('exec:', 'as-uid:'), 'plugin', /as-uid and as-user-extra are not/],
  ];
  for (const [name, input, context, message] of cases) {
    it(`refuses: ${name}`, () => assert.rejects(parseKubeconfig(input, context), message));
  }
});
