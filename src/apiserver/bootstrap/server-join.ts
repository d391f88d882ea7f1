/** Only bearers of a token made for joining servers may fetch the material that makes a machine a server of this cluster. */
import { ClusterRoleBindings, ClusterRoles } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { rules } from './rule.ts';

/** Where the keys that servers share are served. */
export const SERVER_JOIN_PATH = '/keelson/server-join';

const RBAC = 'rbac.authorization.k8s.io';
const NAME = 'keelson:server-join';
/** The extra group of server tokens. */
export const SERVER_GROUP = 'system:bootstrappers:keelson:servers';

/** Writes role and binding. */
export async function bootstrapServerJoin(objects: ObjectStore): Promise<void> {
  const apiVersion = `${RBAC}/v1`;
  await Promise.all([
    objects.ensure(ClusterRoles, {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: NAME },
      rules: rules(`get ${SERVER_JOIN_PATH}`),
    }),
    objects.ensure(ClusterRoleBindings, {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: NAME },
      subjects: [{ apiGroup: RBAC, kind: 'Group', name: SERVER_GROUP }],
    }),
  ]);
}
