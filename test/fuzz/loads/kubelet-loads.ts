// The work of a kubelet for one pod. Each list is as long as the API server accepts.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { address, times, type Load } from './load.ts';
import { container, meta, pod, claimTemplate, configMap } from './parts.ts';

export const kubeletLoads: readonly Load[] = [
  {
    name: 'failure policies × containers',
    *objects() {
      const containers = times(3000, (at) => ({ name: `c${at}`, image: 'i' }));
      const rules = times(20, () => ({
        action: 'Ignore',
        onExitCodes: { operator: 'In', values: times(255, (at) => at + 1) },
      }));
      yield {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: meta('j'),
        spec: {
          completions: 1,
          podFailurePolicy: { rules },
          template: { spec: { restartPolicy: 'Never', containers } },
        },
      };
    },
  },
  {
    name: 'volumes × mounts',
    *objects() {
      const volumes = times(5000, (at) => ({ name: `v${at}`, emptyDir: {} }));
      const containers = times(2, (n) => ({
        name: `c${n}`,
        image: 'i',
        volumeMounts: times(5000, (at) => ({ name: `v${at}`, mountPath: `/m${n}/${at}` })),
      }));
      for (const at of times(2, (n) => n)) yield pod(`p${at}`, { volumes, containers });
    },
  },
  {
    name: 'claims of one pod',
    *objects() {
      const volumes = times(5000, (at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName: `c${at}` } }));
      for (const at of times(3, (n) => n)) yield pod(`p${at}`, { volumes });
      const ephemeral = times(1500, (at) => ({
        name: `v${at}`,
        ephemeral: { volumeClaimTemplate: { spec: claimTemplate(0)['spec'] as JsonObject } },
      }));
      yield pod('e', { volumes: ephemeral });
    },
  },
  {
    name: 'containers and environment',
    *objects() {
      const env = times(10_000, (at) => ({ name: `E${at}`, value: at === 0 ? 'x' : `$(E${at - 1})` }));
      yield pod('e', { containers: [{ ...container, env }] });
      yield pod('c', { containers: times(10_000, (at) => ({ name: `c${at}`, image: 'i' })) });
      yield pod('i', {
        initContainers: times(10_000, (at) => ({ name: `c${at}`, image: 'i', restartPolicy: 'Always' })),
      });
      yield pod('doubling', {
        containers: [
          {
            ...container,
            env: times(60, (at) => ({ name: `D${at}`, value: at === 0 ? 'xxxxxxxx' : `$(D${at - 1})$(D${at - 1})` })),
          },
        ],
      });
    },
  },
  {
    name: 'environment from maps × containers',
    *objects() {
      yield { ...configMap('m'), data: Object.fromEntries(times(20_000, (at) => [`k${at}`, 'v'])) };
      const envFrom = times(500, (at) => ({ prefix: `P${at}_`, configMapRef: { name: 'm' } }));
      yield pod('p', { containers: times(20, (at) => ({ name: `c${at}`, image: 'i', envFrom })) });
    },
  },
  {
    name: 'items of projected volumes',
    *objects() {
      yield { ...configMap('m'), data: Object.fromEntries(times(20_000, (at) => [`k${at}`, 'v'])) };
      const items = times(10_000, (at) => ({ key: `k${at}`, path: `a/${at}` }));
      yield pod('p', {
        volumes: [{ name: 'v', configMap: { name: 'm', items } }],
        containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/m' }] }],
      });
      const sources = times(1000, (at) => ({ configMap: { name: 'm', items: [{ key: `k${at}`, path: `b/${at}` }] } }));
      yield pod('q', {
        volumes: [{ name: 'v', projected: { sources } }],
        containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/m' }] }],
      });
      yield pod('r', {
        volumes: times(200, (at) => ({ name: `v${at}`, configMap: { name: 'm' } })),
        containers: [{ ...container, volumeMounts: times(200, (at) => ({ name: `v${at}`, mountPath: `/m${at}` })) }],
      });
    },
  },
  {
    name: 'image pull secrets',
    *objects() {
      yield {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: meta('a'),
        imagePullSecrets: times(10_000, (at) => ({ name: `s${at}` })),
        secrets: times(10_000, (at) => ({ name: `s${at}` })),
      };
      yield pod('p', {
        serviceAccountName: 'a',
        containers: times(500, (at) => ({ name: `c${at}`, image: `i${at}` })),
      });
    },
  },
  {
    name: 'host aliases and DNS',
    *objects() {
      yield pod('p', {
        hostAliases: times(5000, (at) => ({ ip: address(at), hostnames: times(5, (n) => `h${at}-${n}`) })),
        dnsConfig: { options: times(5000, (at) => ({ name: `o${at}`, value: 'x' })) },
      });
    },
  },
  {
    name: 'readiness gates and conditions',
    *objects() {
      yield pod('p', { readinessGates: times(20_000, (at) => ({ conditionType: `fuzz.io/c${at}` })) });
    },
  },
];
