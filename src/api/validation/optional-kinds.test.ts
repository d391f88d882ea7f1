/**
 * Validation of kinds that only --runtime-config serves. Upstream:
 * apis/{scheduling,storagemigration,apiserverinternal,resource}/validation.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StorageVersionStatus } from '../gen/apiserverinternal-v1alpha1.ts';
import type { Condition } from '../gen/meta-v1.ts';
import type { ResourcePoolStatusRequestStatus } from '../gen/resource-v1alpha3.ts';
import type { PodGroupSpec, WorkloadSpec } from '../gen/scheduling-v1alpha2.ts';
import type { StorageVersionMigrationStatus } from '../gen/storagemigration-v1beta1.ts';
import { complaints } from './complaints-fixture.ts';
import { dropGatedFields, validatePodGroup, validatePodGroupStatus, validateWorkload } from './pod-group.ts';
import { validateResourcePoolStatus, validateResourcePoolStatusRequest } from './resource-pool-status.ts';
import {
  nameIsStorageVersion,
  validateStorageVersionMigration,
  validateStorageVersionMigrationStatus,
  validateStorageVersionStatus,
} from './storage-version.ts';

const metadata = { name: 'a', namespace: 'default' };

/** Asserts that each error begins with the expected text at the same index. */
function assertBegin(found: readonly string[], wanted: readonly string[]): void {
  const begins = found.map((text, index) => (text.startsWith(wanted[index] ?? ' ') ? wanted[index] : text));
  assert.deepEqual(begins, wanted);
}

