import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfigMaps,
  Nodes,
  PodDisruptionBudgets,
  Pods,
  Secrets,
  ValidatingWebhookConfigurations,
} from '../api/gen/resources.ts';
import type { AdmissionReview } from '../api/gen/admission-v1.ts';
import { firstCauses } from '../why/explanation.ts';
import { explainRefusal } from '../why/explain.ts';
import { findRefused, listRefused } from '../why/requests/read-refused.ts';
import { Cluster } from './cluster.ts';

async function explainLast(cluster: Cluster, client = cluster.client) {
  const [last] = await listRefused(client, false);
  const found = await findRefused(client, last!.id);
  const { summary, causes } = await explainRefusal(found!, { client, nowMs: cluster.nowMs });
  const [first] = firstCauses(causes);
  assert.notEqual(causes[0]!.object.name, '');
  return { summary, code: causes[0]!.code, first: first!.code, at: first!.object.name, command: first!.cure?.command };
}

test('a refused user gets the missing right, and what would grant it', async () => {
  await using cluster = await Cluster.start({ nodes: 1, controllers: [], scheduler: false });
  const ann = cluster.clientFor({ name: 'ann', groups: ['system:authenticated'] });
  await assert.rejects(ann.resource(Secrets).list({ namespace: 'default' }), /ann/);
  assert.deepEqual(await explainLast(cluster, ann), {
    summary: 'was to list secrets in namespace default by ann, and was refused with 403 Forbidden',
    code: 'NotAuthorized',
    first: 'NoRuleAllows',
    at: 'ann',
    command:
      'kubectl create role list-secrets --verb=list --resource=secrets -n default && kubectl create rolebinding list-secrets-ann --role=list-secrets --user=ann -n default',
  });
  const [mine] = await listRefused(ann, false);
  const seen = await findRefused(cluster.client, mine!.id);
  assert.equal(seen?.user, 'ann');
  const bob = cluster.clientFor({ name: 'bob', groups: ['system:authenticated'] });
  assert.equal(await findRefused(bob, mine!.id), undefined);
  await assert.rejects(listRefused(bob, true), /forbidden/);
});

test('an eviction that a disruption budget forbids leads to the budget and its causes', async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  cluster.image('web:1');
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { containers: [{ name: 'a', image: 'web:1' }] },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'stay' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    },
  ]);
  await cluster.waitFor('pod/web', 'Ready');
  await cluster.waitFor('poddisruptionbudget/stay', '.status.currentHealthy=1');
  const key = { namespace: 'default', name: 'web' };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
  await assert.rejects(cluster.client.resource(Pods).createSubresource(key, 'eviction', eviction), /disruption budget/);
  const { code, first, at } = await explainLast(cluster);
  assert.deepEqual({ code, first, at }, { code: 'Refused', first: 'BudgetAllowsNone', at: 'stay' });
  assert.equal((await cluster.client.resource(PodDisruptionBudgets).list()).items.length, 1);
});

test('an eviction of a pod with two disruption budgets leads to both', async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  const selector = { matchLabels: { app: 'web' } };
  const budget = (name: string) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { maxUnavailable: 1, selector },
  });
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', labels: selector.matchLabels },
      spec: { containers: [{ name: 'a', image: 'web:1' }] },
    },
    budget('one'),
    budget('two'),
  ]);
  await cluster.waitFor('pod/web', 'Ready');
  await cluster.waitFor('poddisruptionbudget/two', '.status.observedGeneration=1');
  await cluster.waitFor('poddisruptionbudget/one', '.status.observedGeneration=1');
  const key = { namespace: 'default', name: 'web' };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
  await assert.rejects(cluster.client.resource(Pods).createSubresource(key, 'eviction', eviction), /more than one/);
  const { code, first, at } = await explainLast(cluster);
  assert.deepEqual({ code, first, at }, { code: 'Refused', first: 'PodHasTwoBudgets', at: 'two' });
});

test('a webhook that denies, and one that does not respond, are named', async () => {
  await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
  const url = cluster.webhook('/deny', (review: AdmissionReview) => ({
    ...review,
    response: { uid: review.request!.uid, allowed: false, status: { message: 'never', code: 409 } },
  }));
  const hook = (name: string, clientConfig: object, resource: string) => ({
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig,
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const hooks = cluster.client.resource(ValidatingWebhookConfigurations);
  await hooks.create(hook('denies', { url }, 'configmaps'));
  await hooks.create(hook('absent', { service: { namespace: 'default', name: 'gone' } }, 'secrets'));
  const metadata = { name: 'a', namespace: 'default' };
  await assert.rejects(cluster.client.resource(ConfigMaps).create({ metadata }), /never/);
  const denied = await explainLast(cluster);
  assert.deepEqual([denied.code, denied.first, denied.at], ['NotAdmitted', 'WebhookDenies', 'denies']);
  await assert.rejects(cluster.client.resource(Secrets).create({ metadata }), /failed calling webhook/);
  const failed = await explainLast(cluster);
  assert.deepEqual([failed.code, failed.first, failed.at], ['NotAdmitted', 'ServiceMissing', 'gone']);
});

test('an invalid object is reported as invalid', async () => {
  await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
  await assert.rejects(cluster.client.resource(Nodes).create({ metadata: { name: 'Not A Name' } }), /Invalid value/);
  const { code } = await explainLast(cluster);
  assert.equal(code, 'Invalid');
});
