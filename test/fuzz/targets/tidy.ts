// Removes objects that would correctly refuse the requests of every client: webhooks, policies, priority levels.
import type { OwnClient } from './own-client.ts';
import { makeRunningPod } from './prepare.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const collections = [
  `${REGISTRATION}/validatingwebhookconfigurations`,
  `${REGISTRATION}/mutatingwebhookconfigurations`,
  `${REGISTRATION}/validatingadmissionpolicybindings`,
  `${REGISTRATION}/mutatingadmissionpolicybindings`,
];

/** Replica counts may be any number; the resulting pods are not needed here. */
const quota = { metadata: { name: 'bounds' }, spec: { hard: { pods: '20' } } };

export async function tidy(client: OwnClient): Promise<void> {
  for (const path of collections) await client.send('DELETE', path);
  for (const name of ['fuzz-a', 'fuzz-b', 'fuzz-c'])
    await client.send('DELETE', `/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/${name}`);
  await bound(client);
  await makeRunningPod(client);
}

export async function bound(client: OwnClient): Promise<void> {
  for (const namespace of ['fuzz', 'fuzz-b'])
    await client.send('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, quota);
}
