/** Pod specs of thousands of containers, and long limit ranges, are validated in steps, with the errors that validation at once finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../api/object.ts';
import type { FieldCause } from '../../api/status-error.ts';
import type { RequestContext } from '../request-context.ts';
import { setUp } from './definitions-fixture.ts';

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const container = (at: number, kind: string): object => ({
  name: `${kind}${at}`,
  image: 'i',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'Always',
  env: times(20, (n) => ({ name: `E${n}`, value: 'v' })),
});
const labels = { app: 'a' };
const template = {
  metadata: { labels },
  spec: {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    containers: times(500, (at) => container(at, 'c')),
    initContainers: times(500, (at) => container(at, 'i')),
  },
};
const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
const selected = { selector: { matchLabels: labels }, template };
const limits = times(3000, (at) => ({ type: `g.io/t${at}`, max: { cpu: '4' }, default: { cpu: '1' } }));

const cases: readonly (readonly [kind: string, object: object])[] = [
  ['Pod', { spec: template.spec }],
  ['PodTemplate', { template }],
  ['ReplicationController', { spec: { selector: labels, template, replicas: 1 } }],
  ['Deployment', { spec: { ...selected, replicas: 1, strategy: { type: 'Recreate' } } }],
  ['ReplicaSet', { spec: { ...selected, replicas: 1 } }],
  ['DaemonSet', { spec: { ...selected, updateStrategy: { type: 'OnDelete' } } }],
  [
    'StatefulSet',
    { spec: { ...selected, replicas: 1, podManagementPolicy: 'Parallel', updateStrategy: { type: 'OnDelete' } } },
  ],
  ['Job', { spec: { selector: selected.selector, template: once, manualSelector: true } }],
  [
    'CronJob',
    { spec: { schedule: '* * * * *', concurrencyPolicy: 'Allow', jobTemplate: { spec: { template: once } } } },
  ],
  ['LimitRange', { spec: { limits } }],
];

const { definitions } = setUp();
const context = {} as RequestContext;

for (const [kind, parts] of cases)
  test(kind, () => {
    const { strategy } = definitions.find(({ info }) => info.kind === kind)!;
    const errorsAndSteps = (object: KubernetesObject, old?: KubernetesObject): [errors: string[], steps: number] => {
      const steps = strategy.validationSteps!(object, old, context);
      for (let count = 1; ; count++) {
        const { done, value } = steps.next();
        if (done === true) return [texts(value), count];
      }
    };
    const object = { metadata: { name: 'a' }, ...structuredClone(parts) };
    const [errors, steps] = errorsAndSteps(object);
    assert.deepEqual(errors, []);
    assert.ok(steps >= 10, `${steps} steps`);
    assert.deepEqual(errorsAndSteps(object, structuredClone(object))[0], []);
    const wrong = JSON.parse(
      JSON.stringify(object)
        .replaceAll(/"(i|c)4\d9"/g, '"$1_"')
        .replaceAll(/"g.io\/t(1\d\d)"/g, '"t$1"'),
    ) as KubernetesObject;
    const [found] = errorsAndSteps(wrong);
    assert.ok(found.length >= 20, `${found.length} errors`);
    assert.deepEqual(found, texts(strategy.validate(structuredClone(wrong), context)));
  });

function texts(errors: readonly FieldCause[]): string[] {
  return errors.map(({ field, text }) => `${field}: ${text}`);
}
