/** Texts of draining a node. */
import { count } from './number-text.ts';

export const drainTexts = {
  label: 'Drain',
  explain:
    'The node is cordoned, and its pods are evicted as their disruption budgets allow. Closing this window stops it; the node stays cordoned.',
  pods: 'Pods of the node',
  noPods: 'No pods are on the node.',
  deleteEmptyDir: (pods: number): string => `Delete the data in emptyDir volumes of ${count(pods, 'pod')}`,
  force: (pods: number): string => `Evict ${count(pods, 'pod')} that no controller brings back`,
  blocked: (pods: number): string => `${count(pods, 'pod')} would be left without that: choose above.`,
  actions: {
    evict: 'is evicted',
    daemonSet: 'stays: its DaemonSet would bring it back',
    mirror: 'stays: a static pod of the node',
    emptyDir: 'has data in emptyDir volumes',
    unmanaged: 'has no controller',
  },
  states: {
    asking: 'eviction asked for',
    refused: 'refused for now, asked again:',
    leaving: 'ends',
    gone: 'gone',
    failed: 'failed:',
  },
  start: 'Drain',
  stop: 'Stop',
  done: 'The node is drained.',
  stopped: 'Stopped. The node stays cordoned.',
  failed: 'Not all pods could be evicted.',
} as const;
