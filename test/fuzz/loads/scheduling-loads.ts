// Pods with nodes, volumes, devices and other pods. Each list is as long as the API server accepts.
import { times, type Load } from './load.ts';
import { container, meta, pod, workload, term, requirement } from './parts.ts';

export const schedulingLoads: readonly Load[] = [
  {
    name: 'anti-affinity terms NotIn × pods',
    *objects() {
      const terms = times(5000, (at) => term(at, { operator: 'NotIn', values: ['x'] }));
      for (const at of times(3, (n) => n))
        yield pod(`t${at}`, {
          affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
        });
      for (const at of times(100, (n) => n)) yield pod(`p${at}`);
    },
  },
  {
    name: 'preferred affinity terms × pods',
    *objects() {
      const terms = times(5000, (at) => ({ weight: 1, podAffinityTerm: term(at, { operator: 'DoesNotExist' }) }));
      for (const at of times(3, (n) => n))
        yield pod(`t${at}`, { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } } });
      for (const at of times(100, (n) => n)) yield pod(`p${at}`);
    },
  },
  {
    name: 'namespace selectors of terms × namespaces',
    *objects() {
      for (const at of times(200, (n) => n))
        yield { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `n${at}` } };
      const terms = times(3000, (at) => ({
        ...term(at, { operator: 'NotIn', values: ['x'] }),
        namespaceSelector: { matchExpressions: [{ key: `k${at}`, operator: 'NotIn', values: ['y'] }] },
      }));
      for (const at of times(3, (n) => n))
        yield pod(`t${at}`, {
          affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
        });
    },
  },
  {
    name: 'node affinity terms × nodes',
    nodes: 30,
    *objects() {
      const nodeSelectorTerms = times(8000, (at) => ({
        matchExpressions: [{ key: `k${at}`, operator: 'Gt', values: ['5'] }],
      }));
      for (const at of times(10, (n) => n))
        yield pod(`p${at}`, {
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
        });
      const preferred = times(8000, (at) => ({
        weight: 1,
        preference: { matchExpressions: [{ key: `k${at}`, operator: 'NotIn', values: ['5'] }] },
      }));
      for (const at of times(10, (n) => n))
        yield pod(`q${at}`, {
          affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } },
        });
    },
  },
  {
    name: 'spread constraints × nodes',
    nodes: 30,
    *objects() {
      for (const at of times(100, (n) => n)) yield pod(`p${at}`);
      const topologySpreadConstraints = times(2000, (at) => ({
        maxSkew: 1,
        topologyKey: `k${at}`,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchExpressions: [requirement(at)] },
      }));
      for (const at of times(5, (n) => n)) yield pod(`q${at}`, { topologySpreadConstraints });
      const hard = times(2000, (at) => ({
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        nodeTaintsPolicy: 'Honor',
        labelSelector: { matchExpressions: [requirement(at)] },
      })).map((one, at) => (at < 1 ? one : { ...one, topologyKey: `k${at}` }));
      for (const at of times(5, (n) => n)) yield pod(`r${at}`, { topologySpreadConstraints: hard });
    },
  },
  {
    name: 'tolerations × taints',
    nodes: 5,
    *objects() {
      const taints = times(6000, (at) => ({ key: `t${at}`, value: 'v', effect: 'PreferNoSchedule' }));
      for (const at of times(5, (n) => n))
        yield { apiVersion: 'v1', kind: 'Node', metadata: { name: `tainted-${at}` }, spec: { taints } };
      const tolerations = times(8000, (at) => ({
        key: `t${at}`,
        operator: 'Equal',
        value: 'w',
        effect: 'PreferNoSchedule',
      }));
      for (const at of times(10, (n) => n)) yield pod(`p${at}`, { tolerations });
    },
  },
  {
    name: 'tolerations × evicting taints',
    nodes: 1,
    *objects() {
      const tolerations = times(8000, (at) => ({
        key: `t${at}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: at + 1,
      }));
      for (const at of times(10, (n) => n)) yield pod(`p${at}`, { tolerations, nodeName: 'node-1' });
    },
    async afterwards(cluster) {
      const taints = times(6000, (at) => ({ key: `t${at}`, effect: 'NoExecute' }));
      await cluster.client.raw({
        method: 'PATCH',
        path: '/api/v1/nodes/node-1',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { taints } },
      });
      await cluster.advance('1m');
      const unset = { spec: { taints: null } };
      await cluster.client.raw({
        method: 'PATCH',
        path: '/api/v1/nodes/node-1',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: unset,
      });
    },
  },
  {
    name: 'host ports × host ports',
    *objects() {
      const containers = times(10, (n) => ({
        name: `c${n}`,
        image: 'i',
        ports: times(500, (at) => ({ containerPort: at + 1, hostPort: n * 500 + at + 1 })),
      }));
      for (const at of times(4, (n) => n)) yield pod(`p${at}`, { containers });
    },
  },
  {
    name: 'disks × disks of other pods',
    *objects() {
      const volumes = times(1000, (at) => ({
        name: `v${at}`,
        gcePersistentDisk: { pdName: `d${at}`, readOnly: true },
      }));
      for (const at of times(4, (n) => n)) yield pod(`p${at}`, { volumes });
      const images = (one: number) =>
        times(2000, (at) => ({
          name: `v${at}`,
          rbd: { monitors: times(10, (m) => `m${m}-${one}-${at}`), image: `i${at}` },
        }));
      for (const at of times(4, (n) => n)) yield pod(`r${at}`, { volumes: images(at) });
    },
  },
  {
    name: 'scheduling gates',
    *objects() {
      for (const at of times(3, (n) => n))
        yield pod(`p${at}`, { schedulingGates: times(16_000, (n) => ({ name: `g${n}` })) });
    },
  },
  {
    name: 'devices × requests',
    *objects() {
      yield {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'DeviceClass',
        metadata: { name: 'd' },
        spec: { selectors: [{ cel: { expression: 'device.driver == "fuzz.io"' } }] },
      };
      for (const at of times(40, (n) => n))
        yield {
          apiVersion: 'resource.k8s.io/v1',
          kind: 'ResourceSlice',
          metadata: { name: `s${at}` },
          spec: {
            driver: 'fuzz.io',
            allNodes: true,
            pool: { name: `p${at}`, generation: 1, resourceSliceCount: 1 },
            devices: times(128, (n) => ({
              name: `d${n}`,
              attributes: { a: { int: n }, b: { string: 'x'.repeat(20) } },
            })),
          },
        };
      const requests = times(32, (at) => ({
        name: `r${at}`,
        exactly: {
          deviceClassName: 'd',
          count: 1,
          selectors: times(32, (n) => ({ cel: { expression: `device.attributes["fuzz.io"].a >= ${n}` } })),
        },
      }));
      const constraints = times(32, () => ({ matchAttribute: 'fuzz.io/a' }));
      for (const at of times(5, (n) => n)) {
        yield {
          apiVersion: 'resource.k8s.io/v1',
          kind: 'ResourceClaim',
          metadata: meta(`c${at}`),
          spec: { devices: { requests, constraints } },
        };
        yield pod(`p${at}`, {
          resourceClaims: [{ name: 'c', resourceClaimName: `c${at}` }],
          containers: [{ ...container, resources: { claims: [{ name: 'c' }] } }],
        });
      }
    },
  },
  {
    name: 'costly selectors and shared devices',
    *objects() {
      const numbers = `[${times(100, String).join(',')}]`;
      const costly = `${numbers}.all(x, ${numbers}.all(y, x + y >= 0 && x * y >= 0)) && false`;
      const capacity = Object.fromEntries(times(32, (at) => [`c${at}`, { value: '1000Gi' }]));
      yield { apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'd' }, spec: {} };
      for (const at of times(8, (n) => n))
        yield {
          apiVersion: 'resource.k8s.io/v1',
          kind: 'ResourceSlice',
          metadata: { name: `s${at}` },
          spec: {
            driver: 'fuzz.io',
            allNodes: true,
            pool: { name: `p${at}`, generation: 1, resourceSliceCount: 1 },
            devices: times(64, (n) => ({ name: `d${n}`, allowMultipleAllocations: true, capacity })),
          },
        };
      const claimOf = (name: string, requests: readonly object[]) => ({
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: meta(name),
        spec: { devices: { requests: requests as never } },
      });
      const podOf = (name: string, claims: readonly string[]) =>
        pod(name, { resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })) });
      yield claimOf('costly', [
        { name: 'r', exactly: { deviceClassName: 'd', selectors: [{ cel: { expression: costly } }] } },
      ]);
      yield podOf('costly', ['costly']);
      const shares = times(30, (at) => ({
        name: `r${at}`,
        exactly: { deviceClassName: 'd', capacity: { requests: { c0: '600Gi' } } },
      }));
      const names = times(100, (at) => `shared${at}`);
      for (const name of names) yield claimOf(name, shares);
      yield podOf('shared', names);
    },
  },
  {
    name: 'selectors × alternatives × requests of a claim',
    *objects() {
      const selectors = (at: number) =>
        times(32, (n) => ({ cel: { expression: `device.attributes["fuzz.io"].a >= ${at * 32 + n}` } }));
      const requests = times(32, (at) => ({
        name: `r${at}`,
        firstAvailable: times(8, (n) => ({ name: `a${n}`, deviceClassName: 'd', selectors: selectors(at * 8 + n) })),
      }));
      yield {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: meta('c'),
        spec: { devices: { requests } },
      };
      yield {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaimTemplate',
        metadata: meta('t'),
        spec: { spec: { devices: { requests } } },
      };
    },
  },
  {
    name: 'daemons × nodes',
    nodes: 30,
    *objects() {
      const nodeSelectorTerms = times(8000, (at) => ({ matchExpressions: [{ key: `k${at}`, operator: 'Exists' }] }));
      yield workload(
        'DaemonSet',
        {},
        { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
      );
      const tolerations = times(8000, (at) => ({ key: `t${at}`, operator: 'Equal', value: 'w', effect: 'NoSchedule' }));
      yield { ...workload('DaemonSet', {}, { tolerations }), metadata: meta('tolerating') };
    },
  },
  {
    name: 'topologies of storage × nodes',
    nodes: 10,
    *objects() {
      const allowedTopologies = times(3000, (at) => ({
        matchLabelExpressions: [{ key: `k${at}`, values: ['a', 'b'] }],
      }));
      yield {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 't' },
        provisioner: 'fuzz.io/a',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies,
      };
      const required = {
        nodeSelectorTerms: times(8000, (at) => ({
          matchExpressions: [{ key: `k${at}`, operator: 'In', values: ['x'] }],
        })),
      };
      for (const at of times(10, (n) => n))
        yield {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: `v${at}` },
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce'],
            storageClassName: 't',
            local: { path: '/x' },
            nodeAffinity: { required },
          },
        };
      for (const at of times(10, (n) => n)) {
        yield {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: meta(`c${at}`),
          spec: { accessModes: ['ReadWriteOnce'], storageClassName: 't', resources: { requests: { storage: '1Gi' } } },
        };
        yield pod(`p${at}`, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: `c${at}` } }] });
      }
    },
  },
];
