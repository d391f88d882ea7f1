/** Validation of `pods/resize` and of nodes' declared features. Upstream: ValidatePodResize, validateNodeDeclaredFeatures. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Check, validateAll } from './complaints-fixture.ts';
import { setPodDefaults } from '../defaults/pod.ts';
import { Field } from '../field-error.ts';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../gen/core-v1.ts';
import { validateNode } from './node.ts';
import { validatePodResize } from './pod-resize.ts';

const asks = (requests: Record<string, string>, limits?: Record<string, string>): ResourceRequirements => ({
  requests,
  ...(limits && { limits }),
});
const container = (resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  name: 'c',
  image: 'i',
  resources,
  ...more,
});
function podOf(spec: Partial<PodSpec>): Pod {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'ns' },
    spec: { containers: [container(asks({ cpu: '1' }))], ...structuredClone(spec) },
    status: { qosClass: 'Burstable' },
  };
  setPodDefaults(pod);
  return pod;
}

const complaints = (validate: Check): string[] => {
  const field = Field.root();
  validateAll(validate(field));
  return field.errors.map(({ field: at, text }) => `${at}: ${text}`);
};

describe('a resize may change only cpu and memory', () => {
  const one = (resources: ResourceRequirements, more?: Partial<Container>): Partial<PodSpec> => ({
    containers: [container(resources, more)],
  });
  const init = (resources: ResourceRequirements, more?: Partial<Container>): Partial<PodSpec> => ({
    initContainers: [container(resources, { name: 'i', ...more })],
  });
  const anew = { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] };
  const onlySize = 'spec: Forbidden: only cpu and memory resources are mutable';
  const cases: [what: string, before: Partial<PodSpec>, now: Partial<PodSpec>, refused: string[]][] = [
    ['of a container', one(asks({ cpu: '1' })), one(asks({ cpu: '2', memory: '1Gi' })), []],
    [
      'that takes away',
      one(asks({ cpu: '1', memory: '1Gi' }, { cpu: '2' })),
      one(asks({ cpu: '1' })),
      [
        'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
        'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
      ],
    ],
    ['of other things', one(asks({ cpu: '1' })), one(asks({ cpu: '1', 'ephemeral-storage': '1Gi' })), [onlySize]],
    ['of how it is resized', one(asks({ cpu: '1' })), one(asks({ cpu: '1' }), anew), [onlySize]],
    [
      'of a sidecar',
      init(asks({ cpu: '1' }), { restartPolicy: 'Always' }),
      init(asks({ cpu: '2' }), { restartPolicy: 'Always' }),
      [],
    ],
    ['of an init container', init(asks({ cpu: '1' })), init(asks({ cpu: '2' })), []],
    [
      'of other things of an init container',
      init(asks({ cpu: '1' })),
      init(asks({ cpu: '1', 'ephemeral-storage': '1Gi' })),
      ['spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable'],
    ],
    [
      'of an init container that would start anew',
      init(asks({ cpu: '1' }), anew),
      init(asks({ cpu: '2' }), anew),
      [
        'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
      ],
    ],
    ['of the pod as a whole', { resources: asks({ cpu: '2' }) }, { resources: asks({ cpu: '3' }) }, []],
    ['that limits the pod as a whole at last', {}, { resources: asks({ cpu: '2' }) }, []],
    [
      'that takes away from the pod as a whole',
      { resources: asks({ cpu: '2', memory: '1Gi' }) },
      { resources: asks({ cpu: '2' }) },
      ['spec.resources.requests: Forbidden: pod-level resource requests cannot be removed'],
    ],
    [
      'of other things of the pod as a whole',
      { resources: asks({ cpu: '2' }) },
      { resources: asks({ cpu: '2', 'hugepages-2Mi': '2Mi' }, { 'hugepages-2Mi': '2Mi' }) },
      ['spec: Forbidden: only cpu and memory resources are mutable at pod-level'],
    ],
    [
      'that changes the class of service',
      one(asks({ cpu: '1', memory: '1Gi' })),
      one(asks({ cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' })),
      ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
    ],
  ];
  for (const [what, before, now, refused] of cases)
    it(what, () =>
      assert.deepEqual(
        complaints((field) => validatePodResize(podOf(now), podOf(before), field)),
        refused,
      ),
    );
});

describe('features declared by a node are validated', () => {
  const shape = (name: string): string =>
    `Invalid value: "${name}": invalid feature name "${name}": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;
  const cases: [declared: string[], refused: string[]][] = [
    [['A', 'B/c', 'B2'], []],
    [['B', 'A'], ['status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically']],
    [['A', 'A'], ['status.declaredFeatures[1]: Duplicate value: "A"']],
    [['lower'], [`status.declaredFeatures[0]: ${shape('lower')}`]],
    [['A/'], [`status.declaredFeatures[0]: ${shape('A/')}`]],
  ];
  for (const [declaredFeatures, refused] of cases)
    it(declaredFeatures.join(), () =>
      assert.deepEqual(
        complaints((field) => validateNode({ metadata: { name: 'n' }, status: { declaredFeatures } }, field)),
        refused,
      ),
    );
});
