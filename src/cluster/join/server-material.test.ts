import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_GROUP } from '../../apiserver/bootstrap/server-join.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { StatusError } from '../../api/status-error.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { serverJoinRoute } from './server-material.ts';

/** RBAC lets each of them get the path: who has `get` on `*` is no server for that. */
const cases: readonly [groups: readonly string[], served: boolean][] = [
  [['system:authenticated'], false],
  [['system:unauthenticated'], false],
  [['system:nodes', 'system:authenticated'], false],
  [['system:bootstrappers', 'system:bootstrappers:keelson:default-node-token', 'system:authenticated'], false],
  [['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'], false],
  [['system:masters', 'system:authenticated'], true],
  [['system:bootstrappers', SERVER_GROUP, 'system:authenticated'], true],
];

for (const [groups, served] of cases)
  test(`the keys that servers share are ${served ? '' : 'not '}served to ${groups.join(', ')}`, async () => {
    const { files } = createSimPlatform();
    const names = ['ca', 'front-proxy-ca', 'etcd/ca'].flatMap((name) => [`${name}.crt`, `${name}.key`]);
    await files.makeDir('/d/pki/etcd');
    for (const name of [...names, 'sa.key', 'sa.pub']) await files.writeFileAtomic(`/d/pki/${name}`, name);
    const route = serverJoinRoute({ files }, { dataDir: '/d', pkiDir: '/d/pki', encrypted: false });
    const asked = async (): Promise<number> => {
      const answer = await route.serve({ user: { name: 'x', groups } } as unknown as RequestScope);
      return 'status' in answer ? answer.status : 0;
    };
    if (served) assert.equal(await asked(), 200);
    else await assert.rejects(asked(), (error) => error instanceof StatusError && error.code === 403);
  });
