/** The author of a change by the name that users of Kubernetes know. */
import type { HistoryAuthor } from '../../storage/history-record.ts';

/** The field manager of the library, which steps of a scenario use. */
const TEST_MANAGER = 'keelson-testing';
const NODE = 'system:node:';
const ACCOUNT = /^system:serviceaccount:kube-system:(.+)$/;
const COMPONENTS: Readonly<Record<string, string>> = {
  'system:kube-scheduler': 'scheduler',
  'system:kube-controller-manager': 'controllers',
  'system:apiserver': 'apiserver',
};

/** `kubelet/node-1`, `deployment-controller`, `scheduler`, `scenario`; other users and accounts unchanged. */
export function authorText(author: HistoryAuthor | undefined): string {
  if (author === undefined) return 'unknown';
  const { user, manager } = author;
  if (manager === TEST_MANAGER && user === 'kubernetes-admin') return 'scenario';
  if (user.startsWith(NODE)) return `kubelet/${user.slice(NODE.length)}`;
  return COMPONENTS[user] ?? ACCOUNT.exec(user)?.[1] ?? user;
}
