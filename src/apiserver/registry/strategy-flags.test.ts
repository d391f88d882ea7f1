/** The flags of the strategies of built-in kinds, compared with upstream's registry packages. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import { readSamples } from '../refusals/samples-fixture.ts';
import type { TestServer } from '../server-fixture.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** AllowUnconditionalUpdate is false: a PUT must name the resourceVersion. */
const CONDITIONAL = `clustertrustbundles csidrivers csinodes csistoragecapacities customresourcedefinitions apiservices
  leasecandidates leases mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations
  poddisruptionbudgets resourcepoolstatusrequests runtimeclasses storageversionmigrations storageversions
  validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations volumeattachments`;

/** AllowCreateOnUpdate is true: a PUT creates a missing object. */
const MADE_BY_PUT = `clusterrolebindings clusterroles endpoints events leasecandidates leases limitranges rolebindings roles
  runtimeclasses services`;

/** PrepareForCreate sets the generation. */
const WITH_GENERATION = `CronJob CustomResourceDefinition DaemonSet Deployment DeviceClass DeviceTaintRule EndpointSlice
  FlowSchema Ingress IngressClass Job MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
  NetworkPolicy PodDisruptionBudget PriorityClass PriorityLevelConfiguration ReplicaSet ReplicationController ResourceSlice
  StatefulSet ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration`;

const words = (text: string): string[] => text.split(/\s+/u).toSorted();

let server: TestServer;
before(async () => {
  server = await startWithAll([], 'api/all=true');
});

function resourcesThat(test: (definition: ResourceDefinition) => boolean): string[] {
  const stored = [...server.storage.registry.served].filter(({ definition }) => definition.virtual === undefined);
  const found = stored.filter(({ definition }) => test(definition)).map(({ info }) => info.resource);
  return [...new Set(found)].toSorted();
}

test('a PUT without resourceVersion, and one of an object that is not there', () => {
  assert.deepEqual(
    resourcesThat(({ strategy }) => strategy.allowUnconditionalUpdate !== true),
    words(CONDITIONAL),
  );
  assert.deepEqual(
    resourcesThat(({ strategy }) => strategy.allowCreateOnUpdate === true),
    words(MADE_BY_PUT),
  );
});

test('kinds with a generation from the start', async () => {
  const kinds = new Set<string>();
  for (const { group, version, kind, object } of readSamples()) {
    const store = [...server.storage.registry.served].find(
      ({ info }) => info.group === group && info.version === version && info.kind === kind,
    )!;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const path = `${root}${store.info.namespaced ? '/namespaces/default' : ''}/${store.info.resource}?dryRun=All`;
    const answer = await server.send('POST', path, object, { 'content-type': 'application/json' });
    if (answer.body.metadata.generation === 1) kinds.add(kind);
  }
  assert.deepEqual([...kinds].toSorted(), words(WITH_GENERATION));
});
