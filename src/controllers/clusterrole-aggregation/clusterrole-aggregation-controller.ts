/**
 * Writes into ClusterRoles with an aggregation rule the rules of the roles that it selects. Upstream:
 * pkg/controller/clusterroleaggregation.
 *
 * Watches: ClusterRoles. Writes alone: the rules of aggregating roles. Differs on purpose: updates instead of
 * applying, so that rules that are no longer selected disappear.
 */
import { stableStringify } from '../../base/stable-json.ts';
import { deepEqual } from '../../base/equal.ts';
import { ClusterRoles } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import type { ClusterRole, PolicyRule } from '../../api/gen/rbac-v1.ts';
import type { Stored } from '../../api/object.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'clusterrole-aggregation-controller';
const WORKERS = 5;
/** Index of the few roles with an aggregation rule. */
const AGGREGATING = 'aggregating';

/**
 * The rules of an aggregating role: those of the selected roles in the order of their names, without duplicates.
 * Pure.
 */
export function aggregateRules(role: ClusterRole, all: readonly Stored<ClusterRole>[]): PolicyRule[] {
  const rules = new Map<string, PolicyRule>();
  // Roles that an earlier selector chose are skipped, as they add nothing.
  let left = all.filter(({ metadata }) => metadata.name !== role.metadata.name);
  left.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const matcher = compileLabelSelector(selector);
    const chosen = left.filter(({ metadata }) => matcher.matches(metadata.labels));
    if (chosen.length === 0) continue;
    left = left.filter(({ metadata }) => !matcher.matches(metadata.labels));
    for (const source of chosen) {
      for (const rule of source.rules ?? []) {
        const text = stableStringify(rule);
        if (!rules.has(text)) rules.set(text, rule);
      }
    }
  }
  return [...rules.values()];
}

export function createClusterRoleAggregationController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(ClusterRoles);
  const roles = deps.informers.informer(ClusterRoles);
  const loop = createKeyedLoop(deps, {
    name: 'clusterrole-aggregation-controller',
    queueName: 'ClusterRoleAggregator',
    workers: WORKERS,
    informers: informerList(roles),
    async sync(name, signal) {
      const role = roles.get({ name });
      if (role?.aggregationRule === undefined) return;
      const rules = aggregateRules(role, roles.list());
      if (!deepEqual(rules, role.rules ?? [])) await client.update({ ...role, rules }, { signal });
    },
  });
  roles.addIndex(AGGREGATING, ({ aggregationRule }) => (aggregationRule === undefined ? [] : ['']));
  // Any role may be selected by any other.
  const enqueueAll = (): void => {
    for (const role of roles.byIndex(AGGREGATING, '')) loop.queue.add(role.metadata.name);
  };
  roles.addHandler({ onAdd: enqueueAll, onUpdate: enqueueAll, onDelete: enqueueAll });
  return loop;
}
