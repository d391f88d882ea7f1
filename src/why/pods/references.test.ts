import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notFound } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { Evidence } from '../evidence.ts';
import { mentionCauses } from './references.ts';

const get = (key: { readonly name: string }) =>
  Promise.reject(notFound({ group: '', resource: 'configmaps' }, key.name));
const client = { resource: () => ({ get }) } as unknown as Client;
const nothing = { state: 'Unknown', summary: '', causes: [] } as const;

test('the config map of the root CA is created by the controller manager, others by users', async () => {
  const pod = { metadata: { namespace: 'default', name: 'a' } };
  const evidence = new Evidence({ client, nowMs: 0, explain: () => Promise.resolve(nothing) });
  const place = 'volume api';
  const causes = await mentionCauses(
    pod,
    [
      { kind: 'ConfigMap', name: 'kube-root-ca.crt', place },
      { kind: 'ConfigMap', name: 'own', place },
    ],
    evidence,
  );
  const [root, own] = causes.map(({ cure }) => cure);
  assert.match(root?.text ?? '', /controller manager/);
  assert.equal(root?.command, undefined);
  assert.match(own?.command ?? '', /^kubectl create configmap own /);
});
