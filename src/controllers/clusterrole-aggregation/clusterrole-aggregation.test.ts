import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ClusterRoles } from '../../api/gen/resources.ts';
import type { ClusterRole } from '../../api/gen/rbac-v1.ts';
import { startHarness } from '../controllers-fixture.ts';
import { createClusterRoleAggregationController } from './clusterrole-aggregation-controller.ts';

const role = (name: string, verbs: string[], labels: Record<string, string> = {}): ClusterRole => ({
  metadata: { name, labels },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs }],
});

it('cluster roles aggregate the rules of the roles they select, and lose them again', async () => {
  const h = startHarness([createClusterRoleAggregationController]);
  const toView = { 'rbac.example.com/aggregate-to-view': 'true' };
  h.api.seed(ClusterRoles, {
    metadata: { name: 'view' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: toView }] },
    rules: [],
  } as ClusterRole);
  h.api.seed(ClusterRoles, role('b', ['list'], toView));
  h.api.seed(ClusterRoles, role('a', ['get'], toView));
  h.api.seed(ClusterRoles, role('same', ['get'], toView));
  h.api.seed(ClusterRoles, role('other', ['delete']));
  await h.clock.advance(100);
  const verbs = (): unknown =>
    h.api
      .objects(ClusterRoles)
      .find((r) => r.metadata.name === 'view')
      ?.rules?.map((r) => r.verbs[0]);
  assert.deepEqual(verbs(), ['get', 'list']);
  h.api.remove(ClusterRoles, 'b');
  await h.clock.advance(100);
  assert.deepEqual(verbs(), ['get']);
  await h.stop();
});