describe('workloads', () => {
  const gang = { gang: { minCount: 2 } };
  const whole: WorkloadSpec = {
    controllerRef: { apiGroup: 'batch', kind: 'Job', name: 'a' },
    podGroupTemplates: [{ name: 'g', schedulingPolicy: gang }],
  };
  const one = (policy: object): WorkloadSpec => ({ podGroupTemplates: [{ name: 'g', schedulingPolicy: policy }] });
  const cases: readonly [string, WorkloadSpec, readonly string[]][] = [
    ['with a gang', whole, []],
    ['of a basic policy', one({ basic: {} }), []],
    ['without templates', { podGroupTemplates: [] }, ['spec.podGroupTemplates: Required value']],
    [
      'with nine templates',
      { podGroupTemplates: Array.from({ length: 9 }, (_, index) => ({ name: `g${index}`, schedulingPolicy: gang })) },
      ['spec.podGroupTemplates: Too many: 9: must have at most 8 items'],
    ],
    [
      'with two templates of a name',
      { podGroupTemplates: [whole.podGroupTemplates[0]!, whole.podGroupTemplates[0]!] },
      ['spec.podGroupTemplates[1]: Duplicate value: {"name":"g"'],
    ],
    [
      'whose template has a name with dots',
      { podGroupTemplates: [{ name: 'a.b', schedulingPolicy: gang }] },
      ['spec.podGroupTemplates[0].name: Invalid value: "a.b": must not contain dots'],
    ],
    [
      'whose template has no name',
      { podGroupTemplates: [{ name: '', schedulingPolicy: gang }] },
      ['spec.podGroupTemplates[0].name: Required value'],
    ],
    [
      'of no policy',
      one({}),
      ['spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
    ],
    [
      'of two policies',
      one({ basic: {}, ...gang }),
      ['spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: '],
    ],
    [
      'of a gang of nobody',
      one({ gang: { minCount: 0 } }),
      ['spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Required value'],
    ],
    [
      'of a gang of fewer',
      one({ gang: { minCount: -1 } }),
      [
        'spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1',
      ],
    ],
    [
      'of a controller that cannot be',
      { ...whole, controllerRef: { apiGroup: 'A_', kind: 'a/b', name: '' } },
      [
        'spec.controllerRef.apiGroup: Invalid value: "A_": a lowercase RFC 1123 subdomain',
        `spec.controllerRef.kind: Invalid value: "a/b": may not contain '/'`,
        'spec.controllerRef.name: Required value',
      ],
    ],
  ];
  for (const [title, spec, wanted] of cases)
    it(`${title} is ${wanted.length === 0 ? 'taken' : 'refused'}`, () =>
      assertBegin(
        complaints((field) => validateWorkload({ metadata, spec }, field)),
        wanted,
      ));

  it('a workload is immutable', () => {
    const update = (spec: WorkloadSpec): string[] =>
      complaints((field) => validateWorkload({ metadata, spec }, field, { metadata, spec: whole }));
    assert.deepEqual(update(whole), []);
    assert.deepEqual(update({ ...whole, controllerRef: { kind: 'Job', name: 'b' } }), [
      'spec.controllerRef: Invalid value: null: field is immutable',
    ]);
    assert.deepEqual(update({ ...whole, podGroupTemplates: one({ basic: {} }).podGroupTemplates }), [
      'spec.podGroupTemplates: Invalid value: null: field is immutable',
    ]);
  });
});

describe('pod groups', () => {
  const whole: PodGroupSpec = { schedulingPolicy: { gang: { minCount: 2 } } };

  it("a pod group may refer to a workload's template", () => {
    const check = (workload: { workloadName: string; podGroupTemplateName: string } | undefined): string[] =>
      complaints((field) =>
        validatePodGroup({ metadata, spec: { ...whole, podGroupTemplateRef: workload && { workload } } }, field),
      );
    assert.deepEqual(check(undefined), []);
    assert.deepEqual(check({ workloadName: 'w', podGroupTemplateName: 'g' }), []);
    assertBegin(check({ workloadName: '', podGroupTemplateName: 'A' }), [
      'spec.podGroupTemplateRef.workload.workloadName: Required value',
      'spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value: "A": a lowercase RFC 1123 label',
    ]);
  });

  it('the policy of a pod group is immutable', () =>
    assert.deepEqual(
      complaints((field) =>
        validatePodGroup({ metadata, spec: { schedulingPolicy: { basic: {} } } }, field, { metadata, spec: whole }),
      ),
      ['spec.schedulingPolicy: Invalid value: null: field is immutable'],
    ));

  it('fields of a pod group behind disabled gates are dropped', () => {
    const spec: PodGroupSpec = {
      ...whole,
      disruptionMode: 'Pod',
      priority: 5,
      priorityClassName: 'p',
      resourceClaims: [],
    };
    dropGatedFields(spec);
    assert.deepEqual(spec, whole);
  });

  it('conditions of a pod group are validated as metav1.Condition', () =>
    assertBegin(
      complaints((field) =>
        validatePodGroupStatus(
          { metadata, spec: whole, status: { conditions: [{ type: 'A' } as unknown as Condition] } },
          field,
        ),
      ),
      [
        'status.conditions[0].status: Unsupported value: ""',
        'status.conditions[0].lastTransitionTime: Required value',
        'status.conditions[0].reason: Required value',
      ],
    ));
});

describe('storage versions', () => {
  it('the name of a storage version is group and resource', () => {
    assert.deepEqual(nameIsStorageVersion('apps.deployments', false), []);
    assert.deepEqual(nameIsStorageVersion('apps', false), ['name must be in the form of <group>.<resource>']);
    assert.equal(nameIsStorageVersion('A.9', false).length, 2);
  });

  const server = { apiServerID: 'a', encodingVersion: 'apps/v1', decodableVersions: ['apps/v1'] };
  const cases: readonly [string, StorageVersionStatus, readonly string[]][] = [
    ['of no server', {}, []],
    ['of one server', { storageVersions: [server], commonEncodingVersion: 'apps/v1' }, []],
    [
      'whose common version is not told',
      { storageVersions: [server] },
      ['status.commonEncodingVersion: Invalid value: null: the common encoding version is apps/v1'],
    ],
    [
      'whose common version is another',
      { storageVersions: [server], commonEncodingVersion: 'v1' },
      ['status.commonEncodingVersion: Invalid value: "v1": the actual common encoding version is apps/v1'],
    ],
    [
      'of servers that do not agree',
      {
        storageVersions: [server, { ...server, encodingVersion: 'v1', decodableVersions: ['v1'] }],
        commonEncodingVersion: 'v1',
      },
      ['status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree'],
    ],
    [
      'with versions that cannot be',
      {
        storageVersions: [
          { apiServerID: 'A', encodingVersion: '', decodableVersions: ['a/b/c'], servedVersions: ['/V'] },
        ],
        commonEncodingVersion: '',
      },
      [
        'status.storageVersions[0].apiServerID: Invalid value: "A": a lowercase RFC 1123 subdomain',
        'status.storageVersions[0].encodingVersion: Invalid value: "": version part: must be non-empty',
        'status.storageVersions[0].decodableVersions[0]: Invalid value: "a/b/c": an apiVersion is a DNS-1035 label',
        'status.storageVersions[0].decodableVersions: Invalid value: ["a/b/c"]: decodableVersions must include encodingVersion ',
        'status.storageVersions[0].servedVersions[0]: Invalid value: "/V": group part: must be non-empty,version part: a DNS-1035',
        'status.storageVersions[0].servedVersions[0]: Invalid value: "/V": individual served version : /V must be included in decodableVersions : [a/b/c]',
      ],
    ],
    [
      'with a condition twice',
      {
        conditions: [
          { type: 'A', status: 'True', reason: 'r', message: 'm' },
          { type: 'A', status: '', reason: '', message: '' },
        ],
      },
      [
        'status[1].type: Invalid value: "A": the type of the condition is not unique, it also appears in conditions[0]',
        'status[1].status: Invalid value: "A": name part must be non-empty',
        'status[1].status: Invalid value: "A": name part must consist of',
        'status[1].reason: Required value: reason cannot be empty',
        'status[1].message: Required value: message cannot be empty',
      ],
    ],
  ];
  for (const [title, status, wanted] of cases)
    it(`${title} is ${wanted.length === 0 ? 'taken' : 'refused'}`, () =>
      assertBegin(
        complaints((field) => validateStorageVersionStatus({ metadata, status }, field)),
        wanted,
      ));
});

describe('storage version migrations', () => {
  const spec = { resource: { group: 'apps', resource: 'deployments' } };

  it('a migration names a resource, which is immutable', () => {
    const check = (group: string, resource: string): string[] =>
      complaints((field) =>
        validateStorageVersionMigration({ metadata, spec: { resource: { group, resource } } }, field),
      );
    assert.deepEqual(check('apps', 'deployments'), []);
    assert.deepEqual(check('', 'pods'), []);
    assertBegin(check('A', ''), [
      'spec.resource.resource: Required value: resource is required to be set',
      'spec.resource.group: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ]);
    assertBegin(
      complaints((field) =>
        validateStorageVersionMigration({ metadata, spec: { resource: { group: '', resource: 'pods' } } }, field, {
          metadata,
          spec,
        }),
      ),
      ['spec: Invalid value: {'],
    );
  });

  const condition = (type: string, status = 'True'): Condition => ({
    type,
    status,
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const cases: readonly [string, StorageVersionMigrationStatus, StorageVersionMigrationStatus, readonly string[]][] = [
    ['begins', {}, { resourceVersion: '5', conditions: [condition('Running')] }, []],
    ['may have no revision yet', {}, {}, []],
    [
      'has a revision that is a number',
      {},
      { resourceVersion: 'x' },
      ['status.resourceVersion: Invalid value: "x": resource version is not well formed: x'],
    ],
    [
      'keeps its revision',
      { resourceVersion: '5' },
      { resourceVersion: '6' },
      ['status.resourceVersion: Invalid value: "6": field is immutable'],
    ],
    [
      'does not end in both ways',
      {},
      { resourceVersion: '5', conditions: [condition('Running'), condition('Succeeded'), condition('Failed')] },
      ['status.conditions: Invalid value: [{"'],
    ],
    [
      'stays ended',
      { resourceVersion: '5', conditions: [condition('Failed')] },
      { resourceVersion: '5', conditions: [condition('Failed', 'False')] },
      ['status.conditions: Invalid value: [{"'],
    ],
  ];
  for (const [title, old, status, wanted] of cases)
    it(title, () =>
      assertBegin(
        complaints((field) =>
          validateStorageVersionMigrationStatus({ metadata, spec, status }, { metadata, spec, status: old }, field),
        ),
        wanted,
      ),
    );
});

describe('resource pool status requests', () => {
  const spec = { driver: 'GPU.example.com', poolName: 'a/b', limit: 5 };
  const whole: ResourcePoolStatusRequestStatus = {
    poolCount: 1,
    pools: [{ driver: 'gpu.example.com', poolName: 'a', generation: 1, resourceSliceCount: 1, totalDevices: 0 }],
  };

  it('a request names a driver and optionally a pool', () => {
    const check = (its: { driver: string; poolName?: string; limit?: number }): string[] =>
      complaints((field) => validateResourcePoolStatusRequest({ metadata, spec: its }, field));
    assert.deepEqual(check(spec), []);
    assertBegin(check({ driver: '', poolName: 'a//B', limit: 0 }), [
      'spec.driver: Required value',
      'spec.poolName: Invalid value: "a//B": segment 1: must not be empty',
      'spec.poolName: Invalid value: "B": segment 2: a lowercase RFC 1123 subdomain',
      'spec.limit: Invalid value: 0: must be greater than or equal to 1',
    ]);
    assertBegin(check({ driver: '_', limit: 1001 }), [
      'spec.driver: Invalid value: "_": an RFC 1123 subdomain must consist of alphanumeric characters',
      'spec.limit: Invalid value: 1001: must be less than or equal to 1000',
    ]);
  });

  it('the spec of a request is immutable', () =>
    assert.deepEqual(
      complaints((field) =>
        validateResourcePoolStatusRequest({ metadata, spec: { driver: 'b' } }, field, { metadata, spec }),
      ),
      ['spec: Invalid value: null: field is immutable'],
    ));

  it('the status of a request can be set once', () => {
    const check = (status: ResourcePoolStatusRequestStatus, old?: ResourcePoolStatusRequestStatus): string[] =>
      complaints((field) =>
        validateResourcePoolStatus({ metadata, spec, status }, { metadata, spec, status: old }, field),
      );
    assert.deepEqual(check(whole), []);
    assert.deepEqual(check(whole, whole), []);
    assertBegin(check({ poolCount: 2 }, whole), ['status: Invalid value: {"poolCount":2}: field is immutable']);
    const [pool] = whole.pools!;
    assertBegin(
      check({
        poolCount: -1,
        pools: [{ ...pool!, generation: 0, totalDevices: -1, validationError: 'e'.repeat(257) }],
      }),
      [
        'status.poolCount: Invalid value: -1: must be greater than or equal to 0',
        'status.pools[0].generation: Required value',
        'status.pools[0].totalDevices: Invalid value: -1: must be greater than or equal to 0',
        'status.pools[0].validationError: Too long: may not be more than 256 bytes',
      ],
    );
  });
});
