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

test('faults of services and of their updates', () => {
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
