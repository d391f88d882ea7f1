import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_GROUP } from '../../apiserver/bootstrap/server-join.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import type { Principal } from '../../api/transport.ts';
import { StatusError } from '../../api/status-error.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { serverJoinRoute } from './server-material.ts';

/** RBAC permits each of them the path: a user with `get` on `*` is not therefore a server. */
const cases: readonly [groups: readonly string[], served: boolean, more?: Partial<Principal>][] = [
  [['system:authenticated'], false],
  [['system:unauthenticated'], false],
  [['system:nodes', 'system:authenticated'], false],
  [['system:bootstrappers', 'system:bootstrappers:keelson:default-node-token', 'system:authenticated'], false],
  [['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'], false],
  [['system:masters', 'system:authenticated'], true],
  [['system:bootstrappers', SERVER_GROUP, 'system:authenticated'], true],
  [[SERVER_GROUP, 'system:authenticated', 'of another user'], false, { name: 'mallory' }],
  [
    [SERVER_GROUP, 'system:authenticated', 'by a certificate that claims it'],
    false,
    { extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=00'] } },
  ],
];

for (const [groups, served, more] of cases)
  test(`the keys that servers share are ${served ? '' : 'not '}served to ${groups.join(', ')}`, async () => {
    const { files } = createSimPlatform();
    const names = ['ca', 'front-proxy-ca', 'etcd/ca'].flatMap((name) => [`${name}.crt`, `${name}.key`]);
    await files.makeDir('/d/pki/etcd');
    for (const name of [...names, 'sa.key', 'sa.pub']) await files.writeFileAtomic(`/d/pki/${name}`, name);
    const route = serverJoinRoute({ files }, { dataDir: '/d', pkiDir: '/d/pki', encrypted: false });
    const asked = async (): Promise<number> => {
      const answer = await route.serve({
        user: { name: 'system:bootstrap:abcdef', groups, ...more },
      } as unknown as RequestScope);
      return 'status' in answer ? answer.status : 0;
    };
    if (served) assert.equal(await asked(), 200);
    else await assert.rejects(asked(), (error) => error instanceof StatusError && error.code === 403);
  });
