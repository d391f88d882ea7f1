import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setServiceDefaults } from '../defaults/core.ts';
import type { Service, ServiceSpec } from '../gen/core-v1.ts';
import { validateService, validateServiceUpdate } from './service.ts';
import { complaints } from './complaints-fixture.ts';

function service(spec: ServiceSpec): Service {
  const made: Service = { metadata: { name: 's', namespace: 'default' }, spec };
  setServiceDefaults(made);
  return made;
}

test("invalid services and updates of services have upstream's errors", () => {
  const cases: readonly (readonly [ServiceSpec, string[]])[] = [
    [{ ports: [{ port: 80 }] }, []],
    [{}, ['spec.ports: Required value']],
    [{ clusterIP: 'None', clusterIPs: ['None'] }, []],
    [{ type: 'ExternalName', externalName: 'a.example' }, []],
    [{ type: 'ExternalName' }, ['spec.externalName: Required value']],
    [{ ports: [{ port: 80 }, { port: 81, name: 'b' }] }, ['spec.ports[0].name: Required value']],
    [
      { ports: [{ port: 80, nodePort: 30000 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      { ports: [{ port: 80 }], externalTrafficPolicy: 'Local' },
      ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
    ],
    [
      {
        ports: [{ port: 80 }],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } },
      },
      [
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
      ],
    ],
  ];
  for (const [spec, want] of cases)
    assert.deepEqual(
      complaints((field) => validateService(service(spec), field)),
      want,
      JSON.stringify(spec),
    );
  const old = service({ ports: [{ port: 80 }], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] });
  const now = service({ ports: [{ port: 80 }], clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'], ipFamilies: ['IPv4'] });
  assert.deepEqual(
    complaints((field) => validateServiceUpdate(now, old, field)),
    ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
  );
});

test('errors of ports, session affinity and immutable fields have the order and texts of v1.36', () => {
  const balancer = {
    type: 'LoadBalancer',
    ports: [{ name: 'a', port: 80, nodePort: 30_001 }],
    loadBalancerClass: 'a/b',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30_002,
  };
  const rows: readonly (readonly [spec: Parameters<typeof service>[0], refusals: readonly string[]])[] = [
    [
      { ports: [balancer.ports[0]!, balancer.ports[0]!] },
      [
        'spec.ports[1].name: Duplicate value: "a"',
        'spec.ports[1].nodePort: Duplicate value: 30001',
        'spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80}',
      ],
    ],
    [{ loadBalancerClass: 'a/c' }, ['spec.loadBalancerClass: Invalid value: "a/c": may not change once set']],
    [{ healthCheckNodePort: 30_003 }, ['spec.healthCheckNodePort: Forbidden: field is immutable']],
    [
      { loadBalancerSourceRanges: ['x'] },
      [
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      { trafficDistribution: 'x' },
      [
        'spec.trafficDistribution: Unsupported value: "x": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
      ],
    ],
    [
      { sessionAffinity: 'x', sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } },
      ['spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"'],
    ],
  ];
  for (const [change, refusals] of rows)
    assert.deepEqual(
      complaints((field) => validateServiceUpdate(service({ ...balancer, ...change }), service(balancer), field)),
      refusals,
    );
});
