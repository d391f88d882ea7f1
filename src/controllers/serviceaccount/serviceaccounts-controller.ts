/**
 * Creates the `default` service account in every active namespace. Upstream: pkg/controller/serviceaccount.
 *
 * Watches: namespaces, service accounts. Writes alone: missing `default` service accounts.
 */
import { Namespaces, ServiceAccounts } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';

const ACCOUNT = 'service-account-controller';
const DEFAULT_NAME = 'default';

export function createServiceAccountsController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(ServiceAccounts);
  const namespaces = deps.informers.informer(Namespaces);
  const accounts = deps.informers.informer(ServiceAccounts);
  const loop = createKeyedLoop(deps, {
    name: 'serviceaccount-controller',
    queueName: 'serviceaccount',
    workers: 1,
    informers: informerList(namespaces, accounts),
    sync: syncNamespace,
  });

  async function syncNamespace(namespace: string, signal: AbortSignal): Promise<void> {
    const namespaceObject = namespaces.get({ name: namespace });
    if (namespaceObject === undefined || namespaceObject.metadata.deletionTimestamp !== undefined) return;
    if (accounts.get({ namespace, name: DEFAULT_NAME }) !== undefined) return;
    try {
      await client.create(
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: DEFAULT_NAME } },
        { signal },
      );
    } catch (error) {
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  }

  namespaces.addHandler({
    onAdd: (namespace) => loop.queue.add(namespace.metadata.name),
    onUpdate: (_, namespace) => loop.queue.add(namespace.metadata.name),
  });
  accounts.addHandler({
    onDelete(account) {
      if (account.metadata.name === DEFAULT_NAME) loop.queue.add(account.metadata.namespace);
    },
  });
  return loop;
}
